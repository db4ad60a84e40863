"""Matrices of two levels as permutations: large entries coloured apart from small ones.

Peeling takes what is largest, permutation by permutation, and where the large entries
of a line run out early one of them is left for a permutation of small ones. Colours do
not: as many permutations hold all large entries as the busiest line has (König).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.plans.edge_colouring import edge_colours
from lightloom.synth.ocs.permutation_peeling import Permutations, peel

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray

_APART = 0.5
"""Small entries are no more than so much of large ones."""


def coloured_by_level(matrix: FloatArray) -> Permutations | None:
    """Return permutations of large entries, and permutations of small ones.

    The k-th largest entries of lines, by their median, fall most behind one k: what is
    above the middle of that fall is large. An entry as large as several large ones, as
    if in several permutations, is cut into so many; what it has beside them is small.
    Large entries are coloured, small ones peeled.

    Returns ``None`` where entries are of one level.
    """
    lines = np.concatenate([matrix, matrix.T])
    most = int(np.count_nonzero(lines, axis=1).max())
    by_rank = np.median(-np.sort(-lines, axis=1)[:, :most], axis=0)
    falls = by_rank[:-1] - by_rank[1:]
    if not len(falls):
        return None
    large, small = by_rank[falls.argmax() :][:2]
    if not 0 < small <= _APART * large:
        return None
    src, dst = np.nonzero(matrix)
    size = matrix[src, dst]
    times = np.where(size > (large + small) / 2, np.rint(size / large), 0)
    rest = size - times * large
    apart = np.where((times == 0) | (rest > small / 2), rest, 0.0)
    row = np.repeat(np.arange(len(size)), times.astype(np.int64))
    colour = edge_colours(src[row], dst[row])
    left = np.zeros_like(matrix)
    left[src, dst] = apart
    others = peel(left, 0)
    column, part = [others.column], [others.part]
    for one in range(int(colour.max(initial=-1)) + 1):
        held = row[colour == one]
        column.append(_completed(src[held], dst[held], len(matrix))[None, :])
        moved = np.zeros((1, len(matrix)))
        moved[0, src[held]] = ((size - apart) / np.maximum(times, 1))[held]
        part.append(moved)
    return Permutations(np.concatenate(column), np.concatenate(part))


def _completed(src: IntArray, dst: IntArray, lines: int) -> IntArray:
    """Return a permutation of all lines that holds some pairs."""
    column = np.full(lines, -1, dtype=np.int64)
    column[src] = dst
    column[column < 0] = np.setdiff1d(np.arange(lines), dst)
    return column
