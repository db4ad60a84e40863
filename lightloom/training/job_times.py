"""How long the iterations of several trainings take on one fabric, by replay."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import networkx as nx
import numpy as np

from lightloom.core.columns import Ragged
from lightloom.core.errors import InfeasibleError, InputError, NoAnswerError
from lightloom.core.fabric import PacketFabric, step_ps
from lightloom.core.iteration import (
    NO_CALL,
    Collectives,
    Dependencies,
    Iteration,
    Operations,
)
from lightloom.core.task import Demand
from lightloom.replay.workload import RingCollectives, SharedLinks, replay_iteration
from lightloom.training.fabric_networks import held_network, kept_circuits
from lightloom.training.planner import Planner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.core.training import Training
    from lightloom.instances.instance import AnyFabric
    from lightloom.replay.workload import IterationTimeline
    from lightloom.replay.workload.network import NetworkKind
    from lightloom.training.training_plan import TrainingPlan, TrainingRequest


_WINDOWS = 2
"""Iterations of the longest that are replayed together."""
_MOST_TASKS = 400_000
"""Tasks that are replayed together, at most."""

Resource: TypeAlias = tuple[int, int]
"""Plane and number of what circuits compete for, or 0 and a link of packets."""


@dataclass(frozen=True)
class PlacedJob:
    """A training on some nodes of a fabric.

    `nodes`: in the order of its ranks; nobody else's. `model_parallel`, `replicas`:
    kept where they are given.
    """

    training: Training = field(hash=False)
    nodes: tuple[int, ...]
    model_parallel: int | None = None
    replicas: int | None = None


@dataclass(eq=False)
class JobTimes:
    """Times of the iterations of trainings on one fabric, alone and together.

    Trainings share links of packets, and what circuits compete for where all that they
    ask for is more than there is. Those that share nothing do not slow each other.
    Those that do are replayed together, on links that flows share, or on circuits that
    are set for the traffic of all of them. Where circuits are set for each call they
    cannot run at the same time.

    `request`: how circuits are set, and how many strategies are replayed. `tell`: told
    in words what is being done.

    Raises `InputError`: circuits are to be set for each call, where that darkens those
    of other jobs.
    """

    fabric: AnyFabric
    request: TrainingRequest
    seed: int = 0
    tell: Callable[[str], None] = field(default=lambda _: None)
    _planners: dict[str, Planner] = field(default_factory=dict)
    _plans: dict[PlacedJob, TrainingPlan] = field(default_factory=dict)
    _taken: dict[PlacedJob, dict[Resource, int]] = field(default_factory=dict)
    _together: dict[frozenset[PlacedJob], dict[PlacedJob, Fraction]] = field(
        default_factory=dict
    )

    def __post_init__(self) -> None:
        """Refuse reconfigurations that other jobs would feel."""
        fabric, way = self.fabric, self.request.circuits
        if way != "per-call" or isinstance(fabric, PacketFabric):
            return
        if fabric.dark_while_reconfiguring != "changed-circuits":
            raise InputError(
                "a job that sets its circuits would darken those of others",
                where="fabric.dark_while_reconfiguring",
                found=fabric.dark_while_reconfiguring,
                allowed="changed-circuits",
                fix="--set fabric.dark_while_reconfiguring=changed-circuits, or"
                " circuits that stay",
            )

    def plan(self, job: PlacedJob) -> TrainingPlan:
        """Return the fastest plan of a training that has the fabric to itself.

        Raises `InputError, InfeasibleError, NoAnswerError`: as `Planner.plan`.
        """
        if job not in self._plans:
            key = repr(job.training)
            if key not in self._planners:
                planner = Planner(job.training, seed=self.seed, tell=self.tell)
                self._planners[key] = planner
            request = replace(
                self.request,
                nodes=job.nodes,
                model_parallel=job.model_parallel,
                replicas=job.replicas,
            )
            self._plans[job] = self._planners[key].plan(self.fabric, request)
        return self._plans[job]

    def iterations_ps(self, jobs: Sequence[PlacedJob]) -> list[Fraction]:
        """Return how long an iteration of each of some trainings takes together.

        Raises `InfeasibleError`: no circuits for all of them were found;
        `NoAnswerError`: iterations of those that share something differ too much in
        length.
        """
        times_ps: dict[PlacedJob, Fraction] = {}
        for group in self._sharing(jobs):
            if len(group) == 1:
                times_ps[group[0]] = Fraction(self.plan(group[0]).iteration_ps)
                continue
            key = frozenset(group)
            if key not in self._together:
                self._together[key] = self._replayed(group)
            times_ps |= self._together[key]
        return [times_ps[job] for job in jobs]

    def _sharing(self, jobs: Sequence[PlacedJob]) -> list[list[PlacedJob]]:
        """Return groups of jobs; those of different groups share nothing."""
        takers: dict[Resource, list[int]] = {}
        for number, job in enumerate(jobs):
            for resource in self._resources(job):
                takers.setdefault(resource, []).append(number)
        graph = nx.empty_graph(len(jobs))
        several = {resource: who for resource, who in takers.items() if len(who) > 1}
        room = self._room(list(several))
        for resource, who in several.items():
            taken = sum(self._taken[jobs[number]][resource] for number in who)
            if taken > room[resource]:
                nx.add_path(graph, who)
        groups = nx.connected_components(graph)
        return [[jobs[number] for number in sorted(group)] for group in groups]

    def _room(self, resources: Sequence[Resource]) -> dict[Resource, int]:
        """Return how much there is of each resource; of links of packets none."""
        if isinstance(self.fabric, PacketFabric) or not resources:
            return dict.fromkeys(resources, 0)
        numbers = np.array([number for _, number in resources], dtype=np.int64)
        room = self.fabric.capacity(numbers).tolist()
        return dict(zip(resources, room, strict=True))

    def _resources(self, job: PlacedJob) -> Mapping[Resource, int]:
        """Return what a training takes of each resource."""
        if job in self._taken:
            return self._taken[job]
        plan, fabric = self.plan(job), self.fabric
        taken: dict[Resource, int] = {}
        if isinstance(fabric, PacketFabric):
            ends = (
                np.array(end, dtype=np.int64)
                for end in (plan.demand.src, plan.demand.dst)
            )
            links = np.unique(fabric.link_usage(*ends).resource).tolist()
            taken = dict.fromkeys(((0, link) for link in links), 1)
        else:
            for plane, circuits in _configurations(plan):
                usage = fabric.usage(circuits)
                numbers, of = np.unique(usage.resource, return_inverse=True)
                amount = np.zeros(len(numbers), dtype=np.int64)
                np.add.at(amount, of.reshape(-1), usage.amount)
                for number, size in zip(numbers.tolist(), amount.tolist(), strict=True):
                    key = plane, number
                    taken[key] = max(taken.get(key, 0), size)
        self._taken[job] = taken
        return taken

    def _replayed(self, jobs: Sequence[PlacedJob]) -> dict[PlacedJob, Fraction]:
        """Return the times of trainings that share something."""
        plans = [self.plan(job) for job in jobs]
        names = ", ".join(str(plan.strategy) for plan in plans)
        if any(plan.circuits == "per-call" for plan in plans):
            what = "circuits set for each call do not fit beside those of other jobs"
            raise InfeasibleError(what, where=names)
        self.tell(f"replaying together {names}")
        longest_ps = _WINDOWS * max(plan.iteration_ps for plan in plans)
        repeats = [-(-longest_ps // plan.iteration_ps) for plan in plans]
        tasks = sum(
            times * plan.iteration.task_count
            for times, plan in zip(repeats, plans, strict=True)
        )
        if tasks > _MOST_TASKS:
            raise NoAnswerError(
                "iterations of jobs that share links differ too much in length",
                where=names,
                found=f"{tasks} tasks",
                allowed=f"up to {_MOST_TASKS}",
                fix="use smaller models or fewer devices",
            )
        joint, ends = joint_iteration([plan.iteration for plan in plans], repeats)
        network = self._network(plans)
        timeline = replay_iteration(joint, network, self.request.launch)
        times_ps = mean_iterations_ps(timeline, ends)
        return dict(zip(jobs, times_ps, strict=True))

    def _network(self, plans: Sequence[TrainingPlan]) -> NetworkKind:
        """Return what carries the traffic of several trainings."""
        fabric = self.fabric
        collectives = RingCollectives(step_ps(fabric))
        if isinstance(fabric, PacketFabric):
            return SharedLinks(fabric, collectives)
        longest_ps = max(plan.iteration_ps for plan in plans)
        rows = [
            (src, dst, -(-size * longest_ps // plan.iteration_ps))
            for plan in plans
            for src, dst, size in zip(
                *(plan.demand.src, plan.demand.dst, plan.demand.bytes), strict=True
            )
        ]
        demand = Demand.from_rows(sorted(rows))
        try:
            held = kept_circuits(fabric).lasting(fabric, demand)
        except NoAnswerError as problem:
            raise InfeasibleError(problem.what, where=problem.where) from None
        return held_network(fabric, held, collectives)


def _configurations(plan: TrainingPlan) -> Iterator[tuple[int, Circuits]]:
    """Yield what planes hold for a training, one configuration after the other."""
    yield from (plan.held or {}).items()
    for call in plan.calls:
        for segment in call.schedule.segments:
            yield segment.plane, segment.circuits


def joint_iteration(
    iterations: Sequence[Iteration], repeats: Sequence[int]
) -> tuple[Iteration, tuple[IntArray, ...]]:
    """Return several iterations side by side, each repeated one after the other.

    A repeat begins when all of the one before it has ended.

    `repeats`: how often each is done, 1 or more.

    Returns the iteration, and for each of them the operations, of no time, that end its
    repeats, in order.
    """
    parts = [
        iteration
        for iteration, times in zip(iterations, repeats, strict=True)
        for _ in range(times)
    ]
    count = sum(len(iteration.operations) for iteration in parts)
    last = np.cumsum(np.array(repeats)) + count
    ends = tuple(
        np.arange(mark - times, mark)
        for mark, times in zip(last.tolist(), repeats, strict=True)
    )
    src, dst, size = np.concatenate(list(_links(parts, ends, count)), axis=1)
    call = np.full(len(src), NO_CALL, dtype=np.int64)
    devices = max(iteration.device_count for iteration in iterations)
    links = Dependencies(src, dst, size, call)
    return Iteration(devices, _operations(parts), links, _collectives(parts)), ends


def _links(
    parts: Sequence[Iteration], ends: Sequence[IntArray], count: int
) -> Iterator[IntArray]:
    """Yield src, dst and bytes of dependencies, in columns.

    `ends`: marks of the repeats of each training, which follow `count` operations.
    """
    at, behind = 0, count + len(parts)
    marks = [(mark, place) for group in ends for place, mark in enumerate(group)]
    for iteration, (mark, repeat) in zip(parts, marks, strict=True):
        operations = np.arange(at, at + len(iteration.operations))
        collectives = np.arange(behind, behind + len(iteration.collectives))
        at, behind = at + len(operations), behind + len(collectives)
        place = np.concatenate([operations, collectives])
        rows, tasks = iteration.dependencies, np.arange(iteration.task_count)
        yield np.stack([place[rows.src], place[rows.dst], rows.bytes])
        last = place[~np.isin(tasks, rows.src)]
        yield _order(last, np.full(len(last), mark))
        if repeat:
            first = place[~np.isin(tasks, rows.dst)]
            yield _order(np.full(len(first), mark - 1), first)


def _operations(parts: Sequence[Iteration]) -> Operations:
    """Return the operations of all repeats, and a mark of no time for each end."""
    tables = [part.operations for part in parts]
    none = np.zeros(len(parts), dtype=np.int64)
    return Operations(
        (
            *(name for rows in tables for name in rows.name),
            *("end of an iteration" for _ in parts),
        ),
        np.concatenate([*(rows.device for rows in tables), none]),
        np.concatenate([*(rows.duration_ps for rows in tables), none]),
        np.concatenate([*(rows.priority for rows in tables), none]),
    )


def _collectives(parts: Sequence[Iteration]) -> Collectives:
    """Return the collectives of all repeats."""
    tables = [part.collectives for part in parts]
    return Collectives(
        tuple(op for rows in tables for op in rows.op),
        np.concatenate([rows.bytes for rows in tables]),
        Ragged.from_lengths(
            np.concatenate([rows.devices.lengths for rows in tables]),
            np.concatenate([rows.devices.values for rows in tables]),
        ),
    )


def mean_iterations_ps(
    timeline: IterationTimeline, ends: Sequence[IntArray]
) -> tuple[Fraction, ...]:
    """Return how long an iteration of each training takes while all of them run.

    The mean over the repeats that have ended when the first training has done all of
    its own, or the first repeat where none has.
    """
    times = [timeline.operations.end_ps[marks] for marks in ends]
    until = min(int(ends_ps[-1]) for ends_ps in times)
    done = [max(1, int(np.searchsorted(ends_ps, until, "right"))) for ends_ps in times]
    return tuple(
        Fraction(int(ends_ps[number - 1]), number)
        for ends_ps, number in zip(times, done, strict=True)
    )


def _order(src: IntArray, dst: IntArray) -> IntArray:
    """Return dependencies without bytes."""
    return np.stack([src, dst, np.zeros(len(src), dtype=np.int64)])
