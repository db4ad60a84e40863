"""The schedules of the calls of an iteration: synthesised once, used again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.schedule import FluidTransfers, Schedule
from lightloom.core.task import Collective, Demand, Task
from lightloom.instances.collectives import op_of
from lightloom.instances.instance import Instance
from lightloom.synth.auto.search import AUTO
from lightloom.synth.fabrics import plug_of, realiser_of
from lightloom.synth.joint_schedule import joint_schedule
from lightloom.synth.synthesise import synthesise

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lightloom.core.iteration import Iteration
    from lightloom.instances.instance import AnyFabric
    from lightloom.synth.fabrics.realiser import Realiser

_FACTOR = 16
"""Sizes up to so many times apart lie between two sizes of the ladder."""
_BASE = 5040
"""Bytes of a rank at the foot of the ladder: 2 to 10 divide them."""
_FEW_KINDS = 4
"""Kinds of collectives in an iteration up to which each has its own synthesis."""

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
            if size and len(devices) > 1 and len(kinds) <= _FEW_KINDS:
                first, *_ = every(Collective(op, tuple(devices), size))
                assert isinstance(first, Collective)
                kinds.add(_kind(first))
        shared = CallSchedules(self.fabric, self.algorithm, self.seed)
        shared._made, shared._rounds = self._made, self._realiser()
        shared._exact = frozenset(kinds if len(kinds) <= _FEW_KINDS else ())
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
        asked = [task for task in tasks if isinstance(task, Collective)]
        for task in asked:
            if _kind(task) not in first:
                first[_kind(task)] = self.schedules((task,))
        found = []
        for place in range(max(map(len, first.values()))):
            several = []
            for task in asked:
                model = first[_kind(task)][min(place, len(first[_kind(task)]) - 1)]
                assert isinstance(model.task, Collective)
                own = msgspec.structs.replace(model.task, nodes=task.nodes)
                several.append((own, model.algorithm))
            found.append(joint_schedule(several, realiser))
        return tuple(one for one in found if one is not None)

    def _of_demand(self, demand: Demand) -> tuple[Schedule, ...]:
        """Return the schedule of a demand, or of an alike one with its bytes."""
        most = max(demand.bytes)
        rung = _ladder(most)[-1]
        if min(demand.bytes) == most != rung:
            like = msgspec.structs.replace(demand, bytes=(rung,) * len(demand.bytes))
            made = _refilled(self._synthesised(like, AUTO), demand)
            if made is not None:
                return (made,)
        return (self._synthesised(demand, AUTO),)

    def _of_collective(self, task: Collective) -> tuple[Schedule, ...]:
        blocks = task.rank_count if op_of(task).uses_blocks else 1
        size = -(-task.buffer_bytes // blocks) * blocks
        found = []
        if _kind(task) in self._exact:
            own = msgspec.structs.replace(task, buffer_bytes=size)
            found.append(self._synthesised(own, self.algorithm))
        else:
            each = -(-size // task.rank_count)
            for rung in _ladder(each):
                like = msgspec.structs.replace(
                    task, buffer_bytes=rung * task.rank_count
                )
                made = self._synthesised(like, self.algorithm)
                found.append(_resized(made, size))
        return tuple(found)

    def _synthesised(self, task: Task, algorithm: str) -> Schedule:
        if task not in self._made:
            instance = Instance(self.fabric, task)
            try:
                found = synthesise(instance, algorithm, seed=self.seed).incumbent
            except InputError as problem:
                what = f"the fabric does not serve a call: {problem.what}"
                raise InfeasibleError(
                    what, where=problem.where, found=problem.found, fix=problem.fix
                ) from None
            assert found is not None
            self._made[task] = found.schedule
        return self._made[task]


def _kind(task: Collective) -> _Kind:
    return task.op, task.rank_count, task.buffer_bytes


def _ladder(each_bytes: int) -> tuple[int, ...]:
    """Return the rungs below and above a size, or the one that it is."""
    rung, rungs = _BASE, [_BASE]
    while rung < each_bytes:
        rung *= _FACTOR
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
