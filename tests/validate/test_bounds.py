"""Lower bounds are true, known where the answer is known, and checked from scratch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.seed import seeded_random
from lightloom.core.task import Collective, Demand
from lightloom.core.units import MIB, transmission_ps
from lightloom.instances.collectives import COLLECTIVES
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.ring import Ring
from lightloom.replay import replay
from lightloom.synth import bounds
from lightloom.synth.bounds import LowerBounds, all_bounds, find_bound
from lightloom.testing.strategies import schedules
from lightloom.validate import verify
from lightloom.validate.certificates.completion_time import BOUND_KINDS, proven_ps
from lightloom.validate.certificates.completion_time.requirements import (
    base_ps,
    requirements_of,
)
from lightloom.validate.certificates.completion_time.step_costs import fan_ps, reach_ps
from lightloom.validate.certificates.witness import WitnessError

if TYPE_CHECKING:
    from lightloom.core.certificate import Certificate, Witness
    from lightloom.core.schedule import Schedule
    from lightloom.core.task import Task
    from lightloom.instances.fabrics.packet_tiers import IdealSwitch
    from lightloom.instances.instance import AnyFabric

COPYING = sorted(name for name, op in COLLECTIVES.items() if not op.reduces)
REDUCING = sorted(name for name, op in COLLECTIVES.items() if op.reduces)
RACK = Lightpath(rows=16, cols=16)
ALL = tuple(range(256))


def _bounds_hold(made: Schedule) -> None:
    assert verify(made).violations == ()
    time_ps = replay(made).completion_time_ps
    for certificate in all_bounds(load_fabric(made.fabric), made.task).values():
        assert certificate.bound <= time_ps, certificate


@settings(max_examples=120, deadline=None)
@given(schedules(names=COPYING))
def test_no_copying_schedule_beats_a_bound(made: Schedule) -> None:
    """Random gossip on random fabrics takes at least every bound."""
    _bounds_hold(made)


@settings(max_examples=80, deadline=None)
@given(schedules(names=REDUCING))
def test_no_reducing_schedule_beats_a_bound(made: Schedule) -> None:
    """Reductions at a hub take at least every bound."""
    _bounds_hold(made)


@settings(max_examples=80, deadline=None)
@given(schedules(names=["demand"]))
def test_no_fluid_schedule_beats_a_bound(made: Schedule) -> None:
    """Fluid demands served at random take at least every bound."""
    _bounds_hold(made)


def test_long_searches_are_for_answers_above_the_quick_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Prices of spans are looked for once, and only if an answer may gain by them."""
    fabric = Ring(nodes=16, wavelengths=16, directions=2)
    task = Collective("broadcast", tuple(range(16)), MIB)
    found, asked = all_bounds(fabric, task), []

    def find(
        kind: str, fabric: AnyFabric, task: Task, *, quick: bool
    ) -> Certificate | None:
        if not quick:
            asked.append(kind)
        return find_bound(kind, fabric, task, quick=quick)

    monkeypatch.setattr(bounds, "find_bound", find)
    lazy = LowerBounds(fabric, task)
    quick_ps = max(
        int(one.bound) for kind, one in found.items() if kind != "ring-steps"
    )
    assert lazy.quick_ps == quick_ps < found["ring-steps"].bound
    near, far = lazy.best(quick_ps), lazy.best(2 * quick_ps)
    assert near is not None
    assert near.bound == quick_ps
    assert far == found["ring-steps"] == lazy.best()
    assert sorted(asked) == sorted(BOUND_KINDS)


def test_all_reduce_of_64_mib_on_the_rack() -> None:
    """2 * 255 / 256 * 64 MiB at 300 GB/s, and four portions: three move 2.6 buffers."""
    task = Collective("all-reduce", ALL, 64 * MIB)
    bound = LowerBounds(RACK, task).best()
    assert bound is not None
    data_ps = -(-2 * 255 * 64 * MIB * 8 * 10**12 // (256 * 16 * 150 * 10**9))
    assert data_ps == 445_644_800
    assert bound.kind == "sums"
    assert bound.bound == 3_700_000 + 4 * 700_000 + data_ps


def test_chunks_do_not_matter() -> None:
    """A bound is the same before and after the chunks are chosen."""
    for op in COLLECTIVES.values():
        task = Collective(op.name, (3, 1, 2), 3 * 64)
        fine = msgspec.structs.replace(task, chunks=12)
        grid = Lightpath(rows=2, cols=2, lasers=2, waveguides=1)
        assert all_bounds(grid, task) == all_bounds(grid, fine)


@pytest.mark.parametrize(
    ("ports", "reach", "portions"),
    [(1, 2, 1), (1, 256, 8), (16, 256, 2), (16, 289, 2), (16, 290, 3), (3, 17, 3)],
)
def test_portions_without_delay(ports: int, reach: int, portions: int) -> None:
    """With free reconfigurations data reach (k + 1)-fold as many a portion."""
    grid = Lightpath(rows=16, cols=32, lasers=ports, reconfiguration_ps=0, alpha_ps=10)
    assert reach_ps(grid, reach) == 10 * portions


def test_portions_with_delay() -> None:
    """One port: doubling costs a reconfiguration each, a ring costs portions."""
    slow = Lightpath(rows=1, cols=8, lasers=1, alpha_ps=1, reconfiguration_ps=100)
    # One segment reaches 8 nodes in 7 portions; three segments in 3.
    assert reach_ps(slow, 8) == 100 + 7
    quick = Lightpath(rows=1, cols=8, lasers=1, alpha_ps=100, reconfiguration_ps=1)
    assert reach_ps(quick, 8) == 1 + 3 * 100 + 2 * 1
    even = Lightpath(rows=1, cols=8, lasers=1, alpha_ps=10, reconfiguration_ps=15)
    # 1 segment: 7 portions, 70. 2: (1 + 2)(1 + 2) >= 8 in 4, 55. 3: 30 + 30.
    assert reach_ps(even, 8) == 15 + 55


def _paths(ports: int, length: int) -> int:
    """Return 1 + k + ... + k^length, term by term."""
    total, term = 0, 1
    for _ in range(length + 1):
        total += term
        term *= ports
    return total


def test_reach_is_the_least_over_all_ways_to_split() -> None:
    """Portions and segments agree with a search over every composition."""

    def folds(ports: int, portions: int, segments: int) -> int:
        if segments == 1:
            return _paths(ports, portions)
        return max(
            _paths(ports, first) * folds(ports, portions - first, segments - 1)
            for first in range(1, portions - segments + 2)
        )

    for ports, delay in [(1, 7), (1, 30), (2, 0), (2, 25), (3, 11)]:
        grid = Lightpath(
            rows=4,
            cols=8,
            lasers=ports,
            alpha_ps=10,
            reconfiguration_ps=delay,
            initial_configuration_charged=False,
        )
        for reach in (2, 3, 5, 9, 12):
            best = min(
                10 * portions + delay * (segments - 1)
                for portions in range(1, 12)
                for segments in range(1, portions + 1)
                if folds(ports, portions, segments) >= reach
            )
            assert reach_ps(grid, reach) == best


def test_fan_of_a_demand() -> None:
    """Nobody forwards a demand: seven peers over two lasers need four segments."""
    grid = Lightpath(rows=2, cols=4, lasers=2, alpha_ps=10, reconfiguration_ps=1000)
    assert fan_ps(grid, 7) == 4 * 10 + 4 * 1000
    demand = Demand.from_rows([(0, node, 1) for node in range(1, 8)])
    witness = {"node": 0, "direction": 0}
    assert proven_ps("growth", grid, demand, witness) >= 4040
    assert base_ps(grid, requirements_of(demand, 8)) == 4040


def test_cut_sees_scarce_waveguides() -> None:
    """On a line with one waveguide an all-to-all is bound by its middle edge."""
    line = Lightpath(rows=1, cols=8, lasers=4, waveguides=1, alpha_ps=0)
    task = Collective("all-to-all", tuple(range(8)), 8 * 1_500_000)
    certificate = LowerBounds(line, task).best()
    assert certificate is not None
    assert certificate.kind == "prices"
    (edge,) = line.edge_ids(np.array([4]), np.array([3])).tolist()
    assert certificate.witness == {"resources": [16 + edge], "prices": [1]}
    halves = {"nodes": [4, 5, 6, 7]}
    assert proven_ps("cut", line, task, halves) == certificate.bound
    # 16 blocks cross one waveguide of 4 wavelengths: 24 MB at 600 Gb/s.
    assert certificate.bound - reach_ps(line, 8) == 320_000_000


def _naive_entering(task: Collective | Demand, inside: np.ndarray) -> int:
    """Return what must enter a set, chunk by chunk from the definitions."""
    if isinstance(task, Demand):
        rows = zip(task.src, task.dst, task.bytes, strict=True)
        return sum(size for s, d, size in rows if not inside[s] and inside[d])
    op = COLLECTIVES[task.op]
    first, last = op.initial(task), op.final(task)
    total = 0
    for chunk in range(op.chunk_total(task)):
        has, must = (
            {
                task.nodes[rank]
                for rank, lo, hi in zip(
                    rows.rank, rows.chunk_lo, rows.chunk_hi, strict=True
                )
                if lo <= chunk < hi
            }
            for rows in (first, last)
        )
        needed = any(inside[node] for node in must)
        outside = [node for node in has if not inside[node]]
        missing = bool(outside) if op.reduces else len(outside) == len(has)
        total += task.chunk_bytes * (needed and missing)
    return total


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9))
def test_cut_search_finds_the_best_rectangle(seed: int) -> None:
    """What enters a rectangle, or leaves it, takes no longer than is certified."""
    rng = seeded_random(seed)
    grid = Lightpath(
        rows=rng.randint(1, 3),
        cols=rng.randint(1, 4),
        wafer_rows=2,
        wafer_cols=2,
        lasers=rng.randint(1, 3),
        waveguides=rng.randint(0, 3),
        fibers=rng.randint(0, 3),
    )
    count = grid.node_count
    nodes = tuple(rng.sample(range(count), rng.randint(1, count)))
    op = rng.choice(sorted(COLLECTIVES))
    task: Collective | Demand = Collective(op, nodes, len(nodes) * 12)
    if rng.random() < 0.3:
        rows = [
            (rng.randrange(count), rng.randrange(count), rng.randint(1, 99))
            for _ in range(5)
        ]
        task = Demand.from_rows([row for row in rows if row[0] != row[1]])
    needs = requirements_of(task, count)
    whole = task
    if isinstance(task, Collective):
        whole = msgspec.structs.replace(task, chunks=len(nodes))
    best = 0
    for top in range(grid.rows):
        for bottom in range(top, grid.rows):
            for left in range(grid.cols):
                for right in range(left, grid.cols):
                    box = np.zeros((grid.rows, grid.cols), dtype=np.bool_)
                    box[top : bottom + 1, left : right + 1] = True
                    for inside in (box.reshape(-1), ~box.reshape(-1)):
                        entering = needs.entering_bytes(inside)
                        assert entering == _naive_entering(whole, inside)
                        if not entering:
                            continue
                        witness: Witness = {"nodes": np.flatnonzero(inside).tolist()}
                        tail, head = grid.edges()
                        enters = ~inside[tail] & inside[head]
                        paths = grid.edge_waveguides(tail[enters], head[enters]).sum()
                        lanes = min(int(paths), int((inside & needs.members()).sum()))
                        if not lanes:
                            continue
                        shared_ps = base_ps(grid, needs) + transmission_ps(
                            entering, lanes * grid.node_bits_per_s
                        )
                        assert proven_ps("cut", grid, task, witness) >= shared_ps
                        best = max(best, shared_ps)
    found = find_bound("prices", grid, task)
    assert (found.bound if found else 0) >= best


def test_every_kind_checks_its_own_certificates() -> None:
    """What `bound` claims `check` proves, and no more."""
    task = Collective("all-gather", ALL, MIB)
    for name, found in all_bounds(RACK, task).items():
        assert proven_ps(name, RACK, task, found.witness) == found.bound


def test_nothing_to_do_and_nothing_that_can_be_done() -> None:
    """A single rank has no bound; neither has a fabric without lasers."""
    assert LowerBounds(RACK, Collective("all-reduce", (7,), MIB)).best() is None
    dark = Lightpath(rows=2, cols=2, lasers=0)
    assert LowerBounds(dark, Collective("all-reduce", (0, 1), MIB)).best() is None
    with pytest.raises(WitnessError):
        proven_ps("volume", dark, Collective("all-reduce", (0, 1), MIB), {})


def test_switch_bounds_are_met_by_direct_exchange(four_nodes: IdealSwitch) -> None:
    """On the ideal switch a direct all-gather is optimal: one step, one share."""
    bound = LowerBounds(four_nodes, Collective("all-gather", (0, 1, 2, 3), 4096)).best()
    assert bound is not None
    assert bound.bound == 710_240
