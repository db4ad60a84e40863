"""A run of a program: which step sends to which, and an order in which all can run."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from lightloom.core.chunk_program import RECEIVES, SENDS
from lightloom.core.violation import Violation
from lightloom.validate.programs.form import place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.chunk_program import ChunkProgram, Instruction

__all__ = ["Connection", "Flat", "ProgramRun", "flatten", "run"]

Connection: TypeAlias = tuple[int, int, int]
"""(sender, receiver, channel): messages arrive in the order they were sent."""
NONE = -1


@dataclass(frozen=True, eq=False)
class Flat:
    """A program as lists over all steps; thread block b has ``first[b]:first[b + 1]``.

    Attributes
    ----------
    steps
        Every step, thread block after thread block, GPU after GPU.
    block
        Thread block of each step, counted over all GPUs.
    rank
        GPU of each thread block.
    first
        First step of each thread block, and the number of steps at the end.
    waits_for
        Step that each step waits for, or -1.
    sends, receives
        Connection that each step sends to, and receives from, if any.
    """

    steps: list[Instruction]
    block: list[int]
    rank: list[int]
    first: list[int]
    waits_for: list[int]
    sends: list[Connection | None]
    receives: list[Connection | None]

    def where(self, step: int) -> str:
        """Return the place of a step in words.

        Parameters
        ----------
        step
            Its number among all.
        """
        block = self.block[step]
        rank = self.rank[block]
        first_block = self.rank.index(rank)
        return place_of(rank, block - first_block, step - self.first[block])

    def number(self, step: int) -> int:
        """Return the number of a step in its thread block.

        Parameters
        ----------
        step
            Its number among all.
        """
        return step - self.first[self.block[step]]


def flatten(program: ChunkProgram) -> Flat:
    """Return a program of sound form as lists over all its steps.

    Parameters
    ----------
    program
        Without violations of `lightloom.validate.programs.form`.
    """
    flat = Flat([], [], [], [0], [], [], [])
    for rank in program.ranks:
        starts = [len(flat.steps)]
        for block in rank.thread_blocks:
            starts.append(starts[-1] + len(block.steps))
        for block in rank.thread_blocks:
            number = len(flat.rank)
            flat.rank.append(rank.id)
            out = (rank.id, block.send_peer, block.channel)
            into = (block.receive_peer, rank.id, block.channel)
            for step in block.steps:
                flat.steps.append(step)
                flat.block.append(number)
                waits = step.waits_for
                flat.waits_for.append(
                    NONE if waits is None else starts[waits[0]] + waits[1]
                )
                flat.sends.append(out if step.kind in SENDS else None)
                flat.receives.append(into if step.kind in RECEIVES else None)
            flat.first.append(len(flat.steps))
    return flat


@dataclass(frozen=True, eq=False)
class ProgramRun:
    """What happened when every thread block ran as far as it could.

    Attributes
    ----------
    order
        Steps in an order in which they ran.
    sender
        Step that sent what each step received, or -1.
    stuck
        The step at which each thread block stopped, where it did not end.
    unread
        Steps whose message nobody received.
    """

    order: list[int]
    sender: list[int]
    stuck: list[int]
    unread: list[int]

    def violations(self, flat: Flat) -> Iterator[Violation]:
        """Yield steps that never run, messages never read or of another length.

        Parameters
        ----------
        flat
            The program that ran.
        """
        for step in self.stuck:
            waits = flat.waits_for[step]
            what = f"waits for {flat.where(waits)}" if waits != NONE else "waits"
            if flat.receives[step] is not None:
                what = f"waits for a message from gpu {flat.receives[step][0]}"  # type: ignore[index]
            message = f"{flat.steps[step].kind} {what}, which never comes"
            where = flat.where(step)
            yield Violation("program-deadlock", flat.number(step), where, message)
        for step in self.unread:
            where, kind = flat.where(step), flat.steps[step].kind
            message = f"the message of {kind} is never received"
            yield Violation("program-unread", flat.number(step), where, message)
        for step, sent in enumerate(self.sender):
            if sent == NONE:
                continue
            given, taken = flat.steps[sent].count, flat.steps[step].count
            if given != taken:
                message = f"receives {taken} chunks, {flat.where(sent)} sends {given}"
                where = flat.where(step)
                yield Violation("program-message", flat.number(step), where, message)


def run(flat: Flat) -> ProgramRun:
    """Run a program whose messages wait for nobody.

    Parameters
    ----------
    flat
        The program.

    Notes
    -----
    Which steps run, and who receives what, does not depend on the order: a thread
    block has one order, and so has a connection with one sender and one receiver.
    Linear in the number of steps.
    """
    ended = [False] * len(flat.steps)
    sender = [NONE] * len(flat.steps)
    order: list[int] = []
    sent: dict[Connection, deque[int]] = defaultdict(deque)
    waiting: dict[int | Connection, list[int]] = defaultdict(list)
    at = list(flat.first[:-1])
    ready = deque(range(len(at)))
    while ready:
        block = ready.popleft()
        while at[block] < flat.first[block + 1]:
            step = at[block]
            waits, out, into = (
                flat.waits_for[step],
                flat.sends[step],
                flat.receives[step],
            )
            if waits != NONE and not ended[waits]:
                waiting[waits].append(block)
                break
            if into is not None:
                if not sent[into]:
                    waiting[into].append(block)
                    break
                sender[step] = sent[into].popleft()
            if out is not None:
                sent[out].append(step)
                ready.extend(waiting.pop(out, ()))
            ended[step] = True
            order.append(step)
            ready.extend(waiting.pop(step, ()))
            at[block] += 1
    stuck = [at[b] for b in range(len(at)) if at[b] < flat.first[b + 1]]
    unread = sorted(step for queue in sent.values() for step in queue)
    return ProgramRun(order, sender, stuck, unread)
