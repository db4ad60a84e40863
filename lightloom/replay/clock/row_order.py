"""Sorting of columns: which order their rows take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray

_MOST_BITS = 63


def is_sorted(keys: IntArray) -> bool:
    """Return whether no row of a column is less than the row before it."""
    return not (keys[1:] < keys[:-1]).any()


def stable_order(keys: IntArray) -> IntArray:
    """Return the rows of a column of non-negative keys, sorted; ties stay as they are.

    What a stable ``np.argsort`` returns. Keys that are sorted already, as nearly all
    are, are only looked at; others are sorted together with their row numbers as
    integers, many times as fast, where both fit one.
    """
    rows = np.arange(len(keys), dtype=np.int64)
    if is_sorted(keys):
        return rows
    row_bits = len(keys).bit_length()
    if int(keys.max()).bit_length() + row_bits > _MOST_BITS:
        return np.argsort(keys, kind="stable")
    packed = keys << row_bits | rows
    packed.sort()
    packed &= (1 << row_bits) - 1
    return packed
