"""The schedules of the calls of an iteration: synthesised once, used again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.fabric import PacketFabric
from lightloom.core.schedule import Algorithm, FluidTransfers, Schedule, StepPart
from lightloom.core.task import Collective, Demand, Task
from lightloom.instances.collectives import op_of
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.instance import Instance
from lightloom.replay.workload.call_queue import Interned
from lightloom.synth.auto import AUTO
from lightloom.synth.fabrics import plug_of, realiser_of
from lightloom.synth.joint_schedule import joint_schedule
from lightloom.synth.publish import signed
from lightloom.synth.synthesise import synthesise
from lightloom.training.iteration import pair_demand
from lightloom.training.limits import LIMITS
from lightloom.training.node_layout import NodeLayout, require_room

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from lightloom.core.iteration import Iteration
    from lightloom.core.schedule import SealedSchedule, Segment
    from lightloom.instances.instance import AnyFabric
    from lightloom.replay.workload.call_queue import ServedCall
    from lightloom.synth.fabrics.realiser import Realiser
    from lightloom.training.strategy import Strategy
    from lightloom.training.training_plan import ReplayedIteration, TrainingRequest


_Kind: TypeAlias = tuple[str, int, int]
"""Operation, ranks and buffer of a collective."""


@dataclass(eq=False)
class CallSchedules:
    """What `synthesise` makes of calls, kept by group and size.

    A schedule moves any number of bytes over the same circuits in the same steps, its
    chunks larger or smaller; replay says how long that takes. So collectives are
    synthesised at the sizes of a ladder, each sixteen times the one before, and a
    collective is offered those of the rungs below and above it with its own bytes.
    In an iteration with no more than four kinds of them, by operation, ranks and
    buffer, each is synthesised for just its size (`asked`).

    `algorithm`: of collectives: ``auto``, or a name. Transfers are demands, always
    ``auto``.
    """

    fabric: AnyFabric
    algorithm: str = AUTO
    seed: int = 0
    _made: dict[Task, Schedule] = field(default_factory=dict)
    _offered: dict[tuple[Task, ...], tuple[Schedule, ...]] = field(default_factory=dict)
    _exact: frozenset[_Kind] = frozenset()
    _rounds: Realiser[Any] | None = None

    def asked(
        self, iteration: Iteration, every: Callable[[Task], tuple[Task, ...]]
    ) -> CallSchedules:
        """Return schedules for an iteration, which share what is made with these."""
        rows = iteration.collectives
        kinds: set[_Kind] = set()
        for op, size, devices in zip(
            rows.op, rows.bytes.tolist(), rows.devices.to_lists(), strict=True
        ):
            if size and len(devices) > 1 and len(kinds) <= LIMITS.exact_kinds:
                first, *_ = every(Collective(op, tuple(devices), size))
                assert isinstance(first, Collective)
                kinds.add(_kind(first))
        shared = CallSchedules(self.fabric, self.algorithm, self.seed)
        shared._made, shared._rounds = self._made, self._realiser()
        shared._exact = frozenset(kinds if len(kinds) <= LIMITS.exact_kinds else ())
        return shared

    def schedules(self, tasks: tuple[Task, ...]) -> tuple[Schedule, ...]:
        """Return schedules that serve all of some tasks at once.

        Raises
        ------
        InputError, InfeasibleError, NoAnswerError
            The fabric does not serve one of them.
        """
        if tasks not in self._offered:
            if len(tasks) > 1:
                self._offered[tasks] = self._joint(tasks)
            elif isinstance(tasks[0], Demand):
                self._offered[tasks] = self._of_demand(tasks[0])
            else:
                self._offered[tasks] = self._of_collective(tasks[0])
        return self._offered[tasks]

    def _realiser(self) -> Realiser[Any] | None:
        if self._rounds is None and plug_of(self.fabric).realiser is not None:
            self._rounds = realiser_of(self.fabric, self.seed)
        return self._rounds

    def _joint(self, tasks: tuple[Task, ...]) -> tuple[Schedule, ...]:
        """Return schedules of several collectives by the algorithms of single ones.

        Those of a kind all have the algorithm of the first.
        """
        realiser, first = self._realiser(), dict[_Kind, tuple[Schedule, ...]]()
        if realiser is None:
            return ()
        collectives = [task for task in tasks if isinstance(task, Collective)]
        for task in collectives:
            if _kind(task) not in first:
                first[_kind(task)] = self.schedules((task,))
        schedules = []
        for place in range(max(map(len, first.values()))):
            several = []
            for task in collectives:
                model = first[_kind(task)][min(place, len(first[_kind(task)]) - 1)]
                assert isinstance(model.task, Collective)
                own = msgspec.structs.replace(model.task, nodes=task.nodes)
                several.append((own, model.algorithm))
            schedules.append(joint_schedule(several, realiser))
        return tuple(schedule for schedule in schedules if schedule is not None)

    def _of_demand(self, demand: Demand) -> tuple[Schedule, ...]:
        """Return the schedule of a demand, or of an alike one with its bytes."""
        most = max(demand.bytes)
        rung = _ladder(most)[-1]
        if min(demand.bytes) == most != rung:
            like = msgspec.structs.replace(demand, bytes=(rung,) * len(demand.bytes))
            refilled = _refilled(self._synthesised(like, AUTO), demand)
            if refilled is not None:
                return (refilled,)
        return (self._synthesised(demand, AUTO),)

    def _of_collective(self, task: Collective) -> tuple[Schedule, ...]:
        blocks = task.rank_count if op_of(task).uses_blocks else 1
        size = -(-task.buffer_bytes // blocks) * blocks
        schedules = []
        if _kind(task) in self._exact:
            own = msgspec.structs.replace(task, buffer_bytes=size)
            schedules.append(self._synthesised(own, self.algorithm))
        else:
            rank_bytes = -(-size // task.rank_count)
            for rung in _ladder(rank_bytes):
                like = msgspec.structs.replace(
                    task, buffer_bytes=rung * task.rank_count
                )
                schedule = self._synthesised(like, self.algorithm)
                schedules.append(_resized(schedule, size))
        return tuple(schedules)

    def _synthesised(self, task: Task, algorithm: str) -> Schedule:
        if task not in self._made:
            instance = Instance(self.fabric, task)
            try:
                incumbent = synthesise(instance, algorithm, seed=self.seed).incumbent
            except InputError as problem:
                what = f"the fabric does not serve a call: {problem.what}"
                raise InfeasibleError(
                    what, where=problem.where, found=problem.found, fix=problem.fix
                ) from None
            assert incumbent is not None
            self._made[task] = incumbent.schedule
        return self._made[task]


def _kind(task: Collective) -> _Kind:
    return task.op, task.rank_count, task.buffer_bytes


def _ladder(each_bytes: int) -> tuple[int, ...]:
    """Return the rungs below and above a size, or the one that it is."""
    rung, rungs = LIMITS.base_bytes, [LIMITS.base_bytes]
    while rung < each_bytes:
        rung *= LIMITS.factor
        rungs.append(rung)
    return tuple(rungs[-1:] if rung == each_bytes else rungs[-2:])


def _resized(schedule: Schedule, size_bytes: int) -> Schedule:
    """Return a schedule whose chunks are such that they hold a buffer just."""
    task = schedule.task
    assert isinstance(task, Collective)
    chunks = task.chunk_count
    padded = -(-size_bytes // chunks) * chunks
    own = msgspec.structs.replace(task, buffer_bytes=padded)
    return Schedule(
        schedule.fabric, own, schedule.algorithm, schedule.segments, schedule.parts
    )


def _refilled(schedule: Schedule, demand: Demand) -> Schedule | None:
    """Return a schedule of one transfer a pair with the bytes of a like demand."""
    [size] = set(demand.bytes)
    if schedule.transfer_count != len(demand.src):
        return None
    parts = [
        replace(
            part,
            transfers=FluidTransfers(
                part.transfers.src,
                part.transfers.dst,
                np.full(len(part.transfers), size, dtype=np.int64),
            ),
        )
        for part in schedule.parts
    ]
    return Schedule(
        schedule.fabric, demand, schedule.algorithm, schedule.segments, tuple(parts)
    )


_FEW = 2
"""Replicas that stand for all where calls are served one by one."""


@dataclass(frozen=True)
class AllReplicas:
    """The calls of all replicas, where the first two stand for them.

    All replicas do the same at the same times, so what one asks for, all do: their
    transfers are one demand, and their collectives begin together.

    `nodes`: of each replica in truth: the nodes of its devices.
    """

    nodes: tuple[tuple[int, ...], ...]

    def __call__(self, task: Task) -> tuple[Task, ...]:
        """Return a task of the first two replicas as tasks of all, without repeats.

        `task`: transfers within the two, a collective within one of them, or a
        collective of devices and their twins.
        """
        place = {
            node: (replica, device)
            for replica, row in enumerate(self.nodes[:_FEW])
            for device, node in enumerate(row)
        }
        if isinstance(task, Demand):
            rows = [
                (place[src][1], place[dst][1], size)
                for src, dst, size in zip(task.src, task.dst, task.bytes, strict=True)
                if place[src][0] == 0
            ]
            every = [
                (row[src], row[dst], size)
                for row in self.nodes
                for src, dst, size in rows
            ]
            return (Demand.from_rows(every),)
        replicas = {place[node][0] for node in task.nodes}
        devices = dict.fromkeys(place[node][1] for node in task.nodes)
        if len(replicas) > 1:
            groups = [tuple(row[device] for row in self.nodes for device in devices)]
        else:
            groups = [tuple(row[device] for device in devices) for row in self.nodes]
        return tuple(Collective(task.op, group, task.buffer_bytes) for group in groups)


def call_layout(
    fabric: AnyFabric, strategy: Strategy, nodes: Sequence[int] | None
) -> NodeLayout:
    """Return where replicas stand where circuits are set for every call.

    One after another, along the nodes as they are numbered: any two of them can be
    joined.

    Raises `InputError`: fewer nodes than devices.
    """
    taken = range(fabric.node_count) if nodes is None else nodes
    require_room(strategy, len(taken))
    k = strategy.model_parallel
    rows = tuple(
        tuple(taken[first : first + k]) for first in range(0, strategy.devices, k)
    )
    return NodeLayout(fabric, rows, (strategy.replicas,))


def calls_demand(calls: Sequence[ServedCall]) -> Demand:
    """Return the bytes that each pair of nodes exchanges in some calls."""
    none = np.empty(0, dtype=np.int64)
    src, dst, size = [none], [none], [none]
    for call in calls:
        for part in call.schedule.parts:
            src.append(part.transfers.src)
            dst.append(part.transfers.dst)
            size.append(call.schedule.transfer_bytes(part))
    return pair_demand(np.concatenate(src), np.concatenate(dst), np.concatenate(size))


def few_replicas(layout: NodeLayout, *, whole: bool) -> NodeLayout:
    """Return where the replicas stand that are replayed for all."""
    nodes = layout.nodes if whole else layout.nodes[:_FEW]
    return NodeLayout(layout.fabric, nodes, (layout.replicas,))


def with_control(fabric: AnyFabric, request: TrainingRequest) -> AnyFabric:
    """Return a fabric with the times of its controller and of synchronisation.

    A controller makes each reconfiguration longer, and a step begins when all nodes
    have met: both are what the fabric's delay and alpha are.
    """
    if isinstance(fabric, PacketFabric):
        return fabric
    more = request.controller_ps, request.synchronisation_ps
    if not any(more):
        return fabric
    table = {
        **fabric.table(),
        "reconfiguration_ps": fabric.reconfiguration_ps + more[0],
        "alpha_ps": fabric.alpha_ps + more[1],
    }
    return load_fabric(table)


def iteration_schedule(plan: ReplayedIteration, seed: int = 0) -> SealedSchedule:
    """Return the circuits and transfers of an iteration in the order of its calls.

    What moves is stated as a demand: bytes of each pair. A call goes on with what the
    one before it left where that is what it begins with. The completion time is that
    of all calls without a pause: computation between them is not in it.

    `plan`: of a training, or the replay of a recorded iteration, whose circuits were
    set for each call.

    Raises `InputError`: circuits that stay for the iteration, or no call in it.
    """
    if not plan.calls:
        what = "an iteration without calls that circuits are set for"
        fix = "set circuits for each call, on two devices or more"
        raise InputError(what, where="circuits", found=plan.circuits, fix=fix)
    equal = Interned()
    segments: list[Segment] = []
    parts: list[StepPart] = []
    last: dict[int, Segment] = {}
    steps = 0
    for call in plan.calls:
        number: dict[tuple[int, int], int] = {}
        for segment in call.schedule.segments:
            before = last.get(segment.plane)
            same = before and equal(before.circuits) is equal(segment.circuits)
            if before is None or segment.index or not same:
                index = 0 if before is None else before.index + 1
                last[segment.plane] = replace(segment, index=index)
                segments.append(last[segment.plane])
            number[segment.plane, segment.index] = last[segment.plane].index
        for part in call.schedule.parts:
            moved = part.transfers
            size = np.asarray(call.schedule.transfer_bytes(part), dtype=np.int64)
            transfers = FluidTransfers(moved.src, moved.dst, size)
            place = part.segment
            if part.plane is not None and place is not None:
                place = number[part.plane, place]
            parts.append(StepPart(steps + part.index, part.plane, place, transfers))
        steps += call.schedule.step_count
    fabric = plan.fabric
    by = Algorithm("training", {"calls": len(plan.calls)}, seed)
    schedule = Schedule(fabric.table(), plan.demand, by, tuple(segments), tuple(parts))
    return signed(schedule, Instance(fabric, plan.demand))
