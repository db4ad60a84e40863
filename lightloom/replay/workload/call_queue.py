"""A fabric that serves calls one by one: transfers before collectives (LUMORPH, C)."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from lightloom.core.circuit import COLUMNS
from lightloom.core.iteration import NO_CALL
from lightloom.core.schedule import Segment, StepPart
from lightloom.core.task import Collective, Demand, Task
from lightloom.replay.execute import completion_time_ps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule
    from lightloom.replay.timeline import Reconfiguration
    from lightloom.replay.workload.network import Jobs


class CallCosts(Protocol):
    """How long calls take; the same call takes the same time."""

    def transfers_ps(self, demand: Demand) -> int:
        """Return how long transfers take that are issued together."""

    def collective_ps(self, op: str, devices: IntArray, size_bytes: int) -> int:
        """Return how long a collective of a full buffer of `size_bytes` takes.

        Parameters
        ----------
        op
            Name of the operation, as in an instance file.
        devices
            Who takes part, in rank order, shape (ranks,).
        size_bytes
            The full buffer, as in docs/spec/semantics.md.
        """


@dataclass(frozen=True)
class CallQueue:
    """One device that all communication goes through, a call at a time.

    A call is a group of transfers (`Dependencies.call`) or a collective. Transfers are
    what the LUMORPH paper names LAYERTOLAYER: the next layer waits for them. They are
    issued when all of their group have their data, and served in that order, by number
    where they are issued at once, before any collective that waits. What is being
    served is not interrupted.

    When no transfers wait, a maximal set of waiting collectives no two of which share a
    device is served: chosen greedily, the longest first, the one of the least row among
    equals. They begin at once, each ends after its own time, and the next call is
    served when the longest has ended.

    `costs`: how long a call takes.
    """

    costs: CallCosts

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
        self._lasts_ps: dict[int, int] = {}
        self._calls: list[tuple[int, int]] = []
        self._collectives: list[int] = []
        self._serving: list[tuple[int, int]] = []
        costs = kind.costs
        self._server = costs.open() if isinstance(costs, ScheduledCalls) else None

    def release(self, now_ps: int, jobs: list[int]) -> None:
        """Issue calls that have their data and collectives; serve what is next."""
        for job in jobs:
            if job >= self._transfers:
                self._collectives.append(job)
                continue
            call = self._call_of[job]
            self._missing[call] -= 1
            if not self._missing[call]:
                heapq.heappush(self._calls, (now_ps, call))
        if self._serving:
            return
        if self._calls:
            self._serve_transfers(now_ps, self._next_calls())
        elif self._collectives:
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
        for job in members:
            self._serve(now_ps, job, lasts)

    def _serve_collectives(self, now_ps: int, jobs: list[int]) -> None:
        """Begin collectives that share no device."""
        tasks_of_jobs = [self._task(job) for job in jobs]
        tasks = [task for task in tasks_of_jobs if task is not None]
        if self._server is None or not tasks:
            lasts = [self._lasts(job) for job in jobs]
        else:
            served_ps = iter(self._server.serve(now_ps, tasks))
            lasts = [0 if task is None else next(served_ps) for task in tasks_of_jobs]
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
        busy: set[int] = set()
        taken = []
        for job in sorted(self._collectives, key=lambda job: (-self._lasts(job), job)):
            devices = self._devices(job)
            if busy.isdisjoint(devices):
                busy.update(devices)
                taken.append(job)
        self._collectives = [job for job in self._collectives if job not in taken]
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


Held: TypeAlias = "dict[int, Circuits]"
"""What each plane holds; equal circuits are the same object."""


class CallSource(Protocol):
    """Where the schedules of calls come from; the same tasks, the same schedules."""

    def schedules(self, tasks: tuple[Task, ...]) -> tuple[Schedule, ...]:
        """Return schedules that serve all of some tasks at once.

        Parameters
        ----------
        tasks
            One task, or several that share no node.

        Returns
        -------
        One or more for a single task; perhaps none for several. Each moves what is
        asked, and perhaps more: buffers may be padded to whole chunks.
        """


@dataclass(frozen=True, eq=False)
class ServedCall:
    """A schedule that was run, and when it began.

    `schedule`: what ran, without what the fabric held before.
    """

    start_ps: int
    schedule: Schedule


class Interned:
    """Equal circuits as one object: calling it returns the first of them."""

    def __init__(self) -> None:
        self._first: dict[bytes, Circuits] = {}
        self._known: dict[int, tuple[Circuits, Circuits]] = {}

    def __call__(self, circuits: Circuits) -> Circuits:
        """Return the first circuits given here that equal these."""
        if id(circuits) not in self._known:
            first = self._first.setdefault(_content(circuits), circuits)
            # Circuits are kept, so that no others get their id.
            self._known[id(circuits)] = first, circuits
        return self._known[id(circuits)][0]


def alone(task: Task) -> tuple[Task, ...]:
    """Return a task as the only one that is served for it."""
    return (task,)


@dataclass(frozen=True, eq=False)
class ScheduledCalls:
    """Calls that take what a schedule takes from the circuits held before it.

    Where a plane holds the first segment of a schedule already, nothing is set; where
    it holds something else, it is set anew and the fabric's delay is paid, as between
    two segments of one schedule. The first call finds the planes dark, and pays where
    the fabric charges for its first configuration. Of several schedules for a call the
    one is taken that ends first, and among equals the first; transfers may also stay
    on the circuits that are held, where these serve all of their pairs.

    `source`: where schedules come from; all are of one fabric. `every`: returns what is
    truly served for a task, tasks that share no node: itself, or what all replicas do
    where a few stand for them.
    """

    source: CallSource
    every: Callable[[Task], tuple[Task, ...]] = alone
    _alone_ps: dict[object, int] = field(default_factory=dict)
    _lasts_ps: dict[tuple[int, tuple[tuple[int, int], ...]], int] = field(
        default_factory=dict
    )
    _stays: dict[tuple[int, int], Schedule | None] = field(default_factory=dict)
    _kept: list[object] = field(default_factory=list)
    same: Interned = field(default_factory=Interned)

    def transfers_ps(self, demand: Demand) -> int:
        """Return the least completion time, from dark planes."""
        return self.alone_ps(self.every(demand)[0])

    def collective_ps(self, op: str, devices: IntArray, size_bytes: int) -> int:
        """Return the least completion time, from dark planes."""
        if len(devices) == 1 or not size_bytes:
            return 0
        nodes = tuple(np.asarray(devices).tolist())
        return self.alone_ps(self.every(Collective(op, nodes, size_bytes))[0])

    def alone_ps(self, task: Task) -> int:
        """Return the least completion time of a task from dark planes.

        Collectives of as many nodes, of one operation and buffer, are taken to last as
        long as the first of them that was asked for.
        """
        key: object = task
        if isinstance(task, Collective):
            key = task.op, task.rank_count, task.buffer_bytes
        if key not in self._alone_ps:
            schedules = self.source.schedules((task,))
            self._alone_ps[key] = min(self._replayed_ps(one, {}) for one in schedules)
        return self._alone_ps[key]

    def open(self) -> CallServer:
        """Return the fabric at the begin of an iteration, its planes dark."""
        return CallServer(self)

    def offered(
        self, tasks: tuple[Task, ...], held: Held
    ) -> list[tuple[int, Schedule]]:
        """Return schedules that serve tasks at once, and how long each takes."""
        offers = []
        for schedule in self.source.schedules(tasks):
            offers.append((self._replayed_ps(schedule, held), schedule))
            stays = self._staying(schedule, held)
            if stays is not None:
                offers.append((self._replayed_ps(stays, held), stays))
        return offers

    def _replayed_ps(self, schedule: Schedule, held: Held) -> int:
        planes = sorted({segment.plane for segment in schedule.segments})
        state = [(plane, id(held[plane])) for plane in planes if plane in held]
        key = id(schedule), tuple(state)
        if key not in self._lasts_ps:
            self._kept.append(schedule)
            held_before = {plane: held[plane] for plane, _ in state}
            run = behind(schedule, held_before, self.same) if held_before else schedule
            self._lasts_ps[key] = completion_time_ps(run)
        return self._lasts_ps[key]

    def _staying(self, schedule: Schedule, held: Held) -> Schedule | None:
        """Return a schedule on what its only plane holds, if that serves it."""
        planes = {segment.plane for segment in schedule.segments}
        if len(planes) != 1 or not planes <= held.keys():
            return None
        [plane] = planes
        key = id(schedule), id(held[plane])
        if key not in self._stays:
            self._kept.append(schedule)
            self._stays[key] = _on_held(schedule, plane, held[plane])
        return self._stays[key]


class CallServer:
    """The circuits of a fabric from call to call.

    `served`: every schedule that ran, in order.
    """

    def __init__(self, calls: ScheduledCalls) -> None:
        self.served: list[ServedCall] = []
        self._calls = calls
        self._held: Held = {}

    def serve(self, now_ps: int, tasks: Sequence[Task]) -> list[int]:
        """Run tasks that share no node; return how long each takes from now.

        All at once where a schedule serves them so and is no slower than what they
        take alone, added up; else one behind the other.
        """
        groups = [self._calls.every(task) for task in tasks]
        served = tuple({task: None for group in groups for task in group})
        if len(served) > 1:
            joint = self._calls.offered(served, self._held)
            if joint:
                lasts_ps, schedule = min(joint, key=lambda each: each[0])
                if lasts_ps <= sum(map(self._calls.alone_ps, served)):
                    self._run(now_ps, schedule)
                    return [lasts_ps] * len(tasks)
        ends: dict[Task, int] = {}
        end_ps = 0
        for task in served:
            offered = self._calls.offered((task,), self._held)
            lasts_ps, schedule = min(offered, key=lambda each: each[0])
            self._run(now_ps + end_ps, schedule)
            end_ps += lasts_ps
            ends[task] = end_ps
        return [max(ends[task] for task in group) for group in groups]

    def _run(self, now_ps: int, schedule: Schedule) -> None:
        self.served.append(ServedCall(now_ps, schedule))
        for segment in schedule.segments:
            self._held[segment.plane] = self._calls.same(segment.circuits)


def behind(
    schedule: Schedule,
    held: Mapping[int, Circuits],
    same: Callable[[Circuits], Circuits],
) -> Schedule:
    """Return a schedule that begins with planes that hold something, at no cost.

    A plane that holds the first segment goes on with it; another one first has a
    segment of what it holds (none of its own: of nothing), and pays for the next.

    `held`: what planes hold, by plane; a plane that is left out is dark.
    """
    charged = schedule.fabric["initial_configuration_charged"]
    first = {each.plane: each.circuits for each in reversed(schedule.segments)}
    before: dict[int, Circuits] = {}
    for plane, circuits in first.items():
        if plane in held and same(circuits) is not held[plane]:
            before[plane] = held[plane]
        elif plane not in held and charged:
            before[plane] = circuits.take(np.empty(0, dtype=np.int64))
    segments = [Segment(plane, 0, lit) for plane, lit in sorted(before.items())]
    segments += [
        replace(each, index=each.index + (each.plane in before))
        for each in schedule.segments
    ]
    parts = [
        replace(part, segment=part.segment + (part.plane in before))
        if part.segment is not None
        else part
        for part in schedule.parts
    ]
    return replace(
        schedule,
        fabric={**schedule.fabric, "initial_configuration_charged": False},
        segments=tuple(segments),
        parts=tuple(parts),
    )


def settings(calls: Sequence[ServedCall]) -> int:
    """Return how often planes are set in calls one after another.

    A call that begins with what the one before it left sets nothing.
    """
    equal, count = Interned(), 0
    held: Held = {}
    for call in calls:
        for segment in call.schedule.segments:
            circuits = equal(segment.circuits)
            stays = segment.index == 0 and held.get(segment.plane) is circuits
            count += not stays
            held[segment.plane] = circuits
    return count


def _on_held(schedule: Schedule, plane: int, lit: Circuits) -> Schedule | None:
    """Return the steps of a schedule on circuits, if these serve all of its pairs."""
    width = 1 + max(int(lit.src.max(initial=0)), int(lit.dst.max(initial=0)))
    pairs = lit.src * width + lit.dst
    parts: list[StepPart] = []
    for part in schedule.parts:
        moved = part.transfers
        again = bool(parts) and parts[-1].index == part.index
        inside = max(int(moved.src.max(initial=0)), int(moved.dst.max(initial=0)))
        if again or inside >= width:
            return None
        if not np.isin(moved.src * width + moved.dst, pairs).all():
            return None
        parts.append(StepPart(part.index, plane, 0, moved))
    segments = (Segment(plane, 0, lit),)
    return replace(schedule, segments=segments, parts=tuple(parts))


def _content(circuits: Circuits) -> bytes:
    """Return what tells circuits from others."""
    columns = [circuits.src, circuits.dst]
    for each in COLUMNS:
        values = getattr(circuits, each.name)
        if values is None:
            columns.append(np.full(1, -2, dtype=np.int64))
        elif each.ragged:
            columns += [values.offsets, values.values]
        else:
            columns.append(values)
    return b"".join(
        len(part).to_bytes(8, "little") + part.tobytes() for part in columns
    )
