"""Entries of two permutations exchanged, so that they last less together.

The entries of two permutations form cycles. In each of them either permutation may
have the one half of the entries or the other. The larger halves all in one permutation
make the other one as short as can be.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from lightloom.synth.ocs.permutation_peeling import Permutations

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray

_SWEEPS = 3


def exchanged(permutations: Permutations, most_pairs: int) -> Permutations:
    """Return permutations of the same entries that last no longer together.

    `most_pairs`: most pairs of permutations that are looked at in a sweep; the pairs of
    nearest weights come first.

    Three sweeps at most; a pair takes time in proportion to the rows.
    """
    column, part = permutations.column.copy(), permutations.part.copy()
    order = np.argsort(-permutations.weight, kind="stable").tolist()
    count = len(order)
    reach = count if not count else max(1, most_pairs // count)
    for _ in range(_SWEEPS):
        gained = False
        for first, second in combinations(range(count), 2):
            if second - first > reach:
                continue
            gained |= _exchange(column, part, order[first], order[second])
        if not gained:
            break
    return Permutations(column, part)


def _exchange(column: IntArray, part: np.ndarray, first: int, second: int) -> bool:
    """Exchange cycles of two permutations in place; return whether that gains."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if part[second].max() > part[first].max():
        first, second = second, first
    before = float(part[second].max())
    if not (part[second] > part[first]).any():
        return False
    rows = np.arange(column.shape[1])
    row_of = np.empty_like(rows)
    row_of[column[second]] = rows
    following = row_of[column[first]]
    graph = csr_array(
        (np.ones(len(rows), dtype=np.int8), (rows, following)), shape=(len(rows),) * 2
    )
    cycles, cycle = connected_components(graph, directed=False)
    larger = np.zeros((2, cycles))
    for side, which in enumerate((first, second)):
        np.maximum.at(larger[side], cycle, part[which])
    swap = (larger[1] > larger[0])[cycle]
    for array in (column, part):
        kept = array[first].copy()
        array[first] = np.where(swap, array[second], kept)
        array[second] = np.where(swap, kept, array[second])
    return bool(part[second].max() < before)
