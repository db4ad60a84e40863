"""Circuits of trainings: what they must be on each kind of fabric."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.task import Demand
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.synth.fabrics import PLUGS
from lightloom.synth.ocs.switch_circuits import switch_circuits

if TYPE_CHECKING:
    from lightloom.core.circuit import Circuits
    from lightloom.core.fabric import CircuitFabric
    from lightloom.synth.fabrics.training_plug import TrainingCircuits


def assert_lit(fabric: CircuitFabric, circuits: Circuits) -> None:
    """Assert that a fabric can hold circuits: no fault, nothing taken too often."""
    assert list(fabric.circuit_faults(circuits)) == []
    usage = fabric.usage(circuits)
    taken, of = np.unique(usage.resource, return_inverse=True)
    load = np.bincount(of.reshape(-1), weights=usage.amount, minlength=len(taken))
    assert (load <= fabric.capacity(taken)).all()


def assert_serves(circuits: Circuits, demand: Demand) -> None:
    """Assert that circuits are those of the pairs of a demand, each with one."""
    lit = set(zip(circuits.src.tolist(), circuits.dst.tolist(), strict=True))
    assert lit == set(zip(demand.src, demand.dst, strict=True))


SIDE = 4


def _kept(kind: str) -> TrainingCircuits[Any]:
    circuits = PLUGS[kind].circuits
    assert circuits is not None
    return circuits


@st.composite
def demands(draw: st.DrawFn, *, in_line: bool) -> Demand:
    """Return a demand between sixteen nodes, along rows and columns if asked."""
    nodes = range(SIDE * SIDE)
    pairs = [
        (src, dst)
        for src in nodes
        for dst in nodes
        if src != dst
        and (not in_line or src // SIDE == dst // SIDE or src % SIDE == dst % SIDE)
    ]
    rows = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=24, unique=True))
    sizes = st.integers(1, 1000)
    return Demand.from_rows([(*pair, draw(sizes)) for pair in rows])


@settings(max_examples=5, deadline=None)
@given(demands(in_line=True), st.sampled_from([(1, False), (2, False), (2, True)]))
def test_rows_and_columns_of_a_2d_ring_are_lit(
    demand: Demand, fibres: tuple[int, bool]
) -> None:
    """Every pair has a circuit, and no ring carries too much."""
    directions, shared = fibres
    fabric = Ring2d(
        rows=SIDE,
        cols=SIDE,
        row_wavelengths=8,
        column_wavelengths=8,
        directions=directions,
        shared_transceivers=shared,
    )
    kept = _kept("ring-2d")
    for made in (kept.lasting, kept.following):
        held = made(fabric, demand)[0]
        assert_lit(fabric, held)
        assert_serves(held, demand)


def test_a_2d_ring_refuses_pairs_off_its_rings() -> None:
    """The error says where the two nodes are."""
    fabric = Ring2d(rows=2, cols=3, row_wavelengths=2, column_wavelengths=2)
    demand = Demand.from_rows([(0, 4, 5)])
    with pytest.raises(InfeasibleError, match=r"neither.*\(0, 0\) to \(1, 1\)"):
        _kept("ring-2d").lasting(fabric, demand)


@settings(max_examples=40)
@given(demands(in_line=False), st.integers(1, 3), st.integers(2, 12))
def test_tiles_are_lit_on_routes_with_room(
    demand: Demand, waveguides: int, lasers: int
) -> None:
    """All pairs or an error; where waveguides are plenty the slowest is at its best."""
    fabric = Lightpath(rows=SIDE, cols=SIDE, lasers=lasers, waveguides=waveguides)
    kept = _kept("lightpath")
    try:
        held = kept.lasting(fabric, demand)[0]
    except (InfeasibleError, NoAnswerError):
        return
    assert_lit(fabric, held)
    assert_serves(held, demand)
    following = kept.following(fabric, demand)[0]
    assert_lit(fabric, following)


@settings(max_examples=25)
@given(demands(in_line=False))
def test_tiles_with_many_waveguides_are_switches(demand: Demand) -> None:
    """The slowest pair has as many wavelengths a byte as on switches."""
    fabric = Lightpath(rows=SIDE, cols=SIDE, lasers=24)
    held = _kept("lightpath").lasting(fabric, demand)[0]
    assert held.wavelengths is not None
    count: dict[tuple[int, int], int] = {}
    ends = zip(held.src.tolist(), held.dst.tolist(), strict=True)
    for pair, number in zip(ends, held.wavelengths.lengths.tolist(), strict=True):
        count[pair] = count.get(pair, 0) + number
    rows = zip(demand.src, demand.dst, demand.bytes, strict=True)
    slowest = min(Fraction(count[src, dst], size) for src, dst, size in rows)
    switches = Ocs(nodes=SIDE * SIDE, switches=24, bits_per_second_per_node=24)
    assert slowest == switch_circuits(switches, demand).ratio


def test_more_partners_than_lasers_are_refused() -> None:
    """Three for two lasers; and any without lasers."""
    demand = Demand.from_rows([(0, dst, 1) for dst in (1, 2, 3)])
    for lasers in (0, 2):
        fabric = Lightpath(rows=2, cols=2, lasers=lasers)
        with pytest.raises(InfeasibleError, match="more partners than lasers"):
            _kept("lightpath").lasting(fabric, demand)


def test_tiles_without_room_for_all_pairs_say_so() -> None:
    """Five pairs through one edge of four wavelengths."""
    fabric = Lightpath(rows=1, cols=8, lasers=4, waveguides=1)
    demand = Demand.from_rows([(src, 7 - src % 3, 1) for src in (0, 1, 2, 3, 4)])
    with pytest.raises(NoAnswerError, match="all pairs at once"):
        _kept("lightpath").lasting(fabric, demand)
    held = _kept("lightpath").following(fabric, demand)[0]
    assert 1 <= len(held) < 5


@settings(max_examples=25)
@given(demands(in_line=True), st.sampled_from(["tunable", "fixed"]))
def test_switches_of_sipac_are_lit(demand: Demand, switching: str) -> None:
    """Switches, fixed or tunable, have circuits for every pair of the demand."""
    fabric = Sipac(radix=SIDE, wavelengths_per_peer=2, switching=switching)  # type: ignore[arg-type]
    held = _kept("sipac").lasting(fabric, demand)[0]
    assert_lit(fabric, held)
    assert_serves(held, demand)


def test_sipac_refuses_pairs_without_a_switch() -> None:
    """The error names the pair."""
    with pytest.raises(InfeasibleError, match="no switch has both nodes 0 and 5"):
        _kept("sipac").lasting(Sipac(radix=4), Demand.from_rows([(0, 5, 1)]))
