"""Matrices as few weighted permutations that last little more than the busiest line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.synth.ocs.cycle_exchange import exchanged
from lightloom.synth.ocs.magnitude_split import split_by_magnitude
from lightloom.synth.ocs.permutation_peeling import peel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.synth.ocs.permutation_peeling import Permutations

_POWERS = (0, 1, 2, 4)
_PEELED = 2**22
"""Most lines squared, times permutations, that are peeled; more are split."""
_PEELED_TOO = 2**26
"""The same, for those that are split to be peeled too."""
_PEELED_OFTEN = 2**19
"""The same, for all rules to be tried."""
_EXCHANGES = 512


def decompositions(
    src: IntArray,
    dst: IntArray,
    size: FloatArray,
    lines: int,
    *,
    thorough: bool = False,
) -> Iterator[Permutations]:
    """Yield permutations that cover a matrix, by several rules where it is small.

    `src`, `dst`: lines of the entries, 0 to `lines` - 1, no entry twice; shape
    (entries,). `size`: positive; the largest line sum is about 1. `thorough`: whether
    what is split, as it is large, is peeled too if that takes seconds.
    """
    most = max(int(np.bincount(end).max()) for end in (src, dst))
    work = lines * lines * most
    if work > _PEELED:
        yield split_by_magnitude(src, dst, size)
        if not thorough or work > _PEELED_TOO:
            return
    matrix = np.zeros((lines, lines))
    matrix[src, dst] = size
    for power in _POWERS if work <= _PEELED_OFTEN else _POWERS[:1]:
        yield exchanged(peel(matrix, power), _EXCHANGES)


def ports_by_size(src: IntArray, dst: IntArray, size_bytes: IntArray) -> IntArray:
    """Return a partial permutation for each pair; the first hold the largest pairs.

    As few as the busiest node has partners.

    `src`, `dst`: nodes, no pair twice; shape (pairs,), pairs > 0.
    """
    row, column = (
        np.unique(end, return_inverse=True)[1].astype(np.int64) for end in (src, dst)
    )
    lines = 1 + max(int(row.max()), int(column.max()))
    unit = max(float(np.bincount(e, weights=size_bytes).max()) for e in (row, column))
    size = (size_bytes / unit).astype(np.float64)
    best = min(
        decompositions(row, column, size, lines),
        key=lambda permutations: float(permutations.weight.sum()),
    )
    place = np.full((lines, lines), -1, dtype=np.int64)
    place[row, column] = np.arange(len(row))
    port = np.zeros(len(row), dtype=np.int64)
    largest = np.zeros(len(row))
    rows = np.arange(lines)
    order = np.argsort(-best.weight, kind="stable")
    for number, which in enumerate(order.tolist()):
        pair = place[rows, best.column[which]]
        part = best.part[which]
        more = (pair >= 0) & (part > 0)
        more[more] = part[more] > largest[pair[more]]
        port[pair[more]], largest[pair[more]] = number, part[more]
    return port
