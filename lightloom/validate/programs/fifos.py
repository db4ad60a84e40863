"""Bounded connections: from which size on a program fills them until all wait.

A connection has a few slots. A message takes one slot for as many chunks as fit in it,
one at least; its sender goes on when the last part is in a slot, and a slot is free
again when the receiver has read it. Whether all comes to a stop does not depend on the
order in which thread blocks run; it is the likelier, the fewer chunks fit in a slot.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.units import KIB, MIB
from lightloom.core.violation import Violation
from lightloom.validate.programs.form import largest_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.chunk_program import ChunkProgram
    from lightloom.formats.msccl_runtimes import MscclRuntime
    from lightloom.validate.programs.execution import Flat, Token


@dataclass(frozen=True)
class FifoSlots:
    """The slots of a connection.

    `size_bytes`: data that one slot holds.
    """

    count: int
    size_bytes: int


SLOTS = {
    "Simple": FifoSlots(2, 2 * MIB),
    "LL": FifoSlots(8, 32 * KIB),
    "LL128": FifoSlots(8, 576_000),
}
"""Slots by protocol, with the default buffers of NCCL: Simple has 4 MiB in two."""


def check_fifos(
    program: ChunkProgram, least: int | None, runtime: MscclRuntime
) -> Iterator[Violation]:
    """Yield that a size for which the program may be chosen makes it hang."""
    if least is None:
        return
    slots = SLOTS.get(program.protocol, SLOTS["Simple"])
    most = largest_bytes(program, runtime)
    if most is not None and most < least:
        return
    chosen = "any size" if most is None else f"sizes up to {most} bytes"
    size = f"buffers of {least} bytes and more" if least else "buffers of any size"
    message = (
        f"hangs for {size} ({slots.count} slots of {slots.size_bytes} bytes, protocol"
        f" {program.protocol}), and may be chosen for {chosen}"
    )
    yield Violation("program-fifo", None, "algo maxBytes", message)


def hangs_from_bytes(flat: Flat, chunks: int, slots: FifoSlots) -> int | None:
    """Return the smallest buffer for which a program hangs.

    Returns bytes, 0 if it hangs at any size; ``None`` if it never does.
    """
    longest = max((step.count for step in flat.actions), default=0)
    if longest == 0 or _ends(flat, 1, slots.count):
        return None
    if not _ends(flat, longest, slots.count):
        return 0
    hangs, ends = 1, longest  # chunks in a slot: with more of them it goes well
    while ends - hangs > 1:
        middle = (hangs + ends) // 2
        if _ends(flat, middle, slots.count):
            ends = middle
        else:
            hangs = middle
    return chunks * (slots.size_bytes // (hangs + 1) + 1)


def ends_with_two_messages(flat: Flat) -> bool:
    """Return whether a program ends if a connection holds two messages of any size."""
    longest = max((step.count for step in flat.actions), default=0)
    return not longest or _ends(flat, longest, 2)


def _ends(flat: Flat, per_slot: int, slots: int) -> bool:
    """Return whether every step ends if a slot holds so many chunks."""
    filling = _FifoLevels(
        flat, [-(-step.count // per_slot) for step in flat.actions], slots
    )
    ready = deque(range(len(flat.rank)))
    while ready:
        block = ready.popleft()
        while filling.at[block] < flat.first[block + 1]:
            missing = filling.missing(filling.at[block])
            if missing is not None:
                filling.waiting[missing].append(block)
                break
            ready.extend(filling.move(block))
    return filling.at == flat.first[1:]


class _FifoLevels:
    """Connections that fill and empty while thread blocks run."""

    def __init__(self, flat: Flat, parts: list[int], slots: int) -> None:
        self.flat, self.left, self.slots = flat, parts, slots
        self.at = list(flat.first[:-1])
        self.waiting: dict[object, list[int]] = defaultdict(list)
        self._filled: dict[Token, int] = defaultdict(int)

    def missing(self, step: int) -> object | None:
        """Return what a step has to wait for, ``None`` if it can go on."""
        action = self.flat.actions[step]
        for waits in action.waits_for:
            if self.at[self.flat.block[waits]] <= waits:
                return waits
        for into in action.takes:
            if not self._filled[into]:
                return "data", into
        for out in action.gives:
            if self._filled[out] == self.slots:
                return "room", out
        return None

    def move(self, block: int) -> list[int]:
        """Move as many parts as can be; return the thread blocks that this wakes."""
        step = self.at[block]
        action = self.flat.actions[step]
        moved = self.left[step]
        for into in action.takes:
            moved = min(moved, self._filled[into])
        for out in action.gives:
            moved = min(moved, self.slots - self._filled[out])
        self.left[step] -= moved
        woken: list[int] = []
        for into in action.takes:
            self._filled[into] -= moved
            woken += self.waiting.pop(("room", into), ())
        for out in action.gives:
            self._filled[out] += moved
            woken += self.waiting.pop(("data", out), ())
        if not self.left[step]:
            self.at[block] += 1
            woken += self.waiting.pop(step, ())
        return woken
