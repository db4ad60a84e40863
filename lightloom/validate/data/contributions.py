"""Data: executes a schedule on contribution counts, exactly, to what must be there."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import distinct, distinct_and_places
from lightloom.core.schedule import Op
from lightloom.core.violation import MOST_PER_RULE, Unlisted, Violation
from lightloom.instances.collectives import op_of
from lightloom.validate.data import all_to_all
from lightloom.validate.data.moves import Excerpt, Moves, Ranges, expand, moves_of
from lightloom.validate.data.values import NOTHING, DenseCells, SparseCells, Values

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule
    from lightloom.core.task import Collective


MOST_CELLS = 2**24
"""Most (rank, atom) cells that are tracked at a time."""
CELLS_A_WRITE = 4
"""With more cells than this for each write, only those that are touched are tracked."""
MOST_LOAD = 2**22
"""Most writes and conditions of the atoms whose touched cells are tracked at a time."""
MOST_ELEMENTS = 2**20
"""Most (destination, atom) writes of one step that are expanded at a time."""
MOST_VALUE_BYTES = 2**28
"""Most memory for distinct values at a time."""

Rows = dict[int, tuple[int, int]]
"""Move -> (first chunk concerned, number of chunks concerned)."""


def check(
    schedule: Schedule, collective: Collective, chunks: IntArray | None = None
) -> Iterator[Violation | Unlisted]:
    """Yield what is wrong with the data of a schedule of a collective.

    Where `chunks` are given, only they are followed, with all chunks that share their
    fate.

    Rules ``source-holds-data``, ``reduce-into-nothing`` and ``write-conflict``, and
    the rules of `lightloom.validate.data.contributions` on what comes out. Transfers
    must be sound, each by itself.

    Every step reads the state at its release and writes at its end. Missing data are
    not moved; a reduce into nothing acts as a copy; of conflicting writes those go on
    that agree with the first row of the file (one copy, or the reduces).

    Atoms do not touch each other, so they are executed in blocks: time
    O((writes + conditions) log), where a write is of one atom, and a few hundred MB
    at most, whatever the schedule, unless the values of a single atom are larger.
    Large all-to-alls are first followed item by item, in far less of both, which
    proves them right if it does not stumble.

    `chunks`: chunks to follow, distinct and sorted; ``None`` for all.
    """
    if (
        chunks is None
        and collective.op == "all-to-all"
        and collective.rank_count**2 * collective.chunk_count > MOST_CELLS
        and all_to_all.accepts(schedule, collective)
    ):
        return
    moves = moves_of(schedule, collective)
    flow = _Faults()
    verdicts: list[Violation | Unlisted] = []
    listed: Counter[str] = Counter()
    ranks = collective.rank_count
    load = _load(moves)
    cells = ranks * moves.atom_count
    memory = None
    if chunks is None and cells > max(MOST_CELLS, CELLS_A_WRITE * int(load.sum())):
        spans = _loads(load)
    else:
        width = min(max(1, MOST_CELLS // ranks), moves.atom_count)
        memory = np.zeros((2, ranks * width), dtype=np.int32)
        spans = _spans(moves, width, chunks)
    todo = [(Excerpt(moves, 0, moves.atom_count), spans)] if spans else []
    while todo:
        excerpt, spans = todo.pop()
        if len(spans) > 1:
            middle = len(spans) // 2
            todo += [
                (excerpt.within(some[0][0], some[-1][1]), some)
                for some in (spans[middle:], spans[:middle])
            ]
            continue
        lo, hi = spans[0]
        block = _Block(excerpt.within(lo, hi), ranks, memory)
        pieces = block.run()
        if pieces > 1:
            todo.append((block.excerpt, _cut(lo, hi, pieces)))
            continue
        flow.merge(block.faults)
        verdicts += check_postcondition(
            block.cells,
            block.values,
            collective,
            moves,
            reduces=op_of(collective).reduces,
            atom_lo=lo,
            atom_hi=hi,
            listed=listed,
        )
    yield from flow.violations(moves, collective)
    yield from verdicts


def _spans(moves: Moves, width: int, chunks: IntArray | None) -> list[tuple[int, int]]:
    """Return the atoms to follow, as ranges of at most `width`."""
    if chunks is None:
        starts = range(0, moves.atom_count, width)
        return [(lo, min(lo + width, moves.atom_count)) for lo in starts]
    atoms = distinct(np.searchsorted(moves.chunk_of_atom, chunks, side="right") - 1)
    return [(atom, atom + 1) for atom in atoms.tolist()]


def _cut(lo: int, hi: int, pieces: int) -> list[tuple[int, int]]:
    """Return some atoms as ranges of about equal size, at most as many as atoms."""
    count = min(pieces, hi - lo)
    return list(pairwise(lo + (hi - lo) * cut // count for cut in range(count + 1)))


def _load(moves: Moves) -> IntArray:
    """Return how often each atom is written, held at first or due in the end."""
    change = np.zeros(moves.atom_count + 1, dtype=np.int64)
    for rows in (moves, moves.initial, moves.final):
        change += np.bincount(rows.lo, minlength=len(change))
        change -= np.bincount(rows.hi, minlength=len(change))
    return np.cumsum(change)[:-1]


def _loads(load: IntArray) -> list[tuple[int, int]]:
    """Return all atoms as ranges of about `MOST_LOAD` each."""
    number = (np.cumsum(load) - load) // MOST_LOAD
    cuts = (np.flatnonzero(np.diff(number)) + 1).tolist()
    return list(zip([0, *cuts], [*cuts, len(load)], strict=True))


class _Faults:
    """Broken data rules, gathered over blocks of atoms."""

    def __init__(self) -> None:
        self.missing: Rows = {}
        self.nothing: Rows = {}
        self.conflict: Rows = {}

    def merge(self, other: _Faults) -> None:
        for mine, theirs in (
            (self.missing, other.missing),
            (self.nothing, other.nothing),
            (self.conflict, other.conflict),
        ):
            for move, (chunk, count) in theirs.items():
                first, total = mine.get(move, (chunk, 0))
                mine[move] = (min(first, chunk), total + count)

    def violations(self, moves: Moves, collective: Collective) -> Iterator[Violation]:
        sentences = (
            ("source-holds-data", self.missing, "node {src} sends to node {dst}"),
            ("reduce-into-nothing", self.nothing, "node {src} adds at node {dst} to"),
            ("write-conflict", self.conflict, "another transfer writes at node {dst}"),
        )
        ends = (
            " {chunks} that it does not hold",
            " {chunks} that is not there",
            " {chunks} as well",
        )
        nodes = collective.nodes
        for (rule, rows, start), end in zip(sentences, ends, strict=True):
            for move, (chunk, count) in sorted(rows.items()):
                src = nodes[moves.src[move]]
                dst = nodes[moves.dst[move]]
                more = f" and {count - 1} more" if count > 1 else ""
                text = (start + end).format(
                    src=src, dst=dst, chunks=f"chunk {chunk}{more}"
                )
                where = f"row {moves.row_in_step(move)}, transfer {src} -> {dst}"
                yield Violation(rule, int(moves.step[move]), where, text)


class _Block:
    """The execution of all steps on a block of atoms."""

    cells: DenseCells | SparseCells

    def __init__(
        self, excerpt: Excerpt, ranks: int, memory: npt.NDArray[np.int32] | None
    ) -> None:
        self.excerpt, self.moves = excerpt, excerpt.moves
        self.lo, self.hi = excerpt.lo, excerpt.hi
        self.ranks, self.memory = ranks, memory
        self.values = Values(ranks)
        self.faults = _Faults()

    def run(self) -> int:
        """Execute; return 1, or into how many pieces it must be cut instead."""
        lo, hi = self.excerpt.ranges()
        starts = self.excerpt.step_starts()
        divisible = self.hi - self.lo > 1
        if divisible and len(starts):
            most = int(np.add.reduceat(hi - lo, starts).max())
            if most > MOST_ELEMENTS:
                return -(-most // MOST_ELEMENTS)
        if self.memory is None:
            self.cells = SparseCells(self.hi - self.lo, self._touched(lo, hi))
        else:
            self.cells = DenseCells(self.ranks, self.hi - self.lo, self.memory)
        self._start(self.moves.initial)
        for a, b in pairwise([*starts.tolist(), len(lo)]):
            self._step(self.excerpt.numbers(a, b), lo[a:b], hi[a:b])
            if divisible and self.values.size_bytes > MOST_VALUE_BYTES:
                return 2
        return 1

    def _inside(self, ranges: Ranges) -> IntArray:
        """Return the rows that concern atoms of the block."""
        return np.flatnonzero((ranges.lo < self.hi) & (ranges.hi > self.lo))

    def _touched(self, lo: IntArray, hi: IntArray) -> list[tuple[IntArray, IntArray]]:
        """Return (ranks, atoms) that hold something at some time, or must."""
        within, atom = expand(lo, hi)
        written = self.moves.dst[self.excerpt.numbers(0, len(lo))]
        places = [(written[within], atom)]
        for ranges in (self.moves.initial, self.moves.final):
            rows = self._inside(ranges)
            lo = np.maximum(ranges.lo[rows], self.lo) - self.lo
            within, atom = expand(lo, np.minimum(ranges.hi[rows], self.hi) - self.lo)
            places.append((ranges.rank[rows][within], atom))
        return places

    def _start(self, initial: Ranges) -> None:
        for row in self._inside(initial).tolist():
            rank = int(initial.rank[row])
            a = max(int(initial.lo[row]), self.lo) - self.lo
            b = min(int(initial.hi[row]), self.hi) - self.lo
            self.cells.fill(rank, a, b, self.values.intern(1 << rank))

    def _step(self, rows: IntArray, lo: IntArray, hi: IntArray) -> None:
        moves, cells = self.moves, self.cells
        within, atom = expand(lo, hi)
        move = rows[within]
        value = cells[moves.src[move], atom].astype(np.int64)
        if (value == NOTHING).any():
            absent = value == NOTHING
            self._report(self.faults.missing, move[absent], atom[absent])
            move, atom, value = move[~absent], atom[~absent], value[~absent]
        cell = cells.cell(moves.dst[move], atom)
        number = np.arange(len(cell))
        cells.writer[cell] = number
        if (cells.writer[cell] != number).any():
            order = np.argsort(cell, kind="stable")
            move, atom = move[order], atom[order]
            kept = self._settle(move, cell[order], atom)
            move, atom = move[kept], atom[kept]
            cell, value = cell[order][kept], value[order][kept]
        reduce = moves.op[move] == Op.REDUCE
        targets, before = cell[reduce], cells.ids[cell[reduce]].astype(np.int64)
        if (before == NOTHING).any():
            empty = before == NOTHING
            self._report(self.faults.nothing, move[reduce][empty], atom[reduce][empty])
        cells.ids[cell[~reduce]] = value[~reduce]
        self._reduce(targets, value[reduce])

    def _settle(self, move: IntArray, cell: IntArray, atom: IntArray) -> IntArray:
        """Report conflicting writes, sorted by cell; return those that go on."""
        op = self.moves.op[move]
        first = np.concatenate([[True], cell[1:] != cell[:-1]])
        start = np.maximum.accumulate(np.where(first, np.arange(len(cell)), 0))
        leads = op[start]  # what the first write into the cell does
        clash = ~first & ((op == Op.COPY) | (leads == Op.COPY))
        self._report(self.faults.conflict, move[clash], atom[clash])
        return np.flatnonzero(~clash)

    def _reduce(self, cell: IntArray, value: IntArray) -> None:
        """Add all values of a cell, rows sorted by cell, to its state."""
        ids = self.cells.ids
        first = np.diff(cell, prepend=-1) != 0
        if first.all():
            ids[cell] = self.values.add_columns(ids[cell].astype(np.int64), value)
            return
        heads = np.flatnonzero(first)
        before = ids[cell[heads]].astype(np.int64)
        value = np.insert(value, heads, before)
        ids[cell[heads]] = self.values.sums(value, heads + np.arange(len(heads)))

    def _report(self, rows: Rows, move: IntArray, atom: IntArray) -> None:
        if not len(move):
            return
        order = np.argsort(move, kind="stable")
        move, atom = move[order], atom[order] + self.lo
        ends = self.moves.chunk_of_atom
        starts = np.flatnonzero(np.diff(move, prepend=-1))
        first = np.minimum.reduceat(ends[atom], starts).tolist()
        size = np.add.reduceat(ends[atom + 1] - ends[atom], starts).tolist()
        for row, chunk, count in zip(move[starts].tolist(), first, size, strict=True):
            earlier, total = rows.get(row, (chunk, 0))
            rows[row] = (min(earlier, chunk), total + count)


_SHOWN = 4
"""Ranks that a message names."""


def check_postcondition(
    state: npt.NDArray[np.int32] | DenseCells | SparseCells,
    values: Values,
    collective: Collective,
    moves: Moves,
    *,
    reduces: bool,
    atom_lo: int,
    atom_hi: int,
    listed: Counter[str],
) -> Iterator[Violation | Unlisted]:
    """Yield what a block of atoms lacks, or has too much of, in the end.

    Rules ``post-condition-missing``, ``post-condition-double``,
    ``post-condition-wrong``; one violation a node, rule and run of chunks that
    share their fault. The first `MOST_PER_RULE` of a rule are listed, the others
    counted.

    `state`: value ids by rank and atom, the latter from 0 to ``atom_hi - atom_lo``.
    `listed`: how many of each rule earlier blocks listed; those of this one are added.
    """
    wanted = _wanted(
        values, collective, moves, reduces=reduces, atom_lo=atom_lo, atom_hi=atom_hi
    )
    final = moves.final
    rows = np.flatnonzero((final.lo < atom_hi) & (final.hi > atom_lo))
    lo = np.maximum(final.lo[rows], atom_lo) - atom_lo
    hi = np.minimum(final.hi[rows], atom_hi) - atom_lo
    piece = np.cumsum(hi - lo) // MOST_ELEMENTS
    cuts = (np.flatnonzero(np.diff(piece)) + 1).tolist()
    for a, b in pairwise([0, *cuts, len(rows)]):
        within, atom = expand(lo[a:b], hi[a:b])
        rank = final.rank[rows[a:b]][within]
        held, due = state[rank, atom].astype(np.int64), wanted[atom]
        off = np.flatnonzero(held != due)
        if len(off):
            runs = _runs(rank[off], atom[off] + atom_lo, held[off] << 32 | due[off])
            yield from _listed(runs, values, collective, moves, listed)


def _runs(
    rank: IntArray, atom: IntArray, fault: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return rank, first atom, last atom and fault of runs of atoms that share both."""
    joined = (rank[1:] == rank[:-1]) & (atom[1:] == atom[:-1] + 1)
    joined &= fault[1:] == fault[:-1]
    starts = np.flatnonzero(np.concatenate([[True], ~joined]))
    ends = np.append(starts[1:], len(rank)) - 1
    return rank[starts], atom[starts], atom[ends], fault[starts]


def _listed(
    runs: tuple[IntArray, IntArray, IntArray, IntArray],
    values: Values,
    collective: Collective,
    moves: Moves,
    listed: Counter[str],
) -> Iterator[Violation | Unlisted]:
    """Yield the first violations of each rule, and how many more there are.

    A fault is the value id that is held, times 2**32, and the one that is due.
    """
    rank, first, last, fault = runs
    faults, kind = distinct_and_places(fault)
    by_rule: dict[str, dict[int, str]] = {}
    for number, pair in enumerate(faults.tolist()):
        for rule, text in _faults(
            values, pair >> 32, pair & 0xFFFFFFFF, collective.nodes
        ):
            by_rule.setdefault(rule, {})[number] = text
    for rule, texts in by_rule.items():
        concerned = np.zeros(len(faults), dtype=np.bool_)
        concerned[list(texts)] = True
        rows = np.flatnonzero(concerned[kind])
        room = MOST_PER_RULE - listed[rule]
        for row in rows[:room].tolist():
            node = collective.nodes[rank[row]]
            lo = int(moves.chunk_of_atom[first[row]])
            hi = int(moves.chunk_of_atom[last[row] + 1])
            chunks = f"chunk {lo}" if hi - lo == 1 else f"chunks {lo}:{hi}"
            where = f"{chunks} of node {node}"
            message = f"node {node} {texts[int(kind[row])]} in {chunks}"
            yield Violation(rule, None, where, message)
        listed[rule] += min(room, len(rows))
        if len(rows) > room:
            yield Unlisted(rule, len(rows) - room)


def _wanted(
    values: Values,
    collective: Collective,
    moves: Moves,
    *,
    reduces: bool,
    atom_lo: int,
    atom_hi: int,
) -> IntArray:
    """Return the value id that each atom of the block must end with."""
    width = atom_hi - atom_lo
    if reduces:
        everyone = values.intern((1 << collective.rank_count) - 1)
        return np.full(width, everyone, dtype=np.int64)
    wanted = np.zeros(width, dtype=np.int64)
    initial = moves.initial
    rows = np.flatnonzero((initial.lo < atom_hi) & (initial.hi > atom_lo))
    for row in rows.tolist():
        lo = max(int(initial.lo[row]) - atom_lo, 0)
        hi = min(int(initial.hi[row]) - atom_lo, width)
        wanted[lo:hi] = values.intern(1 << int(initial.rank[row]))
    return wanted


def _faults(
    values: Values, has: int, must: int, nodes: tuple[int, ...]
) -> Iterator[tuple[str, str]]:
    once, twice = values.masks(has)
    due, _ = values.masks(must)
    if not once:
        yield "post-condition-missing", "has nothing"
        return
    if due & ~once:
        yield (
            "post-condition-missing",
            f"lacks the contribution of node {_named(due & ~once, nodes)}",
        )
    if twice & due:
        yield (
            "post-condition-double",
            f"has more than once the contribution of node {_named(twice & due, nodes)}",
        )
    if once & ~due:
        yield (
            "post-condition-wrong",
            f"has a foreign contribution of node {_named(once & ~due, nodes)}",
        )


def _named(mask: int, nodes: tuple[int, ...]) -> str:
    """Return the first few nodes of a mask of ranks in words."""
    ranks: list[int] = []
    rest = mask
    while rest and len(ranks) < _SHOWN:
        ranks.append((rest & -rest).bit_length() - 1)
        rest &= rest - 1
    more = f" and {rest.bit_count()} more" if rest else ""
    return ", ".join(str(nodes[rank]) for rank in ranks) + more
