"""Distinct values and groups of rows, and their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray

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
