"""Demands on switches that join ports both ways: matchings of pairs of like size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray


def matchings_by_size(
    src: IntArray, dst: IntArray, size: FloatArray
) -> tuple[list[IntArray], FloatArray]:
    """Return matchings of nodes that hold all pairs, and how long each has to last.

    A circuit carries what its two nodes have for each other at the same time. Those
    who have most come first; each joins the first matching in which both are free. At
    most twice as many matchings as the busiest node has partners, less one.

    `src`, `dst`: nodes numbered from 0, alike at both ends; no pair twice. Shape
    (pairs,).

    Returns rows of each matching, and the largest size among them.
    """
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    _, joined = np.unique(low * (int(high.max()) + 1) + high, return_inverse=True)
    joined = joined.reshape(-1)
    largest = np.zeros(int(joined.max()) + 1)
    np.maximum.at(largest, joined, size)
    first = np.zeros(len(largest), dtype=np.int64)
    first[joined] = np.arange(len(joined))
    taken = [0] * (int(high.max()) + 1)
    matching = np.zeros(len(largest), dtype=np.int64)
    for edge in np.argsort(-largest, kind="stable").tolist():
        one, other = int(low[first[edge]]), int(high[first[edge]])
        busy = taken[one] | taken[other]
        free = ~busy & (busy + 1)
        taken[one] |= free
        taken[other] |= free
        matching[edge] = free.bit_length() - 1
    of_row = matching[joined]
    held = [np.flatnonzero(of_row == one) for one in range(int(of_row.max()) + 1)]
    return held, np.array([float(size[rows].max()) for rows in held])
