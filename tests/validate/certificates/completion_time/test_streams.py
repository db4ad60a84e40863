"""Bounds on what has far to go: by circuits one after another, and by spans."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.fabric import CircuitFabric
from lightloom.core.task import Collective, Demand
from lightloom.core.units import transmission_ps
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.instances.instance import Instance
from lightloom.synth.bounds import all_bounds, find_bound
from lightloom.synth.synthesise import synthesise
from lightloom.validate.certificates.completion_time import proven_ps
from lightloom.validate.certificates.completion_time.requirements import (
    base_ps,
    requirements_of,
)
from lightloom.validate.certificates.completion_time.streams import distance_ps

if TYPE_CHECKING:
    from lightloom.instances.instance import AnyFabric

GRID = Ring2d(rows=3, cols=4, row_wavelengths=6, column_wavelengths=6, directions=2)
ONE_WAY = Ring2d(rows=3, cols=3, row_wavelengths=8, column_wavelengths=8)
FABRICS = (
    Sipac(radix=3, level=1),
    Sipac(radix=2, level=2, switching="fixed", alpha_ps=0),
    GRID,
    ONE_WAY,
)
DEMAND = Demand.from_rows([(0, 1, 5), (0, 3, 6), (1, 5, 8)])


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(["broadcast", "reduce", "all-to-all", "scatter", "gather"]),
    st.sampled_from(FABRICS),
    st.sampled_from([1, 300, 10**5, 10**7]),
    st.integers(0, 11),
)
def test_no_collective_beats_them(
    op: str, fabric: AnyFabric, block_bytes: int, root: int
) -> None:
    """Schedules of all families take at least the bounds, for any root."""
    count = fabric.node_count
    nodes = tuple(range(count))
    task = Collective(op, nodes, block_bytes * count, None, root % count)
    if op == "all-to-all":
        task = Collective(op, nodes, block_bytes * count)
    made = synthesise(Instance(fabric, task, "a test"))
    assert made.objective is not None
    rooted = op in ("broadcast", "reduce")
    holders = find_bound("holders", fabric, task)
    assert (holders is not None) == rooted
    if rooted:
        assert isinstance(fabric, CircuitFabric)
        assert holders is not None
        assert distance_ps(fabric, task) <= int(holders.bound) <= made.objective
    if isinstance(fabric, Ring2d):
        for axis in (0, 1):
            spans_ps = proven_ps("spans", fabric, task, {"axis": axis})
            assert spans_ps <= made.objective
    assert all(one.bound <= made.objective for one in all_bounds(fabric, task).values())


@pytest.mark.parametrize(
    ("fabric", "circuits"),
    [(Sipac(radix=3, level=2), 3), (GRID, 2), (ONE_WAY, 2), (FABRICS[0], 2)],
)
@pytest.mark.parametrize("op", ["scatter", "gather", "all-gather", "all-reduce"])
def test_each_circuit_of_the_longest_way_costs_alpha(
    op: str, fabric: CircuitFabric, circuits: int
) -> None:
    """However small the buffer, whoever the root."""
    count = fabric.node_count
    root = count // 2 if op in ("scatter", "gather") else None
    task = Collective(op, tuple(range(count)), count, None, root)
    needs = requirements_of(task, count)
    assert needs.way(fabric) == circuits
    assert base_ps(fabric, needs) >= circuits * fabric.alpha_ps
    bound = find_bound("prices", fabric, task)
    assert bound is not None
    assert circuits * fabric.alpha_ps < bound.bound


def test_two_ranks_of_a_line_are_near() -> None:
    """Only ranks count, not all nodes; nor do demands, which nobody forwards."""
    fabric = Sipac(radix=3, level=1)
    near = Collective("all-gather", (3, 4), 1024)
    assert requirements_of(near, 9).way(fabric) == 1
    assert requirements_of(DEMAND, 9).way(fabric) == 0
    assert requirements_of(near, 9).way(IdealSwitch(nodes=9)) == 0


def test_distance_by_hand() -> None:
    """Three circuits: windows of two portions; k = 14 windows but one are best."""
    fabric = Sipac(radix=8, level=2)
    size = 2**26
    task = Collective("broadcast", tuple(range(512)), size)
    whole_ps = transmission_ps(size, fabric.node_bits_per_s)
    times = [
        (2 * k + 1) * 700_000 + -(-size * 8 * 10**12 * (k + 1) // (k * 2_048 * 10**9))
        for k in range(1, 400)
    ]
    bound = distance_ps(fabric, task)
    assert bound == min(times)
    assert bound > 1.14 * whole_ps
    # Two circuits away, windows are shorter and less is lost.
    near = Collective("broadcast", tuple(range(64)), size)
    assert distance_ps(fabric, near) < bound
    for node in (511, 63):
        assert proven_ps("distance", fabric, task, {"node": node}) >= bound


def test_spans_by_hand() -> None:
    """All-to-all on a row of four: 1 + 2 + 1 spans from each, of four by two fibres."""
    row = Ring2d(rows=1, cols=4, row_wavelengths=2, column_wavelengths=1, directions=2)
    task = Collective("all-to-all", (0, 1, 2, 3), 4000)
    rate = 2 * 4 * 2 * 25 * 10**9
    fixed_ps = 25_000_000 + 700_000
    prove = functools.partial(proven_ps, "spans")
    expected_ps = fixed_ps + transmission_ps(4 * 4 * 1000, rate)
    assert prove(row, task, {"axis": 0}) == expected_ps
    assert prove(row, task, {"axis": 1}) == fixed_ps
    demand_ps = prove(GRID, DEMAND, {"axis": 0}) - 25_700_000
    assert demand_ps == transmission_ps(5 + 6, 2 * 12 * 6 * 25 * 10**9)
    ring = Ring(nodes=4, wavelengths=1)
    far = Demand.from_rows([(1, 0, 10**6)])
    assert prove(ring, far, {"axis": 0}) == fixed_ps + transmission_ps(
        3 * 10**6, 4 * 25 * 10**9
    )


def test_circuits_apart_are_those_of_a_search() -> None:
    """Breadth first over all circuits that a ring or rings can have."""
    far = Ring2d(
        rows=3,
        cols=7,
        row_wavelengths=2,
        column_wavelengths=2,
        power_budget_millidb=4000,
        node_loss_millidb=2000,
    )
    assert far.reach == 2
    node = np.arange(21)
    row, col = node // 7, node % 7
    joined = (row[:, None] == row) & ((col - col[:, None]) % 7 <= 2)
    joined |= (col[:, None] == col) & ((row - row[:, None]) % 3 <= 2)
    known = np.eye(21, dtype=bool)
    apart = np.zeros((21, 21), dtype=int)
    for steps in range(1, 6):
        new = (known.astype(int) @ joined.astype(int) > 0) & ~known
        apart[new] = steps
        known |= new
    for src in range(21):
        found = far.circuits_apart(np.full(21, src), node)
        assert found.tolist() == apart[src].tolist()
