"""Bipartite edge colouring: rows split into as few partial permutations as possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray


def edge_colours(
    src: IntArray, dst: IntArray, *, fewest: int | None = None
) -> IntArray:
    """Return a colour per row such that no colour repeats a source or a destination.

    Sources form the left side of a bipartite multigraph, destinations the right
    side, rows are its edges; equal rows are parallel edges. As many colours as the
    largest degree always suffice (König 1916), so one colour is one partial
    permutation and no smaller number of them can hold all rows.

    The graph is made regular, then halved by Euler partitions; at an odd degree a
    perfect matching is taken out first. All parts of a level are handled at once.

    Parameters
    ----------
    src, dst
        Any integers, shape (rows,). A node may be a source and a destination.
    fewest
        Use this many colours where the largest degree is smaller; the rows then
        spread over them, though perhaps not evenly.

    Returns
    -------
    Colours, shape (rows,): each of 0 to D - 1, where D is the largest degree, or
    `fewest` if that is larger, in an order that depends on the rows alone.

    Notes
    -----
    O(E log D) for E rows beside one maximum matching per odd level; deterministic.

    Examples
    --------
    >>> edge_colours(np.array([0, 0, 1]), np.array([0, 1, 0])).tolist()
    [0, 1, 1]
    """
    left, left_degrees = _numbered(src)
    right, right_degrees = _numbered(dst)
    degree = max(left_degrees.max(initial=0), right_degrees.max(initial=0))
    degree = max(int(degree), fewest or 0)
    if degree <= 1 or not len(src):
        return np.zeros(len(src), dtype=np.int64)
    left, left_degrees = _merged(left, left_degrees, degree)
    right, right_degrees = _merged(right, right_degrees, degree)
    sides = max(len(left_degrees), len(right_degrees))
    left = np.concatenate([left, _deficit(left_degrees, sides, degree)])
    right = np.concatenate([right, _deficit(right_degrees, sides, degree)])
    return _regular_colours(left, right, sides, degree)[: len(src)]


def _numbered(nodes: IntArray) -> tuple[IntArray, IntArray]:
    """Return the nodes renumbered from 0, and the degree of each number."""
    _, numbers, degrees = np.unique(nodes, return_inverse=True, return_counts=True)
    return numbers.astype(np.int64), degrees.astype(np.int64)


def _merged(
    nodes: IntArray, degrees: IntArray, degree: int
) -> tuple[IntArray, IntArray]:
    """Return the nodes with neighbours merged as far as `degree` allows.

    What is proper at a merged node is proper at its parts, and few nodes mean few
    edges to make the graph regular: any two merged neighbours exceed `degree`.
    """
    totals = np.cumsum(degrees)
    ends: list[int] = []
    before = 0
    while not ends or ends[-1] < len(totals):
        ends.append(int(np.searchsorted(totals, before + degree, side="right")))
        before = int(totals[ends[-1] - 1])
    merged = np.searchsorted(np.array(ends, dtype=np.int64), nodes, side="right")
    return merged, np.bincount(merged, minlength=len(ends))


def _deficit(degrees: IntArray, sides: int, degree: int) -> IntArray:
    """Return every node of one side as often as it lacks edges."""
    lacking = np.full(sides, degree, dtype=np.int64)
    lacking[: len(degrees)] -= degrees
    return np.repeat(np.arange(sides, dtype=np.int64), lacking)


def _regular_colours(
    left: IntArray, right: IntArray, sides: int, degree: int
) -> IntArray:
    """Return colours of a regular bipartite multigraph with `sides` nodes a side."""
    colours = np.full(len(left), -1, dtype=np.int64)
    edges = np.arange(len(left), dtype=np.int64)
    part = np.zeros(len(left), dtype=np.int64)
    parts, used = 1, 0
    while degree > 1:
        tail, head = part * sides + left[edges], part * sides + right[edges]
        if degree % 2:
            taken = _perfect_matching(tail, head, parts * sides)
            colours[edges[taken]] = used + part[taken]
            used += parts
            kept = ~taken
            edges, part = edges[kept], part[kept]
            tail, head = tail[kept], head[kept]
        part = 2 * part + _halves(tail, head)
        parts *= 2
        degree //= 2
    colours[edges] = used + part
    return colours


def _perfect_matching(tail: IntArray, head: IntArray, sides: int) -> IntArray:
    """Return which edges of a regular graph form one perfect matching."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    pairs, first = np.unique(tail * sides + head, return_index=True)
    graph = csr_array(
        (np.ones(len(pairs), dtype=np.int8), (pairs // sides, pairs % sides)),
        shape=(sides, sides),
    )
    heads = maximum_bipartite_matching(graph, perm_type="column").astype(np.int64)
    assert (heads >= 0).all()
    chosen = np.arange(sides, dtype=np.int64) * sides + heads
    taken = np.zeros(len(tail), dtype=bool)
    taken[first[np.searchsorted(pairs, chosen)]] = True
    return taken


def _halves(tail: IntArray, head: IntArray) -> IntArray:
    """Return 0 or 1 per edge so that every node has as many of each.

    Every node pairs its edges off. Following the pairs at tails and heads in turn
    runs through closed walks of even length; every second edge of a walk is one
    orbit of the two pairings applied one after the other.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    at_tail, at_head = _pairing(tail), _pairing(head)
    count = len(tail)
    graph = csr_array(
        (np.ones(count, dtype=np.int8), at_head[at_tail], np.arange(count + 1)),
        shape=(count, count),
    )
    _, orbit = connected_components(graph, directed=False)
    half: IntArray = (orbit > orbit[at_tail]).astype(np.int64)
    return half


def _pairing(nodes: IntArray) -> IntArray:
    """Return for each edge the edge it is paired with at its node."""
    order = np.argsort(nodes, kind="stable")
    mate = np.empty(len(nodes), dtype=np.int64)
    mate[order[0::2]] = order[1::2]
    mate[order[1::2]] = order[0::2]
    return mate


def coloured_ports(src: IntArray, dst: IntArray) -> IntArray:
    """Return a port per row; rows of one pair share it.

    As many ports as the most peers that one rank sends to or receives from, which
    always suffice (König 1916). Deterministic.
    """
    if not len(src):
        return np.zeros(0, dtype=np.int64)
    width = int(max(src.max(), dst.max())) + 1
    pairs, where = np.unique(src * width + dst, return_inverse=True)
    colours: IntArray = edge_colours(pairs // width, pairs % width)
    ports: IntArray = colours[where.reshape(-1)]
    return ports
