"""Cells: which value each rank holds of each atom, densely or sparsely stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import distinct
from lightloom.validate.data.values import NOTHING

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt

    from lightloom.core.columns import IntArray

    Places: TypeAlias = tuple[IntArray, IntArray]


class DenseCells:
    """A cell for every rank and every atom of a block.

    `ranks`, `width`: ranks, and atoms of the block. `memory`: scratch of shape (2, at
    least ranks * width), used again for every block.

    `ids`: value ids by cell, `NOTHING` at first. `writer`: scratch by cell, of any
    content.
    """

    def __init__(self, ranks: int, width: int, memory: npt.NDArray[np.int32]) -> None:
        self._width = width
        count = ranks * width
        self.ids, self.writer = memory[0, :count], memory[1, :count]
        self.ids[:] = NOTHING

    def __getitem__(self, place: Places) -> npt.NDArray[np.int32]:
        """Return the value ids at (ranks, atoms)."""
        return self.ids[self.cell(*place)]

    def cell(self, rank: IntArray, atom: IntArray) -> IntArray:
        """Return the cells of ranks and atoms."""
        return rank * self._width + atom

    def fill(self, rank: int, lo: int, hi: int, value: int) -> None:
        """Let a rank hold a value of the atoms ``lo:hi``."""
        start = rank * self._width
        self.ids[start + lo : start + hi] = value


class SparseCells:
    """Only those cells that hold something at some time, or must in the end.

    `places`: (ranks, atoms) that have a cell, in any order, repeated or not. All others
    hold nothing, for good.
    """

    def __init__(self, width: int, places: list[Places]) -> None:
        self._width = width
        self._keys = distinct(*(rank * width + atom for rank, atom in places))
        self.ids = np.full(len(self._keys) + 1, NOTHING, dtype=np.int32)
        self.writer = np.zeros(len(self._keys), dtype=np.int32)

    def __getitem__(self, place: Places) -> npt.NDArray[np.int32]:
        """Return the value ids at (ranks, atoms), with or without a cell."""
        rank, atom = place
        key = rank * self._width + atom
        cell = np.searchsorted(self._keys, key)
        absent = len(self._keys)
        there = self._keys[np.minimum(cell, absent - 1)] == key
        return self.ids[np.where(there, cell, absent)]

    def cell(self, rank: IntArray, atom: IntArray) -> IntArray:
        """Return the cells of ranks and atoms, each of which has one."""
        return np.searchsorted(self._keys, rank * self._width + atom)

    def fill(self, rank: int, lo: int, hi: int, value: int) -> None:
        """Let a rank hold a value of the atoms ``lo:hi``, each of which has a cell."""
        ends = [rank * self._width + lo, rank * self._width + hi]
        a, b = np.searchsorted(self._keys, ends)
        self.ids[a:b] = value
