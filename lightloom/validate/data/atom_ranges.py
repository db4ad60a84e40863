"""Excerpts of moves: those that concern a range of atoms, cut to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.validate.data.moves import Moves


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
