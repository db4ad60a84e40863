"""Runs programs of GPUs on numbers, thread blocks interleaved at random.

It shares nothing with `lightloom.validate.programs`: memory holds integers, a
connection is a queue with so many slots, and a turn moves one chunk.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lightloom.core.seed import seeded_random

if TYPE_CHECKING:
    from lightloom.core.chunk_program import ChunkProgram, Instruction

_TAKES = ("r", "rcs", "rrc", "rrs", "rrcs")
_GIVES = ("s", "rcs", "rrs", "rrcs")
_STORES = ("r", "rcs", "rrc", "rrcs", "cpy", "re", "ra")


class HangError(AssertionError):
    """No thread block can go on, and some have not ended."""


@dataclass
class Machine:
    """All GPUs while a program runs; `slots` chunks fit in a connection."""

    program: ChunkProgram
    in_place: bool
    slots: int | None
    memory: dict[tuple[int, str, int], int] = field(default_factory=dict)
    queues: dict[tuple[int, int, int], deque[int]] = field(
        default_factory=lambda: defaultdict(deque)
    )
    ended: dict[tuple[int, int], int] = field(default_factory=lambda: defaultdict(int))
    moved: dict[tuple[int, int], int] = field(default_factory=lambda: defaultdict(int))

    def cell(self, rank: int, buffer: str, offset: int) -> tuple[int, str, int]:
        """Return where a chunk is, which in place has two names."""
        collective = self.program.collective
        block = self.program.chunks_per_loop // len(self.program.ranks)
        if self.in_place and buffer != "s":
            if collective == "allgather":
                shift = rank * block if buffer == "i" else 0
            elif collective in ("reducescatter", "reduce_scatter"):
                shift = rank * block if buffer == "o" else 0
            else:
                shift = 0
            return rank, "io", offset + shift
        return rank, buffer, offset

    def turn(self, rank: int, number: int) -> bool:
        """Move one chunk of the step that a thread block is at; False if it waits."""
        block = self.program.ranks[rank].thread_blocks[number]
        step = block.steps[self.ended[rank, number]]
        if step.waits_for is not None:
            other, awaited = step.waits_for
            if self.ended[rank, other] <= awaited:
                return False
        into = self.queues[block.receive_peer, rank, block.channel]
        out = self.queues[rank, block.send_peer, block.channel]
        if step.kind in _TAKES and not into:
            return False
        full = self.slots is not None and len(out) >= self.slots
        if step.kind in _GIVES and full:
            return False
        if step.kind != "nop":
            self._move(rank, step, self.moved[rank, number], into, out)
        self.moved[rank, number] += 1
        if self.moved[rank, number] >= step.count:
            self.moved[rank, number] = 0
            self.ended[rank, number] += 1
        return True

    def _move(
        self, rank: int, step: Instruction, turn: int, into: deque[int], out: deque[int]
    ) -> None:
        source = self.cell(rank, step.src[0], step.src[1] + turn)
        target = self.cell(rank, step.dst[0], step.dst[1] + turn)
        value = into.popleft() if step.kind in _TAKES else self.memory[source]
        if step.kind in ("rrc", "rrs", "rrcs"):
            value += self.memory[source]
        elif step.kind in ("re", "ra"):
            value += self.memory[target]
        if step.kind in _STORES:
            self.memory[target] = value
        if step.kind in _GIVES:
            out.append(value)


def outputs(
    program: ChunkProgram,
    inputs: list[list[int]],
    seed: int,
    *,
    in_place: bool,
    slots: int | None = 2,
) -> list[list[int | None]]:
    """Return what the outputs hold after a run; ``None`` where nothing was written.

    Raises `HangError` where no thread block can go on, and `KeyError` where one reads
    what nobody wrote.
    """
    chance = seeded_random(seed)
    machine = Machine(program, in_place, slots)
    for rank, data in enumerate(inputs):
        for offset, value in enumerate(data):
            machine.memory[machine.cell(rank, "i", offset)] = value
    running = [
        (rank.id, block.id)
        for rank in program.ranks
        for block in rank.thread_blocks
        if block.steps
    ]
    while running:
        chance.shuffle(running)
        moved = False
        for rank, block in list(running):
            steps = len(program.ranks[rank].thread_blocks[block].steps)
            for _ in range(chance.randint(1, 4)):
                if machine.ended[rank, block] == steps or not machine.turn(rank, block):
                    break
                moved = True
            if machine.ended[rank, block] == steps:
                running.remove((rank, block))
        if running and not moved:
            raise HangError(sorted(running)[:3])
    assert not any(machine.queues.values()), "messages that nobody read"
    return [
        [
            machine.memory.get(machine.cell(rank.id, "o", chunk))
            for chunk in range(rank.output_chunks)
        ]
        for rank in program.ranks
    ]
