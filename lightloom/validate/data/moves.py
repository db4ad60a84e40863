"""Moves: all chunk transfers of a schedule as columns over ranks and atoms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from lightloom.core.columns import distinct, number_among
from lightloom.instances.collectives import op_of

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule, Transfers
    from lightloom.core.task import Collective


@dataclass(frozen=True, eq=False)
class Ranges:
    """Row i says that ``rank[i]`` has the atoms ``lo[i]:hi[i]``."""

    rank: IntArray
    lo: IntArray
    hi: IntArray


@dataclass(frozen=True, eq=False)
class Moves:
    """Transfers in the order of the file, row i moves atoms ``lo[i]:hi[i]``.

    An atom is a maximal range of chunks that no transfer, pre- or post-condition
    ever divides, so all its chunks share one fate.

    `chunk_of_atom`: first chunk of each atom, and one past the last, shape (atoms +
    1,).
    """

    step: IntArray
    src: IntArray
    dst: IntArray
    lo: IntArray
    hi: IntArray
    op: IntArray
    chunk_of_atom: IntArray
    initial: Ranges
    final: Ranges

    def row_in_step(self, move: int) -> int:
        """Return the row of a transfer among all transfers of its step."""
        return move - int(np.searchsorted(self.step, self.step[move]))

    @property
    def atom_count(self) -> int:
        """Number of atoms."""
        return len(self.chunk_of_atom) - 1


def moves_of(schedule: Schedule, collective: Collective) -> Moves:
    """Return the moves of a schedule whose transfers are sound, each by itself.

    Time O(m log m) and memory O(m) in transfers and condition rows.
    """
    parts = [cast("Transfers", part.transfers) for part in schedule.parts]
    steps = np.array([part.index for part in schedule.parts], dtype=np.int64)
    step = np.repeat(steps, [len(part) for part in parts])
    lo, hi = _joined([t.chunk_lo for t in parts]), _joined([t.chunk_hi for t in parts])
    chunk_of_atom, initial, final = conditions(collective, lo, hi)
    nodes = np.array(collective.nodes, dtype=np.int64)
    src, dst = _joined([t.src for t in parts]), _joined([t.dst for t in parts])
    if (nodes != np.arange(len(nodes))).any():
        rank = np.zeros(int(nodes.max()) + 1, dtype=np.int64)
        rank[nodes] = np.arange(len(nodes))
        src, dst = rank[src], rank[dst]
    return Moves(
        step,
        src,
        dst,
        number_among(chunk_of_atom, lo),
        number_among(chunk_of_atom, hi),
        _joined([t.op for t in parts]),
        chunk_of_atom,
        initial,
        final,
    )


def conditions(
    collective: Collective, *cuts: IntArray
) -> tuple[IntArray, Ranges, Ranges]:
    """Return the atoms of a collective, and its pre- and post-condition in them.

    The atoms are returned as their first chunks, and one past the last.

    `cuts`: further chunk numbers at which atoms end, shape (any,).
    """
    op = op_of(collective)
    holdings = (op.initial(collective), op.final(collective))
    ends = [end for rows in holdings for end in (rows.chunk_lo, rows.chunk_hi)]
    atoms = distinct(*ends, *cuts)
    initial, final = (
        Ranges(
            rows.rank,
            number_among(atoms, rows.chunk_lo),
            number_among(atoms, rows.chunk_hi),
        )
        for rows in holdings
    )
    return atoms, initial, final


def expand(lo: IntArray, hi: IntArray) -> tuple[IntArray, IntArray]:
    """Return (row, element) of every element of the ranges ``lo[i]:hi[i]``."""
    lengths = hi - lo
    row = np.repeat(np.arange(len(lo), dtype=np.int64), lengths)
    start = np.cumsum(lengths) - lengths - lo
    return row, np.arange(len(row), dtype=np.int64) - start[row]


def _joined(columns: list[IntArray]) -> IntArray:
    if len(columns) == 1:
        return columns[0]
    return np.concatenate([np.zeros(0, dtype=np.int64), *columns])


@dataclass(frozen=True, eq=False)
class Excerpt:
    """The moves of some atoms, in the order of the file.

    `rows`: rows of the moves that concern them, ascending; all where ``None``.
    """

    moves: Moves
    lo: int
    hi: int
    rows: IntArray | None = None

    def within(self, lo: int, hi: int) -> Excerpt:
        """Return the excerpt of fewer atoms; its cost is that of this one."""
        if (lo, hi) == (self.lo, self.hi):
            return self
        starts, ends = self._of_rows(self.moves.lo), self._of_rows(self.moves.hi)
        kept = np.flatnonzero((starts < hi) & (ends > lo))
        rows = kept if self.rows is None else self.rows[kept]
        return Excerpt(self.moves, lo, hi, rows)

    def ranges(self) -> tuple[IntArray, IntArray]:
        """Return the atoms that each move moves, cut to and counted from `lo`."""
        starts, ends = self._of_rows(self.moves.lo), self._of_rows(self.moves.hi)
        if self.rows is None:
            return starts, ends
        return np.maximum(starts - self.lo, 0), np.minimum(ends, self.hi) - self.lo

    def step_starts(self) -> IntArray:
        """Return the rows at which a step begins."""
        step = self._of_rows(self.moves.step)
        fresh = np.ones(len(step), dtype=np.bool_)
        fresh[1:] = step[1:] != step[:-1]
        return np.flatnonzero(fresh)

    def numbers(self, begin: int, end: int) -> IntArray:
        """Return which moves some rows are."""
        if self.rows is None:
            return np.arange(begin, end, dtype=np.int64)
        return self.rows[begin:end]

    def _of_rows(self, column: IntArray) -> IntArray:
        return column if self.rows is None else column[self.rows]
