"""Planes that change by themselves: known answers, and replay as a naive walk says."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.schedule import Algorithm, Schedule, Transfers
from lightloom.core.task import Collective
from lightloom.core.units import transmission_ps
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.instance import Instance
from lightloom.replay import completion_time_ps
from lightloom.synth.lightpath.reconfiguration_dp import Costs, segment
from lightloom.synth.ocs.collective_realisation import SwitchRounds
from lightloom.synth.ocs.plane_walks import (
    LaneJobs,
    LaneLayer,
    PlaneWalks,
    best_timing,
    every_step,
    exact_timing,
    level_timing,
    one_shot,
    overlapped,
)
from lightloom.synth.synthesise import synthesise
from lightloom.synth.traffic import LaneRound, TrafficRound
from lightloom.validate import verify


def halving_doubling(ranks: int, size: float, rate: float) -> LaneJobs:
    """Return an all-reduce of `size` MB at `rate` GB/s a port, in milliseconds."""
    levels = ranks.bit_length() - 1
    lanes = [*range(levels), *reversed(range(levels))]
    data = [size / rate / 2 ** (lane + 1) for lane in lanes]
    steps = np.arange(2 * levels)
    return LaneJobs(steps, np.array(lanes), np.array(data), 0.2, 0.02, 0.2)


@pytest.mark.parametrize(
    ("case", "every", "apart", "best"),
    [
        ((16, 4, 25, 0.125), 1.56234375, 0.369375, 0.369375),
        ((16, 4, 25, 2), 1.5975, 0.51, 0.51),
        ((16, 4, 25, 8), 1.71, 0.96, 0.84),
        ((16, 4, 25, 32), 2.16, 2.76, 1.61),
        ((16, 4, 25, 128), 3.96, 9.96, 3.84 * 1.004),
        ((8, 2, 50, 32), 1.68, None, 1.34),
        pytest.param(
            (256, 8, 12.5, 0.5),
            3.3299609375,
            0.5996875,
            0.5996875,
            marks=pytest.mark.slow,
        ),
        pytest.param(
            (256, 8, 12.5, 32), 3.9575, 5.62, 2.000625, marks=pytest.mark.slow
        ),
    ],
)
def test_halving_doubling_overlaps_as_known(
    case: tuple[int, int, float, float], every: float, apart: float | None, best: float
) -> None:
    """Every step, one shot, and the best known where planes hold what they use."""
    ranks, planes, rate, size = case
    jobs = halving_doubling(ranks, size, rate)
    starts = [every_step(jobs, planes)]
    timing = exact_timing(jobs, starts[0])
    assert timing is not None
    assert timing.end == pytest.approx(every, rel=1e-9)
    dedicated = one_shot(jobs, planes)
    assert (dedicated is None) == (apart is None)
    if dedicated is not None:
        timing = exact_timing(jobs, dedicated)
        assert timing is not None
        assert timing.end == pytest.approx(apart, rel=1e-9)
        starts.append(dedicated)
    found = best_timing(jobs, starts, 0)
    assert found.end <= best * (1 + 1e-9)
    assert np.allclose(found.data.sum(axis=0), jobs.data, rtol=1e-9)


def test_a_schedule_overlaps_to_the_picosecond() -> None:
    """8 MB among 16 nodes on 4 switches: .84 ms, and the file is sound."""
    fabric = Ocs(
        nodes=16,
        switches=4,
        bits_per_second_per_node=800 * 10**9,
        alpha_ps=20 * 10**6,
        reconfiguration_ps=200 * 10**6,
    )
    task = Collective("all-reduce", tuple(range(16)), 8 * 10**6)
    made = synthesise(Instance(fabric, task, "test"), "lumorph-2").incumbent
    assert made is not None
    assert verify(made.schedule).violations == ()
    assert made.completion_time_ps == 840 * 10**6


@st.composite
def _jobs(draw: st.DrawFn) -> LaneJobs:
    steps = draw(st.integers(1, 4))
    numbers = st.integers(0, 50)
    return LaneJobs(
        np.arange(steps),
        np.array(draw(st.lists(st.integers(0, 2), min_size=steps, max_size=steps))),
        np.array(draw(st.lists(st.integers(1, 40), min_size=steps, max_size=steps)))
        / 10,
        draw(numbers) / 10,
        draw(numbers) / 50,
        draw(numbers) / 10,
    )


@settings(max_examples=8, deadline=None)
@given(_jobs())
def test_no_used_sets_end_sooner_than_is_possible(jobs: LaneJobs) -> None:
    """On two planes all are tried; what is found is no worse than its start."""
    start = every_step(jobs, 2)
    found = best_timing(jobs, [start], 0).end
    least = np.inf
    for bits in itertools.product([False, True], repeat=start.size):
        used = np.array(bits).reshape(start.shape)
        exact, level = exact_timing(jobs, used), level_timing(jobs, used)
        assert (exact is None) == (level is None)
        if exact is not None and level is not None:
            least = min(least, exact.end)
            served = exact_timing(jobs, level.data > 0)
            assert served is not None
            assert served.end <= level.end * (1 + 1e-9)
    begun = exact_timing(jobs, start)
    assert begun is not None
    assert least * (1 - 1e-9) <= found <= begun.end * (1 + 1e-9)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_replay_is_a_naive_walk_of_planes(data: st.DataObject) -> None:
    """Random permutations, bytes, planes and delays: the same picosecond."""
    nodes = data.draw(st.integers(2, 5))
    fabric = Ocs(
        nodes=nodes,
        switches=data.draw(st.integers(1, 3)),
        bits_per_second_per_node=3 * 10**9,
        alpha_ps=data.draw(st.integers(0, 10**6)),
        reconfiguration_ps=data.draw(st.integers(0, 10**8)),
        initial_configuration_charged=data.draw(st.booleans()),
    )
    rounds = []
    for _ in range(data.draw(st.integers(1, 6))):
        dst = np.roll(np.arange(nodes), data.draw(st.integers(1, nodes - 1)))
        count = np.full(nodes, data.draw(st.integers(1, 5000)))
        moved = Transfers(np.arange(nodes), dst, 0 * count, count, 0 * count)
        rounds.append(TrafficRound(moved, 8 * count, 0 * count))
    realised = SwitchRounds(fabric, rounds).realisation()
    task = Collective("all-reduce", tuple(range(nodes)), 8 * 5000, 5000)
    schedule = Schedule(
        fabric.table(), task, Algorithm("test"), realised.segments, realised.parts
    )
    assert completion_time_ps(schedule) == _walked_ps(fabric, schedule)
    for step, one in enumerate(rounds):
        parts = [part for part in schedule.parts if part.index == step]
        total = sum(int(schedule.transfer_bytes(part).sum()) for part in parts)
        assert total == int(one.size_bytes.sum())


def _walked_ps(fabric: Ocs, schedule: Schedule) -> int:
    """Return when a schedule ends, plane by plane and transfer by transfer."""
    delay_ps = fabric.reconfiguration_ps
    first_ps = delay_ps if fabric.initial_configuration_charged else 0
    planes = range(fabric.switches)
    holds, free_ps = dict.fromkeys(planes, 0), dict.fromkeys(planes, first_ps)
    end_ps = 0
    for step in range(schedule.step_count):
        released_ps = end_ps
        for part in (part for part in schedule.parts if part.index == step):
            assert part.plane is not None
            assert part.segment is not None
            while holds[part.plane] < part.segment:
                holds[part.plane] += 1
                free_ps[part.plane] += delay_ps
            begin_ps = max(released_ps, free_ps[part.plane])
            pair_ps: dict[tuple[int, int], int] = {}
            sizes = schedule.transfer_bytes(part).tolist()
            ends = zip(
                part.transfers.src.tolist(), part.transfers.dst.tolist(), strict=True
            )
            for pair, size in zip(ends, sizes, strict=True):
                lasts_ps = transmission_ps(size, fabric.bits_per_second_per_circuit)
                pair_ps[pair] = pair_ps.get(pair, fabric.alpha_ps) + lasts_ps
            free_ps[part.plane] = begin_ps + max(pair_ps.values())
            end_ps = max(end_ps, free_ps[part.plane])
    return end_ps


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_together_planes_change_less_often_the_longer_it_takes(
    data: st.DataObject,
) -> None:
    """Never worse than one configuration or one a step; without delay, one a step."""
    lanes = data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=6))
    sizes = data.draw(
        st.lists(st.integers(1, 10**6), min_size=len(lanes), max_size=len(lanes))
    )
    rounds = [
        LaneRound((lane,), (size,)) for lane, size in zip(lanes, sizes, strict=True)
    ]
    costs = Costs(
        alpha_ps=10**5,
        reconfiguration_ps=0,
        initial_configuration_charged=True,
        lasers=4,
        bits_per_s_per_wavelength=10**10,
    )
    before = len(lanes) + 1
    for delay_ps in (0, 10**6, 10**8, 10**11):
        found = segment(rounds, [1, 1, 1], replace(costs, reconfiguration_ps=delay_ps))
        assert len(found) <= before
        before = len(found)
    assert before == 1


def test_layers_that_move_next_to_nothing_have_a_switch() -> None:
    """A byte beside a gigabyte takes no time in doubles, and is served all the same."""
    fabric = Ocs(nodes=6, switches=2, bits_per_second_per_node=2 * 10**11)
    first, second = LaneLayer(0, 0), LaneLayer(1, 0)
    sizes = [{first: 1}, {first: 10**12, second: 1}]
    held = ((first,), (second,))
    served = ({first: ((0, 0),)}, {first: ((0, 0),), second: ((1, 0),)})
    found = overlapped(fabric, PlaneWalks(held, served), sizes)
    assert found.shares is not None
    for moved, places, shares in zip(sizes, found.served, found.shares, strict=True):
        assert all(len(places[one]) == len(shares[one]) >= 1 for one in moved)
        assert all(
            found.held[plane][index] == one
            for one in moved
            for plane, index in places[one]
        )
