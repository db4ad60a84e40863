"""Routes drawn at random among the k shortest (LUMORPH paper, "Random")."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.core.errors import InputError
from lightloom.routing.congestion import (
    capacity_by_id,
    check_reachable,
    check_requests,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath


def random_shortest(
    fabric: Lightpath,
    src: IntArray,
    dst: IntArray,
    *,
    candidates: int,
    seed: int,
    capacity: IntArray | None = None,
) -> Ragged:
    """Return for each request one of its k shortest simple paths, drawn at random.

    The candidates come from Yen's algorithm in hops (`scipy.sparse.csgraph.yen`),
    once per distinct pair; where paths are equally long, it decides which of them
    are among the candidates. Every candidate is equally likely.

    `src`, `dst`: tiles of the requests, shape (requests,). `candidates`: number k of
    shortest paths to draw from, at least 1; pairs that have fewer simple paths draw
    from all of them. `capacity`: capacity of each edge in the order of
    ``fabric.edges()``; edges of capacity 0 are not used.

    Raises `InputError` if requests or capacities do not fit the grid, or `candidates`
    is below 1; `InfeasibleError` if edges of capacity 0 leave a request without a
    route.

    O(k length (nodes log nodes)) for each distinct pair: 0.4 ms with k = 4 on 256
    tiles.
    """
    if candidates < 1:
        what = "too few paths to draw from"
        raise InputError(what, where="candidates", found=candidates, allowed=">= 1")
    check_requests(fabric, src, dst)
    by_id = capacity_by_id(fabric, capacity)
    check_reachable(fabric, src, dst, by_id)
    if not len(src):
        return Ragged.from_lists([])
    closed = tuple(np.flatnonzero(by_id == 0).tolist())
    rng = np.random.default_rng(seed)
    pair = src * fabric.node_count + dst
    pairs, first, counts = np.unique(pair, return_inverse=True, return_counts=True)
    members = np.split(np.argsort(first, kind="stable"), np.cumsum(counts)[:-1])
    routes: list[list[int]] = [[]] * len(src)
    for number, rows in zip(pairs.tolist(), members, strict=True):
        source, sink = divmod(number, fabric.node_count)
        paths = _shortest_paths(fabric, closed, source, sink, candidates)
        picks = rng.integers(len(paths), size=len(rows)).tolist()
        for row, pick in zip(rows.tolist(), picks, strict=True):
            routes[row] = paths[pick]
    return Ragged.from_lists(routes)


@functools.lru_cache(maxsize=2**17)
def _shortest_paths(
    fabric: Lightpath, closed: tuple[int, ...], source: int, sink: int, candidates: int
) -> list[list[int]]:
    """Return the tiles of the shortest simple paths of a pair, the shortest first.

    Remembered: rounds ask for the same pairs again and again.
    """
    from scipy.sparse.csgraph import yen

    graph = _open_graph(fabric, closed)
    _, before = yen(graph, source, sink, candidates, return_predecessors=True)
    return [_walk(each, source, sink) for each in before]


@functools.lru_cache(maxsize=4)
def _open_graph(fabric: Lightpath, closed: tuple[int, ...]) -> csr_array:
    """Return the edges but those of the closed ids, each of length 1."""
    from scipy.sparse import csr_array

    tail, head = fabric.edges()
    open_ = ~np.isin(fabric.edge_ids(tail, head), closed)
    # Yen's algorithm accepts 32-bit indices only.
    ends = (tail[open_].astype(np.int32), head[open_].astype(np.int32))
    nodes = fabric.node_count
    return csr_array((np.ones(len(ends[0])), ends), shape=(nodes, nodes))


def _walk(before: IntArray, source: int, sink: int) -> list[int]:
    """Return the tiles of a path, given each tile's predecessor on it."""
    tiles = [sink]
    while tiles[-1] != source:
        tiles.append(int(before[tiles[-1]]))
    tiles.reverse()
    return tiles
