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


_PLACES_A_VALUE = 4
"""Values are marked in a table where it has no more places than this for each."""

_MULTIPLIER = 0x9E3779B97F4A7C15
"""Odd, and its powers modulo 2**64 are far from each other."""


def distinct(*columns: IntArray) -> IntArray:
    """Return the distinct values of some columns together, sorted.

    What ``np.unique`` returns; that one hashes, which is ten times slower on columns of
    a million regularly spaced integers, the usual case here.
    """
    filled = [column for column in columns if len(column)]
    if not filled:
        return np.empty(0, dtype=np.int64)
    low = min(int(column.min()) for column in filled)
    places = max(int(column.max()) for column in filled) - low + 1
    if places <= _PLACES_A_VALUE * sum(map(len, filled)):
        there = np.zeros(places, dtype=np.bool_)
        for column in filled:
            there[column - low if low else column] = True
        return np.flatnonzero(there) + low
    ordered = np.sort(np.concatenate(filled))
    first = np.ones(len(ordered), dtype=np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    found: IntArray = ordered[first]
    return found


def distinct_and_places(values: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct values of a column, sorted, and the place of each row's.

    What ``np.unique`` returns with its inverse; without sorting where values are dense.

    Parameters
    ----------
    values
        Whole numbers, shape (rows,).
    """
    low = int(values.min(initial=0))
    count = int(values.max(initial=0)) - low + 1
    if count > _PLACES_A_VALUE * len(values):
        return np.unique(values, return_inverse=True)
    there = np.zeros(count, dtype=np.bool_)
    there[values - low] = True
    known = np.flatnonzero(there)
    place = np.empty(count, dtype=np.int64)
    place[known] = np.arange(len(known))
    return known + low, place[values - low]


def alike_groups(values: IntArray, starts: IntArray) -> IntArray:
    """Return for every group of rows a group with the same values in the same order.

    The hash of a group finds one that may be alike, and all rows are compared then:
    groups with different values are never taken for alike.

    Parameters
    ----------
    values
        Whole numbers, shape (rows,).
    starts
        First row of each group, ascending, the first of them 0; no group is empty.

    Returns
    -------
    Shape (groups,); a group that stands for others stands for itself.
    """
    size = np.diff(starts, append=len(values))
    row = np.arange(len(values))
    place = row - np.repeat(starts, size)
    powers = np.cumprod(np.full(size.max(initial=0), _MULTIPLIER, dtype=np.uint64))
    hashes = np.add.reduceat((values + 1).astype(np.uint64) * powers[place], starts)
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    like: IntArray = first[group]
    other = np.minimum(row + np.repeat(starts[like] - starts, size), len(values) - 1)
    alike = np.logical_and.reduceat(values == values[other], starts)
    alike &= size == size[like]
    return np.where(alike, like, np.arange(len(starts)))


def number_among(known: IntArray, values: IntArray) -> IntArray:
    """Return the row of each value among known ones.

    What ``np.searchsorted`` returns; without a search where values count from 0.

    Parameters
    ----------
    known
        Known values, ascending and distinct; of shape (known,).
    values
        Values, each among `known`; of shape (rows,).
    """
    if len(known) and known[0] == 0 and known[-1] == len(known) - 1:
        return values
    return np.searchsorted(known, values)


_HALF = 32
"""Bits of a half of a word: halves of 2**31 rows add up in 63 bits."""
_LOW = 2**_HALF - 1


def exact_sums(where: IntArray, values: IntArray, size: int) -> list[int]:
    """Return the sums of the `values` that go to each of `size` places.

    Parameters
    ----------
    where
        Place of each value, 0 to size - 1.
    values
        Non-negative; at most 2**31 of them. High and low halves are added apart,
        so that nothing overflows, and joined as Python integers.
    size
        Number of places.

    Examples
    --------
    >>> exact_sums(np.array([0, 2, 0]), np.array([2**62, 5, 2**62]), 3)
    [9223372036854775808, 0, 5]
    """
    high, low = (np.zeros(size, dtype=np.int64) for _ in range(2))
    np.add.at(high, where, values >> _HALF)
    np.add.at(low, where, values & _LOW)
    return [
        (top << _HALF) + bottom
        for top, bottom in zip(high.tolist(), low.tolist(), strict=True)
    ]
