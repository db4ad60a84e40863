"""A fabric that serves calls one by one: transfers before collectives (LUMORPH, C)."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lightloom.core.iteration import NO_CALL
from lightloom.core.task import Collective, Demand
from lightloom.replay.workload.scheduled_calls import ScheduledCalls

if TYPE_CHECKING:
    from lightloom.replay.timeline import Reconfiguration
    from lightloom.replay.workload.call_costs import CallCosts
    from lightloom.replay.workload.network import Jobs
    from lightloom.replay.workload.scheduled_calls import ServedCall


@dataclass(frozen=True)
class CallQueue:
    """One device that all communication goes through, a call at a time.

    A call is a group of transfers (`Dependencies.call`) or a collective. Transfers are
    what the LUMORPH paper names LAYERTOLAYER: the next layer waits for them. They are
    issued when all of their group have their data, and served in that order, by number
    where they are issued at once, before any collective that waits. What is being
    served is not interrupted.

    When no transfers wait, collectives are served. With ``together`` a maximal set of
    waiting collectives no two of which share a device: chosen greedily, the longest
    first, the one of the least row among equals. They begin at once, each ends after
    its own time, and the next call is served when the longest has ended. With
    ``one-by-one`` collectives go in the order of issue. With ``last`` they do so too,
    but only after all transfers of the iteration.

    `costs`: how long a call takes.
    """

    costs: CallCosts
    collectives: Literal["together", "one-by-one", "last"] = "together"

    def open(self, jobs: Jobs) -> OpenCallQueue:
        """Return the queue at time 0, with nothing in it."""
        return OpenCallQueue(self, jobs)


class OpenCallQueue:
    """Calls that wait, and those that are being served."""

    def __init__(self, kind: CallQueue, jobs: Jobs) -> None:
        self.start_ps: dict[int, int] = {}
        self._kind, self._jobs = kind, jobs
        self._transfers = len(jobs.src)
        self._call_of, self._members = _calls(jobs)
        self._missing = [len(members) for members in self._members]
        self._unserved = len(self._members)
        self._lasts_ps: dict[int, int] = {}
        self._calls: list[tuple[int, int]] = []
        self._collectives: list[tuple[int, int]] = []
        self._serving: list[tuple[int, int]] = []
        costs = kind.costs
        self._server = costs.open() if isinstance(costs, ScheduledCalls) else None

    def release(self, now_ps: int, jobs: list[int]) -> None:
        """Issue calls that have their data and collectives; serve what is next."""
        for job in jobs:
            if job >= self._transfers:
                heapq.heappush(self._collectives, (now_ps, job))
                continue
            call = self._call_of[job]
            self._missing[call] -= 1
            if not self._missing[call]:
                heapq.heappush(self._calls, (now_ps, call))
        if self._serving:
            return
        if self._calls:
            self._serve_transfers(now_ps, self._next_calls())
        elif self._collectives and (self._kind.collectives != "last" or self._no_more):
            self._serve_collectives(now_ps, self._next_collectives())

    def next_ps(self) -> int | None:
        """Return when something that is being served ends."""
        return self._serving[0][0] if self._serving else None

    def advance(self, now_ps: int) -> list[int]:
        """Move on to now; return the jobs that ended."""
        done = []
        while self._serving and self._serving[0][0] <= now_ps:
            done.append(heapq.heappop(self._serving)[1])
        return sorted(done)

    def stalled(self) -> str:
        """Say what the jobs that never ended wait for."""
        for call, missing in enumerate(self._missing):
            members = self._members[call]
            if 0 < missing < len(members):
                name = self._jobs.name(members[0])
                return f"the call of {name} has transfers that come after it"
        return "tasks wait for each other"

    def reconfigurations(self) -> tuple[Reconfiguration, ...]:
        """Return none: the time of a call includes that of its circuits."""
        return ()

    @property
    def served(self) -> tuple[ServedCall, ...]:
        """The schedules that ran so far, in order, where calls are schedules."""
        return () if self._server is None else tuple(self._server.served)

    @property
    def _no_more(self) -> bool:
        """Whether all calls of transfers have been served."""
        return not self._unserved

    def _next_calls(self) -> list[int]:
        """Take the calls of transfers that are served next out of those that wait."""
        if self._server is None:
            return [heapq.heappop(self._calls)[1]]
        taken = [call for _, call in sorted(self._calls)]
        self._calls.clear()
        return taken

    def _serve_transfers(self, now_ps: int, calls: list[int]) -> None:
        jobs = self._jobs
        members = [job for call in calls for job in self._members[call]]
        rows = [
            (int(jobs.src[job]), int(jobs.dst[job]), int(jobs.bytes[job]))
            for job in members
        ]
        demand = Demand.from_rows(rows)
        if self._server is None:
            lasts = self._kind.costs.transfers_ps(demand)
        else:
            [lasts] = self._server.serve(now_ps, [demand])
        self._unserved -= len(calls)
        for job in members:
            self._serve(now_ps, job, lasts)

    def _serve_collectives(self, now_ps: int, jobs: list[int]) -> None:
        """Begin collectives that share no device."""
        asked = [self._task(job) for job in jobs]
        tasks = [task for task in asked if task is not None]
        if self._server is None or not tasks:
            lasts = [self._lasts(job) for job in jobs]
        else:
            found = iter(self._server.serve(now_ps, tasks))
            lasts = [0 if task is None else next(found) for task in asked]
        for job, lasts_ps in zip(jobs, lasts, strict=True):
            self._serve(now_ps, job, lasts_ps)

    def _task(self, job: int) -> Collective | None:
        """Return a collective as a task, ``None`` where it moves nothing."""
        rows, devices = self._jobs.collectives, self._devices(job)
        row = job - self._transfers
        size_bytes = int(rows.bytes[row])
        if len(devices) == 1 or not size_bytes:
            return None
        return Collective(rows.op[row], tuple(devices), size_bytes)

    def _serve(self, now_ps: int, job: int, lasts_ps: int) -> None:
        self.start_ps[job] = now_ps
        heapq.heappush(self._serving, (now_ps + lasts_ps, job))

    def _next_collectives(self) -> list[int]:
        """Take what is served next out of the collectives that wait."""
        if self._kind.collectives != "together":
            return [heapq.heappop(self._collectives)[1]]
        waiting = [job for _, job in self._collectives]
        waiting.sort(key=lambda job: (-self._lasts(job), job))
        busy: set[int] = set()
        taken = []
        for job in waiting:
            devices = self._devices(job)
            if busy.isdisjoint(devices):
                busy.update(devices)
                taken.append(job)
        chosen = set(taken)
        left = [entry for entry in self._collectives if entry[1] not in chosen]
        heapq.heapify(left)
        self._collectives = left
        return taken

    def _devices(self, job: int) -> list[int]:
        row = job - self._transfers
        devices: list[int] = self._jobs.collectives.devices[row].tolist()
        return devices

    def _lasts(self, job: int) -> int:
        """Return how long a collective takes, in picoseconds."""
        if job not in self._lasts_ps:
            rows, row = self._jobs.collectives, job - self._transfers
            self._lasts_ps[job] = self._kind.costs.collective_ps(
                rows.op[row], rows.devices[row], int(rows.bytes[row])
            )
        return self._lasts_ps[job]


def _calls(jobs: Jobs) -> tuple[list[int], list[list[int]]]:
    """Return the call of each transfer, and the transfers of each call.

    Calls are numbered in the order of their first transfers.
    """
    call_of: list[int] = []
    members: list[list[int]] = []
    number: dict[int, int] = {}
    for job, call in enumerate(jobs.call.tolist()):
        if call == NO_CALL or call not in number:
            number[call] = len(members)
            members.append([])
        call_of.append(number[call])
        members[number[call]].append(job)
    return call_of, members
