"""Large matrices as permutations: the heavy half of all entries, then halves of it.

Entries that share a permutation should be of one size. Every line has its entries cut
into a heavy and a light half of equal numbers, by a maximum flow that moves only
entries near the median between the halves, and so on until permutations are left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.plans.edge_colouring import edge_colours
from lightloom.synth.ocs.cycle_exchange import exchanged
from lightloom.synth.ocs.permutation_peeling import Permutations

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray

_COLOURED = 8
"""Halves with so many entries a line, or fewer, are coloured, then exchanged."""
_NARROWEST = 0.08
"""Share of the entries of a half that are free to change sides at first."""


def split_by_magnitude(src: IntArray, dst: IntArray, size: FloatArray) -> Permutations:
    """Return as many permutations as the busiest line has entries.

    `src`, `dst`: lines of the entries, numbered from 0; no entry twice. Shape
    (entries,).

    Near-linear in the number of lines times the entries of the busiest one: some
    maximum flows at each of its halvings.
    """
    lines = 1 + int(max(src.max(), dst.max()))
    degrees = [np.bincount(end, minlength=lines) for end in (src, dst)]
    degree = int(max(each.max() for each in degrees))
    free = [np.repeat(np.arange(lines), degree - each) for each in degrees]
    src, dst = (np.concatenate(ends) for ends in zip((src, dst), free, strict=True))
    size = np.concatenate([size, np.zeros(len(src) - len(size))])
    column = np.zeros((degree, lines), dtype=np.int64)
    part = np.zeros((degree, lines))
    waiting = [(np.arange(len(src)), degree, 0)]
    while waiting:
        rows, count, place = waiting.pop()
        if count > _COLOURED:
            heavy = _heavy_half(src[rows], dst[rows], size[rows], lines, count // 2)
            waiting.append((rows[heavy], count // 2, place))
            waiting.append((rows[~heavy], count - count // 2, place + count // 2))
            continue
        colour = edge_colours(src[rows], dst[rows])
        column[place + colour, src[rows]] = dst[rows]
        part[place + colour, src[rows]] = size[rows]
        here = slice(place, place + count)
        better = exchanged(Permutations(column[here], part[here]), count * count)
        column[here], part[here] = better.column, better.part
    return Permutations(column, part)


def _heavy_half(
    src: IntArray, dst: IntArray, size: FloatArray, lines: int, degree: int
) -> np.ndarray:
    """Return which entries of a regular graph form its heavy half, of some degree."""
    order = np.argsort(-size, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    middle, share = lines * degree, _NARROWEST
    while True:
        width = int(share * len(order))
        heavy = rank < middle - width
        free = ~heavy & (rank < middle + width)
        if _completed(src, dst, heavy, free, lines, degree):
            return heavy
        share *= 2


def _completed(
    src: IntArray,
    dst: IntArray,
    heavy: np.ndarray,
    free: np.ndarray,
    lines: int,
    degree: int,
) -> bool:
    """Add free entries to heavy ones so that each line has `degree`, if that can be."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    lacking = [degree - np.bincount(end[heavy], minlength=lines) for end in (src, dst)]
    if min(int(each.min()) for each in lacking) < 0:
        return False
    source, sink = 2 * lines, 2 * lines + 1
    chosen = np.flatnonzero(free)
    tail, head = src[chosen], lines + dst[chosen]
    each = np.arange(lines)
    graph = csr_array(
        (
            np.concatenate([np.ones(len(chosen)), *lacking]).astype(np.int32),
            (
                np.concatenate([tail, each * 0 + source, lines + each]),
                np.concatenate([head, each, each * 0 + sink]),
            ),
        ),
        shape=(sink + 1, sink + 1),
    )
    found = maximum_flow(graph, source, sink)
    if found.flow_value < int(lacking[0].sum()):
        return False
    pair = tail * (sink + 1) + head
    order = np.argsort(pair, kind="stable")
    first = np.searchsorted(pair[order], pair[order])
    flow = np.asarray(found.flow[tail[order], head[order]]).reshape(-1)
    taken = np.arange(len(order)) - first < flow
    heavy[chosen[order[taken]]] = True
    return True
