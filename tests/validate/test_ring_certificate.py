"""Witnesses on rings: what they prove is true, and false ones are refused."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from lightloom.core.errors import InputError
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ring import Ring
from lightloom.validate.certificates.circuits_per_byte import (
    CrowdedNode,
    CrowdedSpans,
    LongCircuits,
    PricedPairs,
    check_ring_witness,
)
from tests.examples.small_demands import best_of_wavelengths, random_demand

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
