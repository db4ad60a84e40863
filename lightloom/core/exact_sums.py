"""Sums of 63-bit integers that do not overflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray

_HALF = 32
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
