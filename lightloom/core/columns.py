"""Columns of integers, plain and ragged: how rows are held in memory."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


def column(values: Iterable[int] | IntArray) -> IntArray:
    """Return `values` as an int64 column of shape (rows,)."""
    if not isinstance(values, np.ndarray):
        values = np.fromiter(values, dtype=np.int64)
    return values.astype(np.int64, copy=False)


@dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of different lengths: row i is ``values[offsets[i]:offsets[i + 1]]``.

    Attributes
    ----------
    offsets
        Shape (rows + 1,), non-decreasing, first 0, last ``len(values)``.
    values
        All rows, one after another.

    Examples
    --------
    >>> rows = Ragged.from_lists([[4, 7], [], [1]])
    >>> rows.offsets.tolist(), rows.values.tolist()
    ([0, 2, 2, 3], [4, 7, 1])
    >>> rows[0].tolist()
    [4, 7]
    """

    offsets: IntArray
    values: IntArray

    @classmethod
    def from_lists(cls, rows: Sequence[Sequence[int]]) -> Ragged:
        """Pack a list of rows."""
        lengths = np.fromiter((len(row) for row in rows), np.int64, len(rows))
        values = np.fromiter(
            (value for row in rows for value in row), np.int64, int(lengths.sum())
        )
        return cls.from_lengths(lengths, values)

    @classmethod
    def from_lengths(cls, lengths: IntArray, values: IntArray) -> Ragged:
        """Pack values that are already laid end to end.

        Parameters
        ----------
        lengths
            Number of values of each row, from 0; of shape (rows,).
        values
            All rows laid end to end; of shape (sum of `lengths`,).
        """
        offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(offsets, values)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> IntArray:
        """Return one row."""
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> IntArray:
        """Length of each row, shape (rows,)."""
        return np.diff(self.offsets)

    @property
    def row_of_value(self) -> IntArray:
        """Row that each element of `values` belongs to."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.lengths)

    def take(self, rows: IntArray) -> Ragged:
        """Return the given rows, in the given order."""
        lengths = self.lengths[rows]
        starts = np.repeat(self.offsets[rows], lengths)
        within = np.arange(int(lengths.sum())) - np.repeat(
            np.cumsum(lengths) - lengths, lengths
        )
        return Ragged.from_lengths(lengths, self.values[starts + within])

    def to_lists(self) -> list[list[int]]:
        """Unpack to a list of rows."""
        values, offsets = self.values.tolist(), self.offsets.tolist()
        return [values[a:b] for a, b in itertools.pairwise(offsets)]
