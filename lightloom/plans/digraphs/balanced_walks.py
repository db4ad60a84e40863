"""Shortest walks between all pairs that load the arcs of every hop evenly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray

_NEVER = np.int64(1) << 40
# Placing all walks a second time, knowing all others, evens out small digraphs.
_SWEPT_TWICE = 256


def even_walks(src: IntArray, dst: IntArray, distance: IntArray) -> IntArray:
    """Return a shortest walk for every pair, greedily keeping arcs evenly loaded.

    Walks start together and take one arc a hop; what counts is how many take an
    arc in the same hop. Pairs are placed offset by offset, so that pairs placed
    together neither begin nor end at the same node: their first and last arcs are
    compared with all placed before. Time O(n^2 d) for each hop.

    `src`, `dst`: arcs of a strongly connected digraph on nodes 0 to n - 1, no loop and
    none twice. `distance`: ``distance[u, v]``: arcs on a shortest path from u to v.

    Returns nodes, shape (longest distance + 1, n, n): where the walk from u to v is
    after each hop. It stays at v once there.
    """
    ranks, hops = len(distance), int(distance.max(initial=0))
    order = np.lexsort((dst, src))
    src, dst = src[order], dst[order]
    degree = np.bincount(src, minlength=ranks)
    slot = np.arange(len(src)) - np.repeat(np.cumsum(degree) - degree, degree)
    out = np.full((ranks, int(degree.max(initial=1))), -1, dtype=np.int64)
    out[src, slot] = dst
    slot_of = np.zeros((ranks, ranks), dtype=np.int64)
    slot_of[src, dst] = slot
    # One hop more than there is, so that looking one arc ahead needs no exception.
    load = np.zeros((hops + 1, *out.shape), dtype=np.int64)
    at = np.zeros((hops + 1, ranks, ranks), dtype=np.int64)
    node = np.arange(ranks)
    for sweep in range(2 if ranks <= _SWEPT_TWICE else 1):
        for offset in range(1, ranks):
            end = (node + offset) % ranks
            if sweep:
                for hop in range(hops):
                    tail, head = at[hop, node, end], at[hop + 1, node, end]
                    moved = tail != head
                    tail, head = tail[moved], head[moved]
                    np.subtract.at(load[hop], (tail, slot_of[tail, head]), 1)
            _place(node, end, out, slot_of, distance, load, at)
    at[:, node, node] = node
    return at


def _place(
    start: IntArray,
    end: IntArray,
    out: IntArray,
    slot_of: IntArray,
    distance: IntArray,
    load: IntArray,
    at: IntArray,
) -> None:
    """Choose the walks of some pairs, hop by hop, and add them to the loads."""
    here = start.copy()
    at[0, start, end] = start
    for hop in range(len(at) - 1):
        row = np.flatnonzero(here != end)
        tail, head = here[row], end[row]
        following = out[tail]
        left = distance[following, head[:, None]]
        cost = load[hop, tail] ** 2
        ahead = load[hop + 1, following, slot_of[following, head[:, None]]] ** 2
        cost += np.where(left == 1, ahead, 0)
        cost[(following < 0) | (left != distance[tail, head][:, None] - 1)] = _NEVER
        choice = cost.argmin(axis=1)
        np.add.at(load[hop], (tail, choice), 1)
        here[row] = following[np.arange(len(row)), choice]
        at[hop + 1, start, end] = here
