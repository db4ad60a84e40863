"""Schedules as operations of GPUs on places: what is sent, received, added, copied.

A chunk of a rank is in one place at a time. What a rank must have in the end goes to
its output, everything else that it receives to scratch; inputs are never written, so a
program runs in place and out of place alike.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import FluidTransfers, Op
from lightloom.core.task import Collective
from lightloom.instances.collectives import op_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.chunk_program import Place
    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule

__all__ = [
    "BUFFER_USES",
    "ChunkDivision",
    "RankOperation",
    "RankOperations",
    "chunk_division",
    "operations_of",
]

BUFFER_USES = ("scratch", "direct")
"""Where data are received whose place a send of the same step still reads: in scratch,
or directly, when the receive waits for the send."""


@dataclass(eq=False)
class RankOperation:
    """One instruction before its thread block is known.

    Attributes
    ----------
    rank
        Whose.
    kind
        As in `Instruction`: ``s``, ``r``, ``rrc``, ``cpy`` or ``re``.
    peer
        The rank at the other end of a message, -1 for none.
    src, dst
        First chunk read and written.
    count
        Chunks.
    sender
        Of what receives, the number of the operation that sends; -1 otherwise.
    """

    rank: int
    kind: str
    peer: int
    src: Place
    dst: Place
    count: int
    sender: int = -1


@dataclass(frozen=True, eq=False)
class RankOperations:
    """The operations of all ranks, in an order in which they can run.

    Attributes
    ----------
    rows
        What each rank does; of a rank in its order.
    scratch
        Scratch chunks of each rank.
    collective
        The task, with the chunks that are moved here: as few as the schedule tells
        apart.
    """

    rows: list[RankOperation]
    scratch: list[int]
    collective: Collective


@dataclass(frozen=True, eq=False)
class ChunkDivision:
    """Pieces of a buffer that a schedule tells apart, each one chunk of a program.

    Attributes
    ----------
    period
        Chunks of the schedule after which the pieces repeat: a block, or a buffer.
    starts
        First chunk of each piece of a period.
    chunks
        Pieces of a buffer.
    """

    period: int
    starts: IntArray
    chunks: int

    def number(self, chunk: IntArray) -> IntArray:
        """Return how many pieces begin before chunks at which one begins, or ends."""
        turn, within = np.divmod(chunk, self.period)
        found: IntArray = turn * len(self.starts) + np.searchsorted(self.starts, within)
        return found


def chunk_division(schedule: Schedule, task: Collective) -> ChunkDivision:
    """Return as few pieces as tell all transfers apart.

    Programs have chunks of one size, so pieces that differ in size must be cut; where
    the largest is no more than twice the smallest, they count as alike.

    Parameters
    ----------
    schedule
        Of chunk transfers.
    task
        Its collective.
    """
    blocks = op_of(task).uses_blocks
    period = task.chunk_count // task.rank_count if blocks else task.chunk_count
    bounds = [np.zeros(1, dtype=np.int64)]
    for part in schedule.parts:
        assert not isinstance(part.transfers, FluidTransfers)
        ends = (part.transfers.chunk_lo, part.transfers.chunk_hi)
        bounds += [np.unique(each % period) for each in ends]
    starts = np.unique(np.concatenate(bounds))
    sizes = np.diff(starts, append=period)
    if sizes.max() > 2 * sizes.min():
        step = int(np.gcd.reduce(np.append(starts, period)))
        starts = np.arange(0, period, step)
    return ChunkDivision(period, starts, len(starts) * (task.chunk_count // period))


@dataclass(eq=False)
class _Places:
    """Where the chunks of every rank are, while a schedule is followed."""

    collective: Collective
    now: list[dict[int, Place]]
    final: list[dict[int, Place]]
    scratch: list[int] = field(default_factory=list)
    _slot: dict[tuple[int, int], Place] = field(default_factory=dict)

    def target(self, rank: int, chunk: int) -> Place:
        """Return where a rank keeps a chunk that it receives or adds to."""
        final = self.final[rank].get(chunk)
        if final is not None:
            return final
        if (rank, chunk) not in self._slot:
            self._slot[rank, chunk] = self.fresh(rank)
        return self._slot[rank, chunk]

    def fresh(self, rank: int) -> Place:
        """Return an unused scratch chunk of a rank."""
        self.scratch[rank] += 1
        return "s", self.scratch[rank] - 1

    def cell(self, rank: int, place: Place) -> Place:
        """Return a place as it is known where input and output are one memory."""
        buffer, offset = place
        op, block = self.collective.op, self._block
        if buffer == "s":
            return place
        if op == "all-gather" and buffer == "i":
            return "o", rank * block + offset
        if op == "reduce-scatter" and buffer == "o":
            return "o", rank * block + offset
        if op == "all-to-all":
            return place
        return "o", offset

    @property
    def _block(self) -> int:
        return self.collective.chunk_count // self.collective.rank_count


def _places(collective: Collective) -> _Places:
    """Return where chunks are in the beginning, and must be in the end."""
    n, chunks = collective.rank_count, collective.chunk_count
    block, op, root = chunks // n, collective.op, collective.root_rank
    now: list[dict[int, Place]] = []
    final: list[dict[int, Place]] = []
    whole = range(chunks)
    for rank in range(n):
        own = range(rank * block, (rank + 1) * block)
        has: dict[int, Place] = {c: ("i", c) for c in whole}
        asked: dict[int, Place] = {c: ("o", c) for c in whole}
        if op == "all-gather":
            has = {c: ("i", c - own.start) for c in own}
        elif op == "reduce-scatter":
            asked = {c: ("o", c - own.start) for c in own}
        elif op == "broadcast" and rank != root:
            has = {}
        elif op == "reduce" and rank != root:
            asked = {}
        elif op == "all-to-all":
            has = {rank * chunks + c: ("i", c) for c in whole}
            asked = {
                sender * chunks + c: ("o", sender * block + c - own.start)
                for sender in range(n)
                for c in own
            }
        now.append(has)
        final.append(asked)
    return _Places(collective, now, final, [0] * n)


def operations_of(schedule: Schedule, buffers: str = BUFFER_USES[0]) -> RankOperations:
    """Return what every rank does to follow a schedule.

    Parameters
    ----------
    schedule
        A valid schedule of a collective. Its circuits and times are left out.
    buffers
        ``scratch`` or ``direct``, see `BUFFER_USES`.

    Raises
    ------
    InputError
        If its task is a demand, whose bytes are no chunks, or `buffers` is unknown.
    """
    task = schedule.task
    if not isinstance(task, Collective):
        what = "a demand has no chunks, and programs of GPUs move chunks"
        raise InputError(what, where="task", allowed="the schedule of a collective")
    if buffers not in BUFFER_USES:
        allowed = ", ".join(BUFFER_USES)
        raise InputError(
            "invalid use of buffers", where="--buffers", found=buffers, allowed=allowed
        )
    division = chunk_division(schedule, task)
    coarse = msgspec.structs.replace(task, chunks=division.chunks)
    places = _places(coarse)
    rows: list[RankOperation] = []
    for _, parts in groupby(schedule.parts, key=lambda part: part.index):
        moves = []
        for part in parts:
            transfers = part.transfers
            assert not isinstance(transfers, FluidTransfers)
            columns = (
                transfers.src,
                transfers.dst,
                division.number(transfers.chunk_lo),
                division.number(transfers.chunk_hi),
                transfers.op,
            )
            moves += list(zip(*(column.tolist() for column in columns), strict=True))
        _follow_step(places, moves, rows, direct=buffers == "direct")
    for rank, asked in enumerate(places.final):
        late = [
            (chunk, places.now[rank][chunk], place)
            for chunk, place in sorted(asked.items())
            if places.now[rank][chunk] != place
        ]
        for _, source, target, count in _runs(late):
            rows.append(RankOperation(rank, "cpy", -1, source, target, count))
    return RankOperations(rows, places.scratch, coarse)


def _follow_step(
    places: _Places,
    moves: list[tuple[int, int, int, int, int]],
    rows: list[RankOperation],
    *,
    direct: bool,
) -> None:
    """Append the operations of one step: sends, then receives, then local ones."""
    rank_of = {node: rank for rank, node in enumerate(places.collective.nodes)}
    read: list[set[Place]] = [set() for _ in rank_of]
    for src, _, low, high, _ in moves:
        rank = rank_of[src]
        read[rank].update(
            places.cell(rank, places.now[rank][chunk]) for chunk in range(low, high)
        )
    after: dict[tuple[int, int], Place] = {}
    receives: list[RankOperation] = []
    local: list[RankOperation] = []
    for src, dst, low, high, op in moves:
        sender, receiver = rank_of[src], rank_of[dst]
        pieces = []
        for chunk in range(low, high):
            source = places.now[sender][chunk]
            operand = after.get((receiver, chunk), places.now[receiver].get(chunk))
            target = places.target(receiver, chunk)
            busy = places.cell(receiver, target) in read[receiver]
            staged = places.fresh(receiver) if busy and not direct else None
            pieces.append((chunk, source, operand, target, staged))
            after[receiver, chunk] = target
        for piece in _pieces(pieces, reduces=op == Op.REDUCE):
            count, source, operand, target, staged = piece
            rows.append(RankOperation(sender, "s", receiver, source, target, count))
            number = len(rows) - 1
            into = target if staged is None else staged
            kind = "rrc" if op == Op.REDUCE and staged is None else "r"
            reads = operand if kind == "rrc" else source
            assert reads is not None
            receives.append(
                RankOperation(receiver, kind, sender, reads, into, count, number)
            )
            if staged is None:
                continue
            if op == Op.REDUCE and operand != target:
                assert operand is not None
                local.append(RankOperation(receiver, "cpy", -1, operand, target, count))
            last = "re" if op == Op.REDUCE else "cpy"
            local.append(RankOperation(receiver, last, -1, staged, target, count))
    for (rank, chunk), place in after.items():
        places.now[rank][chunk] = place
    rows += receives
    rows += local


def _pieces(
    pieces: list[tuple[int, Place, Place | None, Place, Place | None]],
    *,
    reduces: bool,
) -> Iterator[tuple[int, Place, Place | None, Place, Place | None]]:
    """Yield (count, source, operand, target, staged) of runs of chunks in a row."""

    def follows(one: Place | None, other: Place | None) -> bool:
        if one is None or other is None:
            return one is other
        return one[0] == other[0] and one[1] + 1 == other[1]

    first = 0
    for last in range(1, len(pieces) + 1):
        if last < len(pieces):
            one, other = pieces[last - 1][1:], pieces[last][1:]
            pairs = zip(one, other, strict=True)
            if all(
                follows(a, b)
                for number, (a, b) in enumerate(pairs)
                if reduces or number != 1
            ):
                continue
        _, source, operand, target, staged = pieces[first]
        yield last - first, source, operand, target, staged
        first = last


def _runs(
    late: list[tuple[int, Place, Place]],
) -> Iterator[tuple[int, Place, Place, int]]:
    """Yield (chunk, source, target, count) of local copies of chunks in a row."""
    grouped: dict[int, int] = defaultdict(int)
    start = None
    for chunk, source, target in late:
        if start is not None:
            first, at, to = start
            size = grouped[first]
            if (source, target) == ((at[0], at[1] + size), (to[0], to[1] + size)):
                grouped[first] += 1
                continue
            yield first, at, to, size
        start = (chunk, source, target)
        grouped[chunk] = 1
    if start is not None:
        yield *start, grouped[start[0]]
