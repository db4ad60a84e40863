"""Several trainings on one fabric: times together, queues, blocks of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import TYPE_CHECKING, Literal, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.formats.training_tables import TracedJob
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.packet_tiers import ElectricalCluster, IdealSwitch
from lightloom.instances.fabrics.ring import Ring
from lightloom.replay.workload import Launch, SharedLinks, replay_iteration
from lightloom.training.job_run import run_jobs
from lightloom.training.job_times import (
    JobTimes,
    PlacedJob,
    joint_iteration,
    mean_iterations_ps,
)
from lightloom.training.training_plan import TrainingRequest
from tests.examples.iterations import iteration
from tests.examples.small_trainings import RATE, fabrics, training

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.instances.instance import AnyFabric
    from lightloom.training.job_run import ClusterRun, Policy
    from lightloom.training.training_plan import TrainingPlan

US = 10**6
UPLINKS = ElectricalCluster(
    nodes=4,
    nodes_per_server=2,
    bits_per_second_per_node=80 * 10**9,
    bits_per_second_per_uplink=80 * 10**9,
    alpha_ps=0,
)


@pytest.mark.parametrize(
    ("pairs", "expected_us"),
    [
        (((0, 2), (1, 3)), (4, 4)),
        (((0, 1), (2, 3)), (3, 3)),
        (((0, 2), (1, 0)), (3, 3)),
    ],
)
def test_jobs_share_an_uplink_or_nothing(
    pairs: Sequence[tuple[int, int]], expected_us: tuple[int, int]
) -> None:
    """1 us, 10,000 bytes at 80 Gb/s (1 us, 2 us at half of that), 1 us: exact."""
    ones = [iteration(4, [(a, US), (b, US)], [(0, 1, 10_000)]) for a, b in pairs]
    joint, ends = joint_iteration(ones, [3, 3])
    timeline = replay_iteration(joint, SharedLinks(UPLINKS), Launch(0, 0))
    means = mean_iterations_ps(timeline, ends)
    assert means == tuple(expected * US for expected in expected_us)


def test_a_short_job_goes_on_while_a_long_one_ends() -> None:
    """Four iterations of 3 us beside one that computes for 12 us and shares none."""
    short = iteration(4, [(0, US), (2, US)], [(0, 1, 10_000)])
    long = iteration(4, [(1, 12 * US)], [])
    joint, ends = joint_iteration([short, long], [4, 1])
    timeline = replay_iteration(joint, SharedLinks(UPLINKS), Launch(0, 0))
    assert list(mean_iterations_ps(timeline, ends)) == [3 * US, 12 * US]


@dataclass(eq=False)
class FixedTimes(JobTimes):
    """An iteration of each job takes 10 us times the number of jobs that run."""

    def plan(self, job: PlacedJob) -> TrainingPlan:
        """Return as much of a plan as a run asks for."""
        del job
        shape = SimpleNamespace(model_parallel=1, replicas=1)
        stub = SimpleNamespace(iteration_ps=10 * US, strategy=shape)
        return cast("TrainingPlan", stub)

    def iterations_ps(self, jobs: Sequence[PlacedJob]) -> list[Fraction]:
        """Return the same for all."""
        return [Fraction(10 * US * len(jobs))] * len(jobs)


def run(
    fabric: AnyFabric, jobs: Sequence[TracedJob], policy: Policy = "fifo"
) -> ClusterRun:
    """Return what becomes of jobs whose times are fixed."""
    model = training()
    ordered = sorted(jobs, key=lambda job: job.arrival_ps)
    times = FixedTimes(fabric, TrainingRequest())
    return run_jobs(times, [(job, model) for job in ordered], policy)


def switch(nodes: int) -> IdealSwitch:
    """Return an ideal switch."""
    return IdealSwitch(nodes=nodes, bits_per_second_per_node=RATE)


def test_a_job_that_comes_slows_the_other_from_then_on() -> None:
    """By hand: 5 iterations alone, 5 at half the pace (150 us); b ends at 200 us."""
    a, b = run(
        switch(4),
        [TracedJob("a", 0, 2, 10), TracedJob("b", 50 * US, 2, 10)],
    ).jobs
    assert (a.finish_ps, b.finish_ps) == (150 * US, 200 * US)
    assert (a.slow_down, b.slow_down) == (Fraction(3, 2), Fraction(3, 2))
    assert (a.waiting_ps, b.waiting_ps) == (0, 0)


@pytest.mark.parametrize(("policy", "starts_us"), [("fifo", 150), ("backfill", 0)])
def test_who_passes_a_job_that_waits(policy: Policy, starts_us: int) -> None:
    """B needs all nodes; c would fit beside a."""
    jobs = [
        TracedJob("a", 0, 2, 5),
        TracedJob("b", 0, 4, 10),
        TracedJob("c", 0, 2, 1),
    ]
    found = {each.job.name: each for each in run(switch(4), jobs, policy).jobs}
    assert found["c"].start_ps == starts_us * US
    assert found["b"].start_ps == (50 if policy == "fifo" else 60) * US


def test_a_ring_in_pieces_keeps_a_job_waiting() -> None:
    """Four of eight nodes are free, two and two: four in a row come when b goes."""
    jobs = [
        TracedJob("a", 0, 2, None, 10 * US),
        TracedJob("b", 0, 2, None, 90 * US),
        TracedJob("c", 0, 2, None, 10 * US),
        TracedJob("d", 0, 2, None, 95 * US),
        TracedJob("e", 20 * US, 4, 1),
    ]
    on_ring = run(Ring(nodes=8, wavelengths=8, directions=2), jobs)
    on_switch = run(switch(8), jobs)
    assert on_ring.jobs[-1].waiting_ps == 70 * US
    assert on_switch.jobs[-1].waiting_ps == 0
    moment = next(each for each in on_ring.moments if each.time_ps == 20 * US)
    assert (moment.free.blocks, moment.waiting) == ((2, 2), ("e",))
    assert on_ring.fragmentation > 0


def test_a_job_may_leave_before_it_began() -> None:
    """Its time has come while another one has all nodes."""
    jobs = [TracedJob("a", 0, 4, 10), TracedJob("b", US, 1, 5, 30 * US)]
    b = run(switch(4), jobs).jobs[1]
    assert (b.start_ps, b.waiting_ps, b.slow_down) == (None, 29 * US, None)


def test_a_job_larger_than_the_fabric_is_named() -> None:
    """Nobody is told to wait for jobs that do not exist."""
    with pytest.raises(InputError, match=r"t:2, a: .*has 4; ask for fewer"):
        run(switch(4), [TracedJob("a", 0, 5, 1, where="t:2")])


arrivals = st.tuples(
    st.integers(0, 99), st.integers(1, 6), st.integers(1, 9), st.booleans()
)


@given(
    st.lists(arrivals, min_size=1, max_size=7), st.sampled_from(["fifo", "backfill"])
)
def test_every_job_is_served_and_nodes_are_nobody_elses(
    rows: list[tuple[int, int, int, bool]], policy: Policy
) -> None:
    """Work is conserved, nodes are exclusive, and fifo keeps the order."""
    jobs = [
        TracedJob(str(number), at * US, devices, work, (at + 70) * US if goes else None)
        for number, (at, devices, work, goes) in enumerate(rows)
    ]
    found = run(switch(6), jobs, policy)
    begun = [each for each in found.jobs if each.start_ps is not None]
    for each in begun:
        assert each.start_ps is not None
        assert each.job.arrival_ps <= each.start_ps < each.finish_ps
        assert each.iterations == each.job.iterations or each.job.departure_ps
        assert each.slow_down is None or each.slow_down >= 1
        for other in begun:
            assert other.start_ps is not None
            apart = other.finish_ps <= each.start_ps or each.finish_ps <= other.start_ps
            assert other is each or apart or not {*other.nodes} & {*each.nodes}
    if policy == "fifo":
        starts = [each.start_ps or 0 for each in begun]
        assert starts == sorted(starts)
    assert 0 <= found.utilisation <= 1
    assert found.moments[-1].running == ()


def line(lasers: int, dark: Literal["plane", "changed-circuits"]) -> Lightpath:
    """Return four tiles in a row, a waveguide between any two."""
    return Lightpath(
        rows=1,
        cols=4,
        lasers=lasers,
        waveguides=1,
        dark_while_reconfiguring=dark,
    )


def test_circuits_that_cross_share_the_wavelengths_of_a_waveguide() -> None:
    """0 and 2 beside 1 and 3: with two wavelengths each has one, as if alone on one."""
    request = TrainingRequest(circuits="one-shot", replayed=1)
    times, alone = (
        JobTimes(line(lasers, "plane"), request).iterations_ps for lasers in (2, 1)
    )
    crossing = [PlacedJob(training(2), nodes, 1, 2) for nodes in ((0, 2), (1, 3))]
    apart = [PlacedJob(training(2), nodes, 1, 2) for nodes in ((0, 1), (2, 3))]
    slow = [each for job in crossing for each in alone([job])]
    assert times(crossing) == slow
    fast = [each for job in crossing for each in times([job])]
    assert all(one > other for one, other in zip(slow, fast, strict=True))
    assert times(apart) == [each for job in apart for each in times([job])]


def test_calls_of_jobs_are_served_beside_each_other_or_not_at_all() -> None:
    """Apart they take as long as alone; where they cross the second has to wait."""
    request = TrainingRequest(circuits="per-call", replayed=1)
    with pytest.raises(InputError, match="would darken those of others"):
        JobTimes(line(2, "plane"), request)
    times = JobTimes(line(2, "changed-circuits"), request)
    jobs = {
        nodes: PlacedJob(training(2), nodes, 1, 2)
        for nodes in ((0, 1), (2, 3), (0, 2), (1, 3))
    }
    apart = [jobs[0, 1], jobs[2, 3]]
    assert times.iterations_ps(apart) == [times.plan(job).iteration_ps for job in apart]
    with pytest.raises(InfeasibleError, match="do not fit beside"):
        times.iterations_ps([jobs[0, 2], jobs[1, 3]])


def test_jobs_on_circuits_of_their_own_do_not_slow_each_other() -> None:
    """Two blocks of a ring, any nodes of switches; on uplinks they do."""
    model, request = training(8), TrainingRequest(circuits="one-shot", replayed=1)
    for name, fabric in fabrics(8).items():
        times = JobTimes(fabric, request)
        pair = [
            PlacedJob(model, tuple(range(first, first + 4)), 1, 4) for first in (0, 4)
        ]
        alone = [times.plan(job).iteration_ps for job in pair]
        assert times.iterations_ps(pair) == alone, name
    uplinks = ElectricalCluster(
        nodes=8,
        nodes_per_server=4,
        bits_per_second_per_node=RATE,
        bits_per_second_per_uplink=RATE // 8,
    )
    times = JobTimes(uplinks, request)
    mixed = [PlacedJob(model, tuple(range(first, 8, 2)), 1, 4) for first in (0, 1)]
    slower = times.iterations_ps(mixed)
    assert all(
        slow > times.plan(job).iteration_ps
        for slow, job in zip(slower, mixed, strict=True)
    )
