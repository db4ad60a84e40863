"""Synthesis end to end: what is emitted verifies, and replays as predicted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.schedule import FluidTransfers, Op, Schedule, Transfers
from lightloom.core.task import Collective, Demand
from lightloom.core.units import MIB, transmission_ps
from lightloom.instances.catalogue import load_instance
from lightloom.instances.collectives import COLLECTIVES, op_of
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.packet_forwarding import Torus
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.instance import AnyFabric, Instance
from lightloom.plans.algorithms import ALGORITHMS
from lightloom.replay import replay
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify
from tests.synth.some_ranks import SOME_RANKS


def _instance(fabric: AnyFabric, op: str, size_bytes: int, nodes: int = 0) -> Instance:
    ranks = tuple(range(nodes or fabric.node_count))
    return Instance(fabric, Collective(op, ranks, size_bytes), "test")


def _checked(instance: Instance, algorithm: str, **parameters: object) -> Schedule:
    outcome = synthesise(instance, algorithm, parameters)
    assert outcome.incumbent is not None
    schedule = outcome.incumbent.schedule
    verdict = verify(schedule)
    assert verdict.violations == ()
    assert outcome.objective == replay(schedule).completion_time_ps
    assert outcome.bound is None or outcome.bound <= outcome.objective
    return schedule


def _run_on_buffers(schedule: Schedule) -> None:
    """Execute a schedule on random integer buffers and compare with numpy."""
    task = schedule.task
    assert isinstance(task, Collective)
    op = op_of(task)
    chunks = op.chunk_total(task)
    rng = np.random.default_rng(7)
    nodes = list(task.nodes)
    truth = rng.integers(-(10**6), 10**6, size=(len(nodes), chunks))
    initial, final = op.initial(task), op.final(task)
    state = np.zeros_like(truth)
    for rank, lo, hi in zip(
        initial.rank, initial.chunk_lo, initial.chunk_hi, strict=True
    ):
        state[rank, lo:hi] = truth[rank, lo:hi]
    expected = state.sum(axis=0)
    rank_of = {node: rank for rank, node in enumerate(nodes)}
    for step in range(schedule.step_count):
        before = state.copy()
        for part in schedule.parts:
            if part.index != step:
                continue
            moved = part.transfers
            assert isinstance(moved, Transfers)
            for src, dst, lo, hi, code in zip(
                moved.src,
                moved.dst,
                moved.chunk_lo,
                moved.chunk_hi,
                moved.op,
                strict=True,
            ):
                source = before[rank_of[int(src)], lo:hi]
                if code == Op.COPY:
                    state[rank_of[int(dst)], lo:hi] = source
                else:
                    state[rank_of[int(dst)], lo:hi] += source
    for rank, lo, hi in zip(final.rank, final.chunk_lo, final.chunk_hi, strict=True):
        assert (state[rank, lo:hi] == expected[lo:hi]).all()


_PAIRS = sorted(
    (entry.name, op)
    for entry in ALGORITHMS.values()
    for op in entry.ops
    if entry.name not in ("bruck", "radices", *SOME_RANKS)
)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_random_fabrics_and_collectives(data: st.DataObject) -> None:
    """Whatever the grid, lasers, waveguides, nodes and algorithm: it verifies."""
    algorithm, op = data.draw(
        st.sampled_from([*_PAIRS, *(("auto", op) for op in COLLECTIVES)])
    )
    rows, cols = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    fabric = Lightpath(
        rows=rows,
        cols=cols,
        wafer_rows=2,
        wafer_cols=2,
        lasers=data.draw(st.integers(1, 6)),
        waveguides=data.draw(st.integers(1, 3)),
        fibers=data.draw(st.integers(1, 2)),
        initial_configuration_charged=data.draw(st.booleans()),
    )
    nodes = data.draw(
        st.lists(st.integers(0, rows * cols - 1), min_size=1, max_size=9, unique=True)
    )
    size_bytes = len(nodes) * data.draw(st.integers(1, 64))
    task = Collective(op, tuple(nodes), size_bytes)
    schedule = _checked(Instance(fabric, task, "random"), algorithm)
    _run_on_buffers(schedule)


@pytest.mark.parametrize(("algorithm", "op"), _PAIRS)
def test_every_algorithm_on_both_fabrics(algorithm: str, op: str) -> None:
    """Each algorithm does each of its operations on circuits and on packets."""
    for fabric in (Lightpath(rows=3, cols=4), IdealSwitch(nodes=12)):
        _run_on_buffers(_checked(_instance(fabric, op, 12 * 64), algorithm))


def test_lumorph_2_closed_form() -> None:
    """All-reduce by halving and doubling costs what its closed form says."""
    fabric = Lightpath(rows=4, cols=4)
    schedule = _checked(
        _instance(fabric, "all-reduce", MIB), "radices", radices=[2, 2, 2, 2]
    )
    timeline = replay(schedule)
    data_ps = sum(
        2 * transmission_ps(MIB >> step, fabric.node_bits_per_s) for step in range(1, 5)
    )
    # The last reduce-scatter and the first all-gather round share their circuits.
    fixed_ps = 8 * fabric.alpha_ps + 7 * fabric.reconfiguration_ps
    assert timeline.completion_time_ps <= fixed_ps + data_ps
    assert timeline.completion_time_ps >= 8 * fabric.alpha_ps + data_ps


@pytest.mark.parametrize("ranks", [2, 8, 48])
def test_ring_on_the_ideal_switch(ranks: int) -> None:
    """Ring all-reduce on an ideal switch: 2(n-1)(alpha + B/(n rate))."""
    fabric = IdealSwitch(nodes=ranks)
    size_bytes = ranks * 4096
    schedule = _checked(_instance(fabric, "all-reduce", size_bytes), "ring")
    each = fabric.alpha_ps + transmission_ps(4096, fabric.node_bits_per_s)
    assert replay(schedule).completion_time_ps == 2 * (ranks - 1) * each


@pytest.mark.parametrize(
    ("size", "most_us"), [("1KiB", 9.0), ("1MiB", 21.5), ("64MiB", 466.0)]
)
def test_auto_on_the_rack(size: str, most_us: float) -> None:
    """All-reduce on 256 tiles is as fast as a multiport schedule can be."""
    outcome = synthesise(load_instance(f"lightpath-256/all-reduce-{size}"))
    assert outcome.objective is not None
    assert outcome.objective <= most_us * 10**6


@settings(deadline=None, max_examples=40)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(1, 10**6)),
        max_size=30,
    ),
    lasers=st.integers(1, 4),
    algorithm=st.sampled_from(["auto", "edge-colouring", "greedy"]),
)
def test_random_demands(
    rows: list[tuple[int, int, int]], lasers: int, algorithm: str
) -> None:
    """Any demand is served exactly; edge colouring in the fewest segments."""
    demand = Demand.from_rows([row for row in rows if row[0] != row[1]])
    fabric = Lightpath(rows=2, cols=4, lasers=lasers, waveguides=64)
    schedule = _checked(Instance(fabric, demand, "demand"), algorithm)
    assert all(isinstance(part.transfers, FluidTransfers) for part in schedule.parts)
    if algorithm == "edge-colouring" and demand.src:
        degree = max(*np.bincount(demand.src), *np.bincount(demand.dst))
        assert len(schedule.segments) == math.ceil(degree / lasers)


def test_one_node_has_nothing_to_do() -> None:
    """A collective of one rank is an empty schedule of no duration."""
    schedule = _checked(_instance(Lightpath(rows=1, cols=1), "all-reduce", 64), "auto")
    assert schedule.parts == ()
    assert schedule.segments == ()


def test_no_lasers_and_no_waveguides_are_infeasible() -> None:
    """Without light nothing arrives, and that is proven, not searched for."""
    for fabric in (
        Lightpath(rows=1, cols=2, lasers=0),
        Lightpath(rows=1, cols=2, waveguides=0),
    ):
        with pytest.raises(InfeasibleError):
            synthesise(_instance(fabric, "all-reduce", 64), "ring")
        with pytest.raises(InfeasibleError):
            synthesise(_instance(fabric, "all-reduce", 64))


def test_an_unknown_algorithm_is_refused() -> None:
    """The nearest names are suggested."""
    with pytest.raises(InputError, match="multiport"):
        synthesise(_instance(Lightpath(rows=1, cols=2), "all-reduce", 64), "multiprot")


def test_few_waveguides_split_rounds_within_their_step() -> None:
    """One waveguide an edge: rounds take several segments, and the sum is right."""
    fabric = Lightpath(rows=4, cols=4, lasers=2, waveguides=1)
    schedule = _checked(
        _instance(fabric, "all-reduce", 16 * 64), "full-exchange", radices=[16]
    )
    assert schedule.step_count == 1
    assert len(schedule.segments) >= 8
    _run_on_buffers(schedule)


@pytest.mark.parametrize(
    "fabric",
    [
        Ocs(nodes=4, switches=3, bits_per_second_per_node=10**12),
        Ring(nodes=4, wavelengths=4),
    ],
)
def test_fabrics_with_an_algorithm_of_their_own_for_demands(fabric: AnyFabric) -> None:
    """Algorithms and parameters of others are refused."""
    demand = Instance(fabric, Demand.from_rows([(0, 1, 5), (2, 3, 7)]), "demand")
    with pytest.raises(InputError, match=r"greedy.*auto, "):
        synthesise(demand, "greedy")
    with pytest.raises(InputError, match="take no parameters"):
        synthesise(demand, parameters={"pieces": 1})
    _checked(demand, "auto")


def test_shapes_are_filled_in_where_nodes_form_a_box() -> None:
    """The parameters are those that `auto` states."""
    schedule = _checked(
        _instance(Torus(rows=3, cols=4), "all-reduce", 12 * 64), "levels"
    )
    assert schedule.algorithm.parameters["shape"] == [3, 4]
