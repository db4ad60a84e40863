"""Replay of an iteration: from event to event, computing and communicating at once."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.units import INT64_MAX, MOST_PS, PS_PER_US
from lightloom.replay.timeline import union_lengths
from lightloom.replay.workload.network import Jobs

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.iteration import Iteration, Operations
    from lightloom.replay.timeline import Reconfiguration
    from lightloom.replay.workload.network import NetworkKind


def replay_iteration(
    iteration: Iteration, network: NetworkKind, launch: Launch | None = None
) -> IterationTimeline:
    """Return when everything in an iteration happens, exact to the picosecond.

    `launch`: what operations cost beside their durations; by default a microsecond to
    launch and a microsecond at least.

    Returns same arguments, same timeline. The work is O(log n) an event, and what the
    network needs for it.

    Raises `InputError`: the iteration does not fit the network; tasks that never end,
    with what they wait for; a time beyond 63 bits.
    """
    run = _Run(iteration, network, launch or Launch())
    run.to_the_end()
    return run.timeline()


class _Run:
    """One iteration under way."""

    def __init__(
        self, iteration: Iteration, network: NetworkKind, launch: Launch
    ) -> None:
        links, operations = iteration.dependencies, iteration.operations
        moves = iteration.is_transfer
        self._iteration = iteration
        self._moving = np.flatnonzero(moves)
        jobs = Jobs(
            iteration.device_count,
            operations.device[links.src[self._moving]],
            operations.device[links.dst[self._moving]],
            links.bytes[self._moving],
            links.call[self._moving],
            iteration.collectives,
        )
        self._network = network.open(jobs)
        self._devices = Devices(iteration.device_count, operations, launch)
        self._instant = (operations.duration_ps == 0).tolist()
        self._transfers = len(self._moving)
        job_of = np.cumsum(moves) - 1
        job_of[~moves] = -1
        order = np.argsort(links.src, kind="stable")
        self._job, self._dst = job_of[order].tolist(), links.dst[order].tolist()
        tasks = iteration.task_count
        self._first = np.searchsorted(links.src[order], np.arange(tasks + 1)).tolist()
        self._dst_of_job = links.dst[self._moving].tolist()
        self._missing = np.bincount(links.dst, minlength=tasks).tolist()
        self._start, self._end = [-1] * tasks, [-1] * tasks
        self._job_end = [-1] * len(jobs)
        self._released: list[int] = []
        self._now = 0

    def to_the_end(self) -> None:
        """Go from event to event until nothing is left to happen."""
        free = [task for task, missing in enumerate(self._missing) if not missing]
        self._settle(free)
        while (now := self._next_ps()) is not None:
            if now > INT64_MAX:
                what = "the iteration lasts longer than 2**63 - 1 ps (106 days)"
                raise InputError(what, where="iteration")
            self._now = now
            ended = self._devices.ended(now)
            free = [task for operation in ended for task in self._finish(operation)]
            for job in self._network.advance(now):
                free += self._arrive(job)
            self._settle(free)
        if -1 in self._end:
            where = self._iteration.task_name(self._end.index(-1))
            what = f"the task never ends: {self._network.stalled()}"
            raise InputError(what, where=where)

    def timeline(self) -> IterationTimeline:
        """Return when everything happened."""
        iteration, count = self._iteration, len(self._iteration.operations)
        start = np.array(self._start, dtype=np.int64)
        end = np.array(self._end, dtype=np.int64)
        operations = Spans(start[:count], end[:count])
        begun = self._network.start_ps
        job_start = np.array([begun[job] for job in range(len(begun))], dtype=np.int64)
        job_end = np.array(self._job_end, dtype=np.int64)
        moved_from, moved_to = (end[iteration.dependencies.src] for _ in range(2))
        moved_from[self._moving] = job_start[: self._transfers]
        moved_to[self._moving] = job_end[: self._transfers]
        transfers = Spans(moved_from, moved_to)
        collectives = Spans(job_start[self._transfers :], job_end[self._transfers :])
        return IterationTimeline(
            iteration_ps=int(end.max(initial=0)),
            operations=operations,
            transfers=transfers,
            collectives=collectives,
            devices=device_times(iteration, operations, transfers, collectives),
            reconfigurations=self._network.reconfigurations(),
        )

    def _next_ps(self) -> int | None:
        times = (self._devices.next_ps(), self._network.next_ps())
        return min((time for time in times if time is not None), default=None)

    def _settle(self, free: list[int]) -> None:
        """Begin all that may begin now, given tasks that wait for nothing more.

        Devices choose last, when all that takes no time has ended.
        """
        self._begin(free)
        while self._network.next_ps() == self._now:
            for job in self._network.advance(self._now):
                free += self._arrive(job)
            self._begin(free)
        for operation in self._devices.launch(self._now):
            self._start[operation] = self._now

    def _begin(self, free: list[int]) -> None:
        """Queue or end operations, and ask the network for what has its data."""
        operations = len(self._iteration.operations)
        while free:
            task = free.pop()
            if task >= operations:
                self._released.append(self._transfers + task - operations)
            elif self._instant[task]:
                self._start[task] = self._now
                free += self._finish(task)
            else:
                self._devices.ready(task)
        self._network.release(self._now, sorted(self._released))
        self._released.clear()

    def _finish(self, task: int) -> list[int]:
        """End a task; return the tasks that wait for nothing more."""
        self._end[task] = self._now
        free = []
        for row in range(self._first[task], self._first[task + 1]):
            if self._job[row] >= 0:
                self._released.append(self._job[row])
            elif self._give(self._dst[row]):
                free.append(self._dst[row])
        return free

    def _arrive(self, job: int) -> list[int]:
        """End a job; return the tasks that wait for nothing more."""
        self._job_end[job] = self._now
        if job >= self._transfers:
            row = job - self._transfers
            return self._finish(len(self._iteration.operations) + row)
        dst = self._dst_of_job[job]
        return [dst] if self._give(dst) else []

    def _give(self, task: int) -> bool:
        """Give a task what it waits for; return whether it was the last thing."""
        self._missing[task] -= 1
        return not self._missing[task]


@dataclass(frozen=True)
class Launch:
    """What a device costs an operation, whatever it computes.

    An operation keeps its device for ``latency_ps + max(duration_ps, minimum_ps)``.
    The SiP-ML paper (section 4.2) sets both to a microsecond.

    `latency_ps`: from the launch to the begin of the computation, 0 to 10**15.
    `minimum_ps`: least time that a computation takes, 0 to 10**15.

    Raises `InputError`: a time out of its domain.
    """

    latency_ps: int = PS_PER_US
    minimum_ps: int = PS_PER_US

    def __post_init__(self) -> None:
        for key in ("latency_ps", "minimum_ps"):
            if not 0 <= getattr(self, key) <= MOST_PS:
                allowed = f"0 to {MOST_PS}"
                found, where = getattr(self, key), f"launch.{key}"
                raise InputError(
                    "invalid time", where=where, found=found, allowed=allowed
                )


class Devices:
    """The devices of an iteration at work; time only goes forward."""

    def __init__(self, device_count: int, rows: Operations, launch: Launch) -> None:
        self._device, self._priority = rows.device.tolist(), rows.priority.tolist()
        self._lasts = [
            launch.latency_ps + max(duration, launch.minimum_ps)
            for duration in rows.duration_ps.tolist()
        ]
        self._ready: list[list[tuple[int, int]]] = [[] for _ in range(device_count)]
        self._busy = [False] * device_count
        self._ends: list[tuple[int, int]] = []
        self._touched: set[int] = set()

    def ready(self, operation: int) -> None:
        """Queue an operation that waits for nothing but its device."""
        device = self._device[operation]
        heapq.heappush(self._ready[device], (self._priority[operation], operation))
        self._touched.add(device)

    def launch(self, now_ps: int) -> list[int]:
        """Launch what idle devices can run now; return it, sorted."""
        launched = []
        for device in self._touched:
            if not self._busy[device] and self._ready[device]:
                _, operation = heapq.heappop(self._ready[device])
                self._busy[device] = True
                end = now_ps + self._lasts[operation]
                heapq.heappush(self._ends, (end, operation))
                launched.append(operation)
        self._touched.clear()
        return sorted(launched)

    def next_ps(self) -> int | None:
        """Return when the next operation ends."""
        return self._ends[0][0] if self._ends else None

    def ended(self, now_ps: int) -> list[int]:
        """Return the operations that end now, sorted."""
        done = []
        while self._ends and self._ends[0][0] <= now_ps:
            operation = heapq.heappop(self._ends)[1]
            self._busy[self._device[operation]] = False
            self._touched.add(self._device[operation])
            done.append(operation)
        return done


@dataclass(frozen=True, eq=False)
class Spans:
    """From when to when, a row each."""

    start_ps: IntArray
    end_ps: IntArray


@dataclass(frozen=True, eq=False)
class DeviceTimes:
    """What each device does; row i is device i, shape (devices,).

    `computing_ps`: time in which an operation runs on it, its launch included.
    `communicating_ps`: time in which a transfer or collective that it takes part in is
    under way. `both_ps`: time in which both are so.
    """

    computing_ps: IntArray
    communicating_ps: IntArray
    both_ps: IntArray

    @property
    def exposed_ps(self) -> IntArray:
        """Time of communication that no computation hides."""
        return self.communicating_ps - self.both_ps


@dataclass(frozen=True, eq=False)
class IterationTimeline:
    """When everything in an iteration happens, in picoseconds from its start.

    `iteration_ps`: end of the last task; 0 where there is none. `operations`: each from
    its launch to its end, in the rows of the iteration. `transfers`: of each
    dependency: from when its data are there (or its call is served) to when the last
    byte has arrived. One that moves nothing starts and ends when `src` has ended.
    `collectives`: each from when its devices are ready (or it is served) to its end.
    `reconfigurations`: of all planes, by (start, plane); none on packet fabrics.
    """

    iteration_ps: int
    operations: Spans
    transfers: Spans
    collectives: Spans
    devices: DeviceTimes
    reconfigurations: tuple[Reconfiguration, ...]

    @property
    def communication_share(self) -> Fraction:
        """Part of the time of all devices that is communication not hidden."""
        whole = self.iteration_ps * len(self.devices.computing_ps)
        exposed = sum(self.devices.exposed_ps.tolist())
        return Fraction(exposed, whole) if whole else Fraction(0)


def device_times(
    iteration: Iteration, operations: Spans, transfers: Spans, collectives: Spans
) -> DeviceTimes:
    """Return what each device does, in O(n log n) for n rows of all spans.

    `operations`, `transfers`, `collectives`: when its rows start and end, in
    picoseconds; `transfers` has a row for each dependency, of which only those between
    devices count.
    """
    count, device = iteration.device_count, iteration.operations.device
    links, moves = iteration.dependencies, np.flatnonzero(iteration.is_transfer)
    takes_part = iteration.collectives.devices
    rows = takes_part.row_of_value
    talker = [device[links.src[moves]], device[links.dst[moves]], takes_part.values]
    begin = [transfers.start_ps[moves]] * 2 + [collectives.start_ps[rows]]
    until = [transfers.end_ps[moves]] * 2 + [collectives.end_ps[rows]]
    who, start, end = (np.concatenate(part) for part in (talker, begin, until))
    computing_ps = union_lengths(device, operations.start_ps, operations.end_ps, count)
    talking_ps = union_lengths(who, start, end, count)
    either_ps = union_lengths(
        np.concatenate([device, who]),
        np.concatenate([operations.start_ps, start]),
        np.concatenate([operations.end_ps, end]),
        count,
    )
    both_ps = computing_ps + talking_ps - either_ps
    return DeviceTimes(computing_ps, talking_ps, both_ps)
