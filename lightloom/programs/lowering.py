"""Lowering: a schedule of a collective to a program of GPUs for one runtime.

The schedule becomes operations of ranks on places: what is sent, received, added and
copied. A chunk of a rank is in one place at a time. What a rank must have in the end
goes to its output, everything else that it receives to scratch; inputs are never
written, so a program runs in place and out of place alike. An operation waits for those
of other thread blocks whose data it reads or overwrites, unless others imply it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec
import numpy as np

from lightloom.core.chunk_program import (
    NOP,
    READS_SRC,
    WRITES_DST,
    ChunkProgram,
    Instruction,
    RankProgram,
    ThreadBlock,
)
from lightloom.core.errors import InputError
from lightloom.core.schedule import FluidTransfers, Op, Transfers
from lightloom.core.task import Collective
from lightloom.core.units import GIB
from lightloom.formats.msccl_runtimes import PROTOCOLS
from lightloom.instances.collectives import op_of
from lightloom.validate.programs.form import BufferLayout, exceeded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.chunk_program import Place
    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule
    from lightloom.formats.msccl_runtimes import MscclRuntime


BUFFER_USES = ("scratch", "direct")
"""Where data are received whose place a send of the same step still reads: in scratch,
or directly, when the receive waits for the send."""


_LONGEST_NAME = 63
"""Characters of a name that loaders keep."""


class ProgramLimitError(InputError):
    """A program that is larger than its runtime takes."""


UNLIMITED_BYTES = 1024 * GIB
"""What stands for no limit where a runtime has no word for it."""
_NOWHERE: Place = ("i", 0)


def lower(
    schedule: Schedule,
    runtime: MscclRuntime,
    *,
    protocol: str = PROTOCOLS[0],
    buffers: str = BUFFER_USES[0],
) -> ChunkProgram:
    """Return a schedule as a program of GPUs; circuits and times are left out.

    One thread block sends to each peer, one receives from each peer, one does what is
    local. A step waits for what it reads and overwrites and for nothing else.

    `buffers`: ``scratch``: no size makes the program hang. ``direct``: less scratch,
    but a receive may wait for a send.

    Raises `InputError` if the runtime lacks the operation; `ProgramLimitError` if its
    limits are exceeded.

    Deterministic. The program is not checked here; `verify_program` does.
    """
    task = schedule.task
    if isinstance(task, Collective) and task.op not in runtime.operations:
        raise InputError(
            f"{runtime.name} has no operation for {task.op}",
            where="task.collective.op",
            found=task.op,
            allowed=", ".join(runtime.operations),
        )
    if protocol not in PROTOCOLS:
        allowed = ", ".join(PROTOCOLS)
        raise InputError(
            "invalid protocol", where="--protocol", found=protocol, allowed=allowed
        )
    _refuse_many_chunks(schedule, runtime)
    made = operations_of(schedule, buffers)
    task = made.collective
    rows, sender_of = _cut(made.rows, runtime.most_count)
    for row, sender in zip(rows, sender_of, strict=True):
        row.sender = sender
    keys, blocks, channels = _thread_blocks(rows, runtime)
    _refuse_long(rows, blocks, keys, runtime)
    layout = layout_of(task)
    memory = [_cells(layout, row) for row in rows]
    waits = references(rows, blocks, memory)
    ranks = _rank_programs(rows, blocks, keys, channels, waits, made.scratch, layout)
    program = ChunkProgram(
        name=_name(schedule),
        collective=runtime.operations[task.op],
        protocol=protocol,
        channels=1 + max((channel for channel in channels), default=0),
        chunks_per_loop=task.chunk_count,
        in_place=task.op != "all-to-all",
        out_of_place=True,
        min_bytes=0,
        max_bytes=0 if runtime.zero_is_unlimited else UNLIMITED_BYTES,
        ranks=ranks,
        declared_ranks=task.rank_count,
    )
    for where, _, what, found, most in exceeded(program, runtime):
        raise over_limit(runtime, where, what, found, most)
    return program


def _name(schedule: Schedule) -> str:
    """Return a name of letters, digits and dashes that every runtime takes."""
    task = schedule.task
    assert isinstance(task, Collective)
    words = ["lightloom", task.op, schedule.algorithm.name, str(task.rank_count)]
    text = "-".join(words)
    safe = "".join(
        c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in text
    )
    return safe[:_LONGEST_NAME]


def _cut(rows: list[RankOperation], most: int) -> tuple[list[RankOperation], list[int]]:
    """Return operations of at most so many chunks, and the sender of each."""
    cut: list[RankOperation] = []
    pieces: dict[int, list[int]] = {}
    senders: list[int] = []
    for number, row in enumerate(rows):
        pieces[number] = []
        for turn, start in enumerate(range(0, row.count, most)):
            pieces[number].append(len(cut))
            src, dst = ((place[0], place[1] + start) for place in (row.src, row.dst))
            count = min(most, row.count - start)
            cut.append(RankOperation(row.rank, row.kind, row.peer, src, dst, count))
            senders.append(-1 if row.sender < 0 else pieces[row.sender][turn])
    return cut, senders


def _thread_blocks(
    rows: Sequence[RankOperation], runtime: MscclRuntime
) -> tuple[list[tuple[int, int, int]], list[int], list[int]]:
    """Return (rank, side, peer) and channel of each thread block, and each row's.

    Sides: 0 sends, 1 receives, 2 is local. Blocks are sorted by rank and side.
    """
    side = {"s": 0, "r": 1, "rrc": 1}
    of_row = [(row.rank, side.get(row.kind, 2), row.peer) for row in rows]
    keys = sorted(set(of_row))
    number = {key: place for place, key in enumerate(keys)}
    half = (runtime.most_peers_per_channel - 2) // 2
    used: Counter[tuple[int, int, int]] = Counter()
    channel_of: dict[tuple[int, int], int] = {}
    for rank, way, peer in keys:
        if way:
            continue
        channel = 0
        while max(used[rank, 0, channel], used[peer, 1, channel]) >= half:
            channel += 1
        used[rank, 0, channel] += 1
        used[peer, 1, channel] += 1
        channel_of[rank, peer] = channel
    channels = [
        0 if way == 2 else channel_of[(rank, peer) if way == 0 else (peer, rank)]
        for rank, way, peer in keys
    ]
    return keys, [number[key] for key in of_row], channels


def _cells(layout: BufferLayout, row: RankOperation) -> tuple[list[Cells], list[Cells]]:
    """Return what an operation reads and writes, input and output as one memory."""

    def memory(place: Place) -> Cells:
        buffer, first = one_memory(layout, row.rank, place)
        return buffer, first, first + row.count

    source, target = memory(row.src), memory(row.dst)
    if row.kind == "cpy" and source == target:
        return [], []
    reads = [source] if row.kind in READS_SRC else []
    if row.kind == "re":
        reads.append(target)
    return reads, [target] if row.kind in WRITES_DST else []


def _refuse_many_chunks(schedule: Schedule, runtime: MscclRuntime) -> None:
    """Raise where a pair moves more chunks than the steps of a thread block can.

    It is known before any chunk is followed, of which there may be millions.
    """
    task = schedule.task
    if not isinstance(task, Collective):
        return
    division = chunk_division(schedule, task)
    moved: Counter[tuple[int, int]] = Counter()
    for part in schedule.parts:
        transfers = part.transfers
        if isinstance(transfers, Transfers):
            low, high = (
                division.first(division.number(chunk))
                for chunk in (transfers.chunk_lo, transfers.chunk_hi)
            )
            count = (high - low).tolist()
            pairs = zip(transfers.src.tolist(), transfers.dst.tolist(), strict=True)
            for pair, chunks in zip(pairs, count, strict=True):
                moved[pair] += chunks
    (src, _), chunks = max(moved.items(), key=lambda one: one[1], default=((0, 0), 0))
    steps = -(-chunks // runtime.most_count)
    if steps > runtime.most_steps:
        raise over_limit(
            runtime,
            f"gpu {task.nodes.index(src)}",
            "steps in a thread block",
            steps,
            runtime.most_steps,
        )


def _refuse_long(
    rows: Sequence[RankOperation],
    blocks: Sequence[int],
    keys: Sequence[tuple[int, int, int]],
    runtime: MscclRuntime,
) -> None:
    """Raise where a thread block or a GPU has too much to do, whatever it waits for."""
    steps = Counter(blocks)
    longest = max(steps.values(), default=0)
    if longest > runtime.most_steps:
        rank, _, _ = keys[max(steps, key=lambda block: steps[block])]
        raise over_limit(
            runtime,
            f"gpu {rank}",
            "steps in a thread block",
            longest,
            runtime.most_steps,
        )
    for what, counted, most in (
        ("thread blocks", Counter(key[0] for key in keys), runtime.most_thread_blocks),
        ("steps of a GPU", Counter(row.rank for row in rows), runtime.most_elements),
    ):
        for rank, count in counted.items():
            if count > most:
                raise over_limit(runtime, f"gpu {rank}", what, count, most)


def _rank_programs(
    rows: Sequence[RankOperation],
    blocks: Sequence[int],
    keys: Sequence[tuple[int, int, int]],
    channels: Sequence[int],
    waits: Sequence[Sequence[int]],
    scratch: Sequence[int],
    layout: BufferLayout,
) -> tuple[RankProgram, ...]:
    """Return the thread blocks of every rank, references resolved to places in them."""
    first = {rank: place for place, (rank, _, _) in reversed(list(enumerate(keys)))}
    position: dict[int, tuple[int, int]] = {}
    length: Counter[int] = Counter()
    for number, block in enumerate(blocks):
        length[block] += max(1, len(waits[number]))
        position[number] = (block - first[keys[block][0]], length[block] - 1)
    awaited = {
        (keys[blocks[other]][0], *position[other])
        for others in waits
        for other in others
    }
    steps: dict[int, list[Instruction]] = defaultdict(list)
    for number, row in enumerate(rows):
        block = blocks[number]
        mine = [position[other] for other in sorted(waits[number])]
        for other in mine[:-1]:
            steps[block].append(Instruction(NOP, _NOWHERE, _NOWHERE, 0, other))
        steps[block].append(
            Instruction(
                row.kind,
                row.src,
                row.dst,
                row.count,
                mine[-1] if mine else None,
                (row.rank, *position[number]) in awaited,
            )
        )
    thread_blocks: dict[int, list[ThreadBlock]] = defaultdict(list)
    for block, (rank, way, peer) in enumerate(keys):
        send, receive = (peer if way == side else -1 for side in (0, 1))
        thread_blocks[rank].append(
            ThreadBlock(
                block - first[rank], send, receive, channels[block], tuple(steps[block])
            )
        )
    return tuple(
        RankProgram(
            rank, *layout.sizes(rank), scratch[rank], tuple(thread_blocks[rank])
        )
        for rank in range(layout.ranks)
    )


def over_limit(
    runtime: MscclRuntime, where: str, what: str, found: int, most: int
) -> ProgramLimitError:
    """Return the error of a program that exceeds a limit of its runtime."""
    return ProgramLimitError(
        f"more than {runtime.name} takes: {what}",
        where=where,
        found=found,
        allowed=f"{most} at most",
    )


Cells: TypeAlias = tuple[str, int, int]
"""Chunks of a rank: (buffer, first, end)."""


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


def references(
    rows: Sequence[RankOperation],
    blocks: Sequence[int],
    cells: Sequence[tuple[Sequence[Cells], Sequence[Cells]]],
) -> list[list[int]]:
    """Return for each operation those of other thread blocks that it waits for.

    Read after write, write after read, write after write; what the order of thread
    blocks, messages and the other references imply is left out (vector clocks).

    `blocks`: thread block of each, counted over all ranks; its operations run in order.
    `cells`: what each reads, and what it writes.

    O(operations x thread blocks) in time and, with 4 bytes each, in memory. Chunks that
    no operation tells apart count as one.
    """
    clocks = np.zeros((len(rows), max(blocks, default=0) + 1), dtype=np.int32)
    last: dict[int, int] = {}
    accesses = _Accesses(rows, cells)
    found: list[list[int]] = []
    for number, (row, block) in enumerate(zip(rows, blocks, strict=True)):
        clock = clocks[number]
        if block in last:
            clock[:] = clocks[last[block]]
        if row.sender >= 0:
            np.maximum(clock, clocks[row.sender], out=clock)
        waits = []
        before = accesses.before(number, row.rank, *cells[number])
        for other in sorted(before, reverse=True):
            theirs = blocks[other]
            if clock[theirs] < clocks[other][theirs]:
                waits.append(other)
                np.maximum(clock, clocks[other], out=clock)
        found.append(waits)
        clock[block] += 1
        last[block] = number
    return found


class _Accesses:
    """Who read and wrote every chunk last; a chunk stands for those up to the next."""

    def __init__(
        self,
        rows: Sequence[RankOperation],
        cells: Sequence[tuple[Sequence[Cells], Sequence[Cells]]],
    ) -> None:
        bounds: dict[tuple[int, str], set[int]] = defaultdict(set)
        for row, (reads, writes) in zip(rows, cells, strict=True):
            for buffer, first, end in (*reads, *writes):
                bounds[row.rank, buffer] |= {first, end}
        self._bounds = {place: sorted(mine) for place, mine in bounds.items()}
        self._written: dict[tuple[int, Place], int] = {}
        self._read: dict[tuple[int, Place], list[int]] = defaultdict(list)

    def before(
        self,
        number: int,
        rank: int,
        reads: Sequence[Cells],
        writes: Sequence[Cells],
    ) -> set[int]:
        """Return the operations that must have ended, and note what this one does."""
        found: set[int] = set()
        source = [place for cells in reads for place in self._places(rank, cells)]
        target = [place for cells in writes for place in self._places(rank, cells)]
        for cell in source:
            self._read[cell].append(number)
        for cell in target:
            found.update(self._read.pop(cell, ()))
        found.update(
            self._written[cell] for cell in source + target if cell in self._written
        )
        self._written |= dict.fromkeys(target, number)
        return found - {number}

    def _places(self, rank: int, cells: Cells) -> list[tuple[int, Place]]:
        """Return the chunks that stand for a range."""
        buffer, first, end = cells
        bounds = self._bounds[rank, buffer]
        inside = bounds[bisect_left(bounds, first) : bisect_left(bounds, end)]
        return [(rank, (buffer, chunk)) for chunk in inside]
