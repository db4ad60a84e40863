"""A thread block of an execution plan of MSCCL++: its operations, one after another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from lightloom.core.chunk_program import (
    RECEIVES,
    SENDS,
)
from lightloom.validate.programs.plan_form import MOST_SEMAPHORES

if TYPE_CHECKING:
    from lightloom.core.chunk_program import Instruction, Place


_Operation: TypeAlias = dict[str, object]


@dataclass(eq=False)
class PlanItem:
    """A step of a program that does something, with all that it waits for.

    `step`: its number among all steps. `waits`: steps of the same GPU that must have
    ended. `acquires`, `releases`: semaphores, once they are given out.
    """

    step: int
    waits: list[int]
    acquires: list[int] = field(default_factory=list)
    releases: list[int] = field(default_factory=list)


@dataclass(eq=False)
class PlanPiece:
    """Items of a program's thread block that fit in one of a plan.

    `rank`, `peer`: the GPU, and the one at the other end; -1 for none. `sends`: whether
    it sends to the peer. `number`: which piece of the thread block.
    """

    rank: int
    peer: int
    sends: bool
    number: int
    items: list[PlanItem]

    @property
    def channel(self) -> tuple[int, int, bool, int]:
        """Key by which both ends of a channel list their channels in one order."""
        src, dst = (self.rank, self.peer) if self.sends else (self.peer, self.rank)
        return min(src, dst), max(src, dst), src < dst, self.number


class ThreadBlockWriter:
    """Writes the operations of one thread block of a plan."""

    def __init__(
        self,
        steps: list[Instruction],
        targets: dict[int, Place],
        receiver: dict[int, int],
    ) -> None:
        self._steps, self._targets, self._receiver = steps, targets, receiver
        self._made: list[_Operation] = []
        self.buffers: list[str] = []

    def operations(self, piece: PlanPiece) -> list[_Operation]:
        """Return what a thread block does, a barrier of its threads where needed."""
        if piece.peer >= 0:
            self._channel("wait" if piece.sends else "signal")
            self._sync()
        for item in piece.items:
            step = self._steps[item.step]
            receives = step.kind in RECEIVES
            if receives:
                self._channel("wait")
            self._semaphores("sem_acquire", item.acquires)
            if receives or item.acquires:
                self._sync()
            self._data(item.step)
            if step.kind in SENDS:
                self._channel("signal")
            self._semaphores("sem_release", item.releases)
        return self._made

    def _sync(self) -> None:
        self._made.append({"name": "nop"})

    def _channel(self, name: str) -> None:
        ids = {"channel_ids": [0], "channel_type": "memory"}
        self._made.append({"name": name, **ids})

    def _semaphores(self, name: str, ids: list[int]) -> None:
        for first in range(0, len(ids), MOST_SEMAPHORES):
            some = ids[first : first + MOST_SEMAPHORES]
            self._made.append({"name": name, "semaphore_ids": some})

    def _data(self, number: int) -> None:
        """Append what moves or adds data, and a barrier of the threads."""
        step = self._steps[number]
        src, dst = (
            {"type": place[0], "index": place[1], "size": step.count}
            for place in (step.src, step.dst)
        )
        if step.kind in SENDS:
            buffer, index = self._targets[self._receiver[number]]
            if buffer not in self.buffers:
                self.buffers.append(buffer)
            there = {"buffer_id": self.buffers.index(buffer), "index": index}
            made: _Operation = {
                "name": "put",
                "src_buff": [src],
                "dst_buff": [{**there, "size": step.count}],
                "channel_ids": [0],
                "channel_type": "memory",
            }
        elif step.kind in RECEIVES:
            at = self._targets[number]
            if at == step.dst:
                return  # it is there already
            staged = {"type": at[0], "index": at[1], "size": step.count}
            if step.kind == "r":
                made = {"name": "copy", "src_buff": [staged], "dst_buff": [dst]}
            else:
                made = _sum([src, staged], dst)
        elif step.kind == "re":
            made = _sum([dst, src], dst)
        else:
            made = {"name": "copy", "src_buff": [src], "dst_buff": [dst]}
        self._made.append(made)
        self._sync()


def _sum(sources: list[_Operation], target: _Operation) -> _Operation:
    """Return the operation that writes a sum."""
    return {
        "name": "re",
        "src_buff": sources,
        "dst_buff": [target],
        "reduce_op": "sum",
    }
