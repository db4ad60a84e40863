"""Replay of an iteration: from event to event, computing and communicating at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.replay.clock.transfer_rows import INT64_MAX
from lightloom.replay.workload.devices import Devices, Launch
from lightloom.replay.workload.network import Jobs
from lightloom.replay.workload.timeline import IterationTimeline, Spans, device_times

if TYPE_CHECKING:
    from lightloom.core.iteration import Iteration
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
