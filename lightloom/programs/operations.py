"""Schedules as operations of GPUs on places: what is sent, received, added, copied.

A chunk of a rank is in one place at a time. What a rank must have in the end goes to
its output, everything else that it receives to scratch; inputs are never written, so a
program runs in place and out of place alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import FluidTransfers, Op
from lightloom.core.task import Collective
from lightloom.instances.collectives import op_of
from lightloom.validate.programs.layout import BufferLayout

if TYPE_CHECKING:
    from lightloom.core.chunk_program import Place
    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule

BUFFER_USES = ("scratch", "direct")
"""Where data are received whose place a send of the same step still reads: in scratch,
or directly, when the receive waits for the send."""


@dataclass(eq=False)
class RankOperation:
    """One instruction before its thread block is known.

    `kind`: as in `Instruction`: ``s``, ``r``, ``rrc``, ``cpy`` or ``re``. `peer`: the
    rank at the other end of a message, -1 for none. `src`, `dst`: first chunk read and
    written. `sender`: of what receives, the number of the operation that sends; -1
    otherwise.
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

    `rows`: what each rank does; of a rank in its order. `scratch`: scratch chunks of
    each rank. `collective`: the task, with the chunks that are moved here: as few as
    the schedule tells apart.
    """

    rows: list[RankOperation]
    scratch: list[int]
    collective: Collective


@dataclass(frozen=True, eq=False)
class ChunkDivision:
    """Pieces of a buffer that a schedule tells apart, in chunks of a program.

    `period`: chunks of the schedule after which the pieces repeat: a block, or a
    buffer. `starts`: first chunk of each piece of a period. `offsets`: the same in
    chunks of the program, and those of a whole period at the end. `chunks`: chunks of
    the program in a buffer.
    """

    period: int
    starts: IntArray
    offsets: IntArray
    chunks: int

    def number(self, chunk: IntArray) -> IntArray:
        """Return how many pieces begin before chunks at which one begins, or ends."""
        turn, within = np.divmod(chunk, self.period)
        found: IntArray = turn * len(self.starts) + np.searchsorted(self.starts, within)
        return found

    def first(self, piece: IntArray) -> IntArray:
        """Return the first chunk of the program of pieces."""
        turn, within = np.divmod(piece, len(self.starts))
        found: IntArray = turn * self.offsets[-1] + self.offsets[within]
        return found


def chunk_division(schedule: Schedule, task: Collective) -> ChunkDivision:
    """Return as few pieces as tell all transfers apart.

    Programs have chunks of one size, so pieces that differ in size have several; where
    the largest is no more than twice the smallest, they count as alike.
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
    offsets = np.arange(len(starts) + 1)
    if sizes.max() > 2 * sizes.min():
        all_bounds = np.append(starts, period)
        offsets = all_bounds // np.gcd.reduce(all_bounds)
    turns = task.chunk_count // period
    return ChunkDivision(period, starts, offsets, int(offsets[-1]) * turns)


def layout_of(collective: Collective) -> BufferLayout:
    """Return the buffers of a collective's operation."""
    n, chunks = collective.rank_count, collective.chunk_count
    return BufferLayout(collective.op, n, chunks, collective.root_rank)


def one_memory(layout: BufferLayout, rank: int, place: Place) -> Place:
    """Return a place as it is known where input and output are one memory."""
    return layout.memory(rank, place, in_place=layout.operation != "all-to-all")


class _Moved(NamedTuple):
    """A piece on its way, or several in a row, and the places of its first chunk."""

    chunks: int
    source: Place
    operand: Place | None
    target: Place
    staged: Place | None


@dataclass(eq=False)
class _Places:
    """Where the pieces of every rank are, while a schedule is followed."""

    collective: Collective
    layout: BufferLayout
    size: list[int]
    now: list[dict[int, Place]]
    final: list[dict[int, Place]]
    scratch: list[int] = field(default_factory=list)
    _slot: dict[tuple[int, int], Place] = field(default_factory=dict)

    def target(self, rank: int, piece: int) -> Place:
        """Return where a rank keeps a piece that it receives or adds to."""
        final = self.final[rank].get(piece)
        if final is not None:
            return final
        if (rank, piece) not in self._slot:
            self._slot[rank, piece] = self.fresh(rank, piece)
        return self._slot[rank, piece]

    def fresh(self, rank: int, piece: int) -> Place:
        """Return unused scratch of a rank, as large as a piece."""
        first = self.scratch[rank]
        self.scratch[rank] += self.chunks(piece)
        return "s", first

    def chunks(self, piece: int) -> int:
        """Return the chunks of a piece."""
        return self.size[piece % len(self.size)]


def _places(collective: Collective, division: ChunkDivision) -> _Places:
    """Return where pieces are in the beginning, and must be in the end."""
    n, op, root = collective.rank_count, collective.op, collective.root_rank
    size = np.diff(division.offsets).tolist()
    pieces = len(size) * (division.chunks // int(division.offsets[-1]))
    first = division.first(np.arange(pieces)).tolist()
    block = pieces // n
    now: list[dict[int, Place]] = []
    final: list[dict[int, Place]] = []
    whole = range(pieces)
    for rank in range(n):
        own = range(rank * block, (rank + 1) * block)
        has: dict[int, Place] = {p: ("i", first[p]) for p in whole}
        asked: dict[int, Place] = {p: ("o", first[p]) for p in whole}
        if op == "all-gather":
            has = {p: ("i", first[p - own.start]) for p in own}
        elif op == "reduce-scatter":
            asked = {p: ("o", first[p - own.start]) for p in own}
        elif op == "broadcast" and rank != root:
            has = {}
        elif op == "reduce" and rank != root:
            asked = {}
        elif op == "all-to-all":
            has = {rank * pieces + p: ("i", first[p]) for p in whole}
            asked = {
                sender * pieces + p: ("o", first[sender * block + p - own.start])
                for sender in range(n)
                for p in own
            }
        now.append(has)
        final.append(asked)
    return _Places(collective, layout_of(collective), size, now, final, [0] * n)


def operations_of(schedule: Schedule, buffers: str = BUFFER_USES[0]) -> RankOperations:
    """Return what every rank does to follow a schedule.

    Raises `InputError` if its task is a demand, whose bytes are no chunks, or `buffers`
    is unknown.
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
    places = _places(coarse, division)
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
            _Moved(places.chunks(piece), places.now[rank][piece], None, place, None)
            for piece, place in sorted(asked.items())
            if places.now[rank][piece] != place
        ]
        rows += [
            RankOperation(rank, "cpy", -1, run.source, run.target, run.chunks)
            for run in _runs(late)
        ]
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
            one_memory(places.layout, rank, places.now[rank][piece])
            for piece in range(low, high)
        )
    after: dict[tuple[int, int], Place] = {}
    receives: list[RankOperation] = []
    local: list[RankOperation] = []
    for src, dst, low, high, op in moves:
        sender, receiver = rank_of[src], rank_of[dst]
        moved: list[_Moved] = []
        for piece in range(low, high):
            source = places.now[sender][piece]
            operand = None
            if op == Op.REDUCE:
                before = places.now[receiver].get(piece)
                operand = after.get((receiver, piece), before)
            target = places.target(receiver, piece)
            there = one_memory(places.layout, receiver, target)
            busy = there in read[receiver]
            staged = places.fresh(receiver, piece) if busy and not direct else None
            size = places.chunks(piece)
            moved.append(_Moved(size, source, operand, target, staged))
            after[receiver, piece] = target
        for count, source, operand, target, staged in _runs(moved):
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


def _runs(moved: list[_Moved]) -> list[_Moved]:
    """Return what is moved, pieces that follow one another everywhere as one."""
    runs: list[_Moved] = []
    for each in moved:
        if runs and _follows(runs[-1], each):
            last = runs[-1]
            runs[-1] = last._replace(chunks=last.chunks + each.chunks)
        else:
            runs.append(each)
    return runs


def _follows(run: _Moved, piece: _Moved) -> bool:
    """Return whether all places of a piece are right behind those of a run."""
    return all(
        one is other
        if one is None or other is None
        else (one[0], one[1] + run.chunks) == other
        for one, other in zip(run[1:], piece[1:], strict=True)
    )
