"""Routing by negotiated congestion (PathFinder) on any directed graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.routing.pathfinder import Auction

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.routing.graph import Graph


class GraphNegotiation(Auction):
    """Routes of all requests over a graph: an auction by Dijkstra's algorithm.

    `graph`: all edges open and sorted by (tail, head); there are routes for all
    requests. `src`, `dst`: nodes, shape (requests,), different in every row.
    """

    def __init__(self, graph: Graph, src: IntArray, dst: IntArray) -> None:
        from scipy.sparse import csr_array

        super().__init__(len(src), graph.capacity)
        nodes = graph.node_count
        starts = np.searchsorted(graph.tail, np.arange(nodes + 1))
        ends = (graph.head.astype(np.int32), starts.astype(np.int32))
        self._graph = csr_array((np.ones(len(graph.tail)), *ends), shape=(nodes, nodes))
        self._src: list[int] = src.tolist()
        self._dst: list[int] = dst.tolist()
        self._heads = graph.head
        tail, head = graph.tail.tolist(), graph.head.tolist()
        ends_of = zip(tail, head, strict=True)
        self._edge_of = {pair: edge for edge, pair in enumerate(ends_of)}

    def best_routes(self) -> Ragged:
        """Return the nodes of each of the best routes met."""
        paths = self.best_paths
        lengths = np.fromiter((len(path) for path in paths), np.int64, len(paths))
        total = int(lengths.sum())
        edges = np.fromiter((e for path in paths for e in path), np.int64, total)
        starts = np.cumsum(lengths) - lengths
        nodes = np.insert(self._heads[edges], starts, self._src)
        return Ragged.from_lengths(lengths + 1, nodes)

    def _hops(self) -> IntArray:
        """Return the least hops of each request."""
        from scipy.sparse.csgraph import dijkstra

        sources, row = np.unique(np.array(self._src, np.int64), return_inverse=True)
        reach = dijkstra(self._graph, indices=sources, unweighted=True)
        hops: IntArray = reach[row, self._dst].astype(np.int64)
        return hops

    def _cheapest(self, request: int, passes: int) -> list[int]:
        """Return the cheapest route."""
        from scipy.sparse.csgraph import dijkstra

        del passes
        src, node = self._src[request], self._dst[request]
        # Sums of prices stay below 2**53, where sums of doubles are exact.
        self._graph.data = np.array(self._price, dtype=np.float64)
        _, before = dijkstra(self._graph, indices=src, return_predecessors=True)
        path: list[int] = []
        while node != src:
            previous = int(before[node])
            path.append(self._edge_of[previous, node])
            node = previous
        path.reverse()
        return path
