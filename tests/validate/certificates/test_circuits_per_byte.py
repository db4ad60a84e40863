"""Circuits per byte: what witnesses prove is true, and false ones are refused."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InputError
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ring import Ring
from lightloom.synth.ring.column_generation import PricedLaps
from lightloom.validate.certificates.circuits_per_byte import (
    CrowdedNode,
    CrowdedSpans,
    LongCircuits,
    PricedPairs,
    SaturatedPort,
    check_ring_witness,
    check_saturated_port,
    dearest_lap,
)
from tests.examples.small_demands import best_of_wavelengths, random_demand, threshold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.validate.certificates.circuits_per_byte import RingWitness

SIZES = (1, 2, 3, 5, 8, 13)
RING = Ring(nodes=6, wavelengths=4)
BOTH = Ring(nodes=6, wavelengths=2, directions=2, reach=5, shared_transceivers=True)
DEMAND = Demand((0, 1, 4), (3, 4, 3), (4, 2, 1))
"""Forth, span 1 is crossed by the first two pairs and span 4 by the last one."""
CROWDED = CrowdedSpans(Fraction(1, 2), ((0, 1),))
"""More than a half takes three circuits and two of span 1, which has four."""
THREE = Demand((0, 1, 2), (2, 0, 1), (5, 5, 5))


def _accepted(fabric: Ring, demand: Demand, witness: RingWitness) -> bool:
    try:
        check_ring_witness(fabric, demand, witness)
    except InputError:
        return False
    return True


def test_a_span_is_counted_by_hand() -> None:
    """Span 1 is crossed by two pairs, and by the third, which goes nearly round."""
    check_ring_witness(RING, DEMAND, CROWDED)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"ratio": Fraction(0)}, "which fits"),
        ({"ratio": Fraction(1, 4) - Fraction(1, 10**30)}, "which fits"),
        ({"spans": ((0, 3),), "ratio": Fraction(1, 4)}, "which fits"),
        ({"spans": ()}, "which fits"),
        ({"spans": ((0, 6),)}, "invalid span"),
        ({"spans": ((0, -1),)}, "invalid span"),
        ({"spans": ((1, 1),)}, "invalid span"),
        ({"ratio": 0.5}, "invalid ratio"),
        ({"ratio": Fraction(-1, 2)}, "invalid ratio"),
    ],
)
def test_false_spans_are_refused(change: dict[str, Any], named: str) -> None:
    """Spans with room, spans there are not, and ratios that are not exact."""
    with pytest.raises(InputError, match=named):
        check_ring_witness(RING, DEMAND, replace(CROWDED, **change))


def test_the_way_back_takes_the_proof_away() -> None:
    """A span proves nothing about pairs that can go the other way round."""
    fabric = Ring(nodes=6, wavelengths=4, directions=2)
    assert not _accepted(fabric, DEMAND, CROWDED)
    near = Ring(nodes=6, wavelengths=1, directions=2, reach=3)
    pair = Demand((0, 1), (2, 3), (1, 1))
    assert _accepted(near, pair, CrowdedSpans(Fraction(0), ((0, 1),)))


def test_three_pairs_do_not_share_two_wavelengths() -> None:
    """Loads prove nothing: two spans of three leave a wavelength to one circuit."""
    fabric = Ring(nodes=3, wavelengths=2)
    for span in range(3):
        assert not _accepted(fabric, THREE, CrowdedSpans(Fraction(0), ((0, span),)))
    check_ring_witness(fabric, THREE, LongCircuits(Fraction(0), 2, (0,)))
    more = Ring(nodes=3, wavelengths=3)
    assert not _accepted(more, THREE, LongCircuits(Fraction(0), 2, (0,)))


@pytest.mark.parametrize(
    ("witness", "named"),
    [
        (LongCircuits(Fraction(0), 3, (0,)), "which fits"),
        (LongCircuits(Fraction(0), 1, (0,)), "which fits"),
        (LongCircuits(Fraction(0), 2, ()), "which fits"),
        (LongCircuits(Fraction(0), 0, (0,)), "invalid length"),
        (LongCircuits(Fraction(0), 4, (0,)), "invalid length"),
        (LongCircuits(Fraction(0), 2, (1,)), "invalid directions"),
        (LongCircuits(Fraction(0), 2, (0, 0)), "invalid directions"),
        (PricedPairs(Fraction(0), (1, 1, 0)), "which fits"),
        (PricedPairs(Fraction(0), (1, 1)), "invalid prices"),
        (PricedPairs(Fraction(0), (1, 2, -1)), "invalid prices"),
        (CrowdedNode(Fraction(0), "row", 0), "which fits"),
        (CrowdedNode(Fraction(0), "row", 3), "unknown node"),
        (CrowdedNode(Fraction(0), "side", 0), "unknown side"),  # type: ignore[arg-type]
    ],
)
def test_other_false_witnesses_are_refused(witness: RingWitness, named: str) -> None:
    """Lengths, directions and nodes that prove nothing, or that there are not."""
    with pytest.raises(InputError, match=named):
        check_ring_witness(Ring(nodes=3, wavelengths=2), THREE, witness)


def test_prices_see_that_two_circuits_do_not_share_a_lap() -> None:
    """No lap holds two of the three pairs; with a way back each fibre holds as many."""
    fabric = Ring(nodes=3, wavelengths=2)
    check_ring_witness(fabric, THREE, PricedPairs(Fraction(0), (1, 1, 1)))
    both = Ring(nodes=3, wavelengths=2, directions=2)
    # Back all three lie side by side: eight circuits, and nine of them do not fit.
    check_ring_witness(both, THREE, PricedPairs(Fraction(2, 5), (1, 1, 1)))
    assert not _accepted(both, THREE, PricedPairs(Fraction(1, 5), (1, 1, 1)))


def test_a_pair_out_of_reach_is_named() -> None:
    """What light does not reach cannot be counted."""
    fabric = Ring(nodes=6, wavelengths=4, reach=2)
    with pytest.raises(InputError, match="row 0: a pair is out of reach"):
        check_ring_witness(fabric, DEMAND, CROWDED)


def test_a_node_has_so_many_lasers() -> None:
    """One transceiver for both ways lets a node send on two wavelengths, not four."""
    demand = Demand((0, 0), (1, 5), (4, 2))
    check_ring_witness(BOTH, demand, CrowdedNode(Fraction(1, 4), "row", 0))
    apart = Ring(nodes=6, wavelengths=2, directions=2, reach=5)
    assert not _accepted(apart, demand, CrowdedNode(Fraction(1, 4), "row", 0))


def _witnesses(fabric: Ring, ratio: Fraction, pairs: int) -> Iterator[RingWitness]:
    """Yield spans alone and in pairs, all lengths, small prices, all nodes."""
    spans = list(itertools.product(range(fabric.directions), range(fabric.nodes)))
    for count in (1, 2):
        for several in itertools.combinations_with_replacement(spans, count):
            yield CrowdedSpans(ratio, several)
    ways = range(fabric.directions)
    for count in range(fabric.directions + 1):
        for directions in itertools.combinations(ways, count):
            for hops in range(1, fabric.nodes + 1):
                yield LongCircuits(ratio, hops, directions)
    for prices in itertools.product(range(4), repeat=pairs):
        yield PricedPairs(ratio, prices)
    for node in range(fabric.nodes):
        yield CrowdedNode(ratio, "row", node)
        yield CrowdedNode(ratio, "column", node)


FABRICS = (
    Ring(nodes=4, wavelengths=3),
    Ring(nodes=4, wavelengths=2, directions=2),
    Ring(nodes=4, wavelengths=2, directions=2, reach=2),
    Ring(nodes=4, wavelengths=2, directions=2, shared_transceivers=True),
)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("fabric", FABRICS)
def test_nothing_proves_less_than_the_optimum(fabric: Ring, seed: int) -> None:
    """Below the optimum of an exhaustive search every witness is refused."""
    instance = random_demand(fabric, 2 + seed % 3, seed, SIZES)
    demand = instance.communication
    assert isinstance(demand, Demand)
    best = best_of_wavelengths(instance, fabric) or Fraction(0)
    most = fabric.ports_per_node
    levels = {Fraction(n, size) for size in demand.bytes for n in range(most + 1)}
    for ratio in sorted(level for level in levels if level < best):
        for witness in _witnesses(fabric, ratio, len(demand.src)):
            assert not _accepted(fabric, demand, witness), witness


SWITCHES = Ocs(nodes=4, switches=4, bits_per_second_per_node=10**12)
ON_SWITCHES = Demand((0, 0, 1, 3), (1, 2, 2, 2), (8, 4, 2, 3))
SATURATED = SaturatedPort("column", 2, Fraction(1, 3))
"""More than a third takes two circuits, one and two of column 2, which has four."""


def test_a_line_is_counted_by_hand() -> None:
    """Column 2 proves a third: 2 + 1 + 2 circuits on four switches."""
    check_saturated_port(SWITCHES, ON_SWITCHES, SATURATED)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"ratio": Fraction(1, 4) - Fraction(1, 10**30)}, "which fit"),
        ({"ratio": Fraction(0)}, "which fit"),
        ({"side": "row"}, "which fit"),
        ({"node": 0}, "which fit"),
        ({"side": "row", "node": 0, "ratio": Fraction(1, 5)}, "which fit"),
        ({"side": "diagonal"}, "unknown side"),
        ({"node": -2}, "unknown node"),
        ({"node": 4}, "unknown node"),
        ({"node": True}, "unknown node"),
        ({"node": 2.0}, "unknown node"),
        ({"ratio": Fraction(-1, 3)}, "invalid ratio"),
        ({"ratio": 1 / 3}, "invalid ratio"),
        ({"ratio": None}, "invalid ratio"),
    ],
)
def test_false_witnesses_are_refused(change: dict[str, Any], named: str) -> None:
    """A line with room, a line there is not, and a ratio that is not exact."""
    with pytest.raises(InputError, match=named):
        check_saturated_port(SWITCHES, ON_SWITCHES, replace(SATURATED, **change))


@pytest.mark.parametrize("switches", [5, 6])
def test_more_switches_take_the_proof_away(switches: int) -> None:
    """The same line has room where there are more switches."""
    fabric = Ocs(nodes=4, switches=switches, bits_per_second_per_node=10**12)
    with pytest.raises(InputError, match="which fit"):
        check_saturated_port(fabric, ON_SWITCHES, SATURATED)


def test_a_crowd_proves_nothing_can_be_promised() -> None:
    """Three destinations on two switches prove 0; on three they do not."""
    demand = Demand((0, 0, 0), (1, 2, 3), (1, 1, 1))
    witness = SaturatedPort("row", 0, Fraction(0))
    for switches in (2, 3):
        fabric = Ocs(nodes=4, switches=switches, bits_per_second_per_node=10**12)
        if switches == 2:
            check_saturated_port(fabric, demand, witness)
        else:
            with pytest.raises(InputError, match="which fit"):
                check_saturated_port(fabric, demand, witness)


@pytest.mark.parametrize("seed", range(30))
def test_no_line_proves_less_than_the_optimum(seed: int) -> None:
    """Below the optimum every line is refused, at the optimum one is accepted."""
    switches = 2 + seed % 4
    fabric = Ocs(nodes=4, switches=switches, bits_per_second_per_node=10**12)
    instance = random_demand(fabric, 3 + seed % 5, seed, SIZES)
    demand = instance.communication
    assert isinstance(demand, Demand)
    best = threshold(instance, switches) or Fraction(0)
    levels = {Fraction(n, size) for size in demand.bytes for n in range(switches + 1)}
    accepted = []
    for ratio in sorted(level for level in levels if level <= best):
        for node in range(4):
            for side in ("row", "column"):
                try:
                    witness = SaturatedPort(side, node, ratio)
                    check_saturated_port(fabric, demand, witness)
                except InputError:
                    continue
                accepted.append(ratio)
    assert accepted
    assert set(accepted) == {best}


Arc = tuple[int, int, int]


@st.composite
def priced_arcs(draw: st.DrawFn) -> tuple[list[Arc], int]:
    """Draw up to seven arcs of a small ring, with prices."""
    nodes = draw(st.integers(1, 6))
    arc = st.tuples(st.integers(0, nodes - 1), st.integers(1, nodes), st.integers(0, 9))
    return draw(st.lists(arc, max_size=7)), nodes


def _spans(arc: Arc, nodes: int) -> set[int]:
    return {(arc[0] + hop) % nodes for hop in range(arc[1])}


def _by_search(arcs: list[Arc], nodes: int) -> int:
    most = 0
    for count in range(1, len(arcs) + 1):
        for several in itertools.combinations(arcs, count):
            spans = [_spans(arc, nodes) for arc in several]
            if sum(map(len, spans)) == len(set().union(*spans)):
                most = max(most, sum(price for *_, price in several))
    return most


@settings(max_examples=300)
@given(priced_arcs())
def test_the_dearest_lap_is_found(question: tuple[list[Arc], int]) -> None:
    """Checker and synthesis agree with the search of everything."""
    arcs, nodes = question
    best = _by_search(arcs, nodes)
    assert dearest_lap(arcs, nodes) == best
    begin, hops, price = np.array(arcs, dtype=np.int64).reshape(-1, 3).T
    worth, chosen = PricedLaps(begin, hops, nodes).best(price.astype(np.float64))
    assert worth == best == sum(arcs[arc][2] for arc in chosen)
    assert _by_search([arcs[arc] for arc in chosen], nodes) == best


def test_a_lap_may_cross_the_cut() -> None:
    """Two arcs that both cross every cut exclude each other; one of them is taken."""
    assert dearest_lap([(0, 3, 5), (2, 3, 7), (0, 1, 1)], 4) == 7
    assert dearest_lap([(0, 3, 5), (3, 1, 2)], 4) == 7
    assert dearest_lap([], 4) == 0
