"""The contraction of the edges of length 0 of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.problems.least_congestion.path_search import RequestedPairs, Walks
from lightloom.routing.graph import Graph

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray

_FREE = -1


@dataclass(frozen=True, eq=False)
class Contraction:
    """What is left of a graph and its pairs when only some edges have a length.

    Nodes that reach each other over edges of length 0 are one node, pairs are pairs
    of those, and parallel edges are one: best lengths give them the same.

    `graph`: the contracted graph, sorted by (tail, head); the capacity of an edge is
    that of all edges it stands for. `pairs`: the pairs whose ends are still two nodes;
    may be none. `edge`: edge of `graph` that each edge stands behind, -1 inside a node.
    `priced`: whether each edge of `graph` may have a length, shape (edges of `graph`,).
    """

    graph: Graph
    pairs: RequestedPairs
    edge: IntArray
    priced: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    _pair: IntArray
    _capacity: IntArray

    @classmethod
    def of(cls, graph: Graph, pairs: RequestedPairs, priced: IntArray) -> Contraction:
        """Contract all edges of a graph but some.

        `graph`: all edges open and sorted by (tail, head). `priced`: edges that may
        have a length, ascending.
        """
        node, count = _joined(graph, priced)
        tail, head = node[graph.tail], node[graph.head]
        outer = np.flatnonzero(tail != head)
        key, row = np.unique(tail[outer] * count + head[outer], return_inverse=True)
        edge = np.full(len(tail), _FREE, dtype=np.int64)
        edge[outer] = row
        capacity = np.zeros(len(key), dtype=np.int64)
        np.add.at(capacity, row, graph.capacity[outer])
        free = np.ones(len(tail), dtype=np.bool_)
        free[priced] = False
        has_length = np.ones(len(key), dtype=np.bool_)
        has_length[edge[outer][free[outer]]] = False
        small = Graph(count, key // count, key % count, capacity)
        src, dst = node[pairs.src], node[pairs.dst]
        apart = np.flatnonzero(src != dst)
        few = RequestedPairs.of(count, src[apart], dst[apart], pairs.count[apart])
        pair = np.full(len(pairs), _FREE, dtype=np.int64)
        pair[apart] = np.searchsorted(
            few.src * count + few.dst, src[apart] * count + dst[apart]
        )
        return cls(small, few, edge, has_length, pair, graph.capacity)

    def walks(self, walks: Walks) -> Walks:
        """Return walks of the whole graph over edges that may have a length."""
        pair = self._pair[walks.pair]
        kept = np.flatnonzero(pair != _FREE)
        place = np.full(len(pair), _FREE, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        edge = self.edge[walks.edge]
        stays = (place[walks.walk] != _FREE) & (edge != _FREE)
        stays[stays] = self.priced[edge[stays]]
        return Walks(pair[kept], place[walks.walk[stays]], edge[stays])

    def shrink(self, length: FloatArray) -> FloatArray:
        """Return lengths of the contracted graph like those of the whole one."""
        outer = np.flatnonzero(self.edge != _FREE)
        weight = self._capacity[outer] * length[outer]
        size = len(self.priced)
        total = np.bincount(self.edge[outer], weight, size) * self.priced
        # Capacities are positive: every edge stands for some open edge.
        small: FloatArray = total / max(float(total.sum()), np.finfo(float).tiny)
        return small / self.graph.capacity

    def expand(self, length: FloatArray) -> FloatArray:
        """Return the lengths of the whole graph that contracted ones stand for."""
        outer = self.edge != _FREE
        whole = np.zeros(len(self.edge))
        whole[outer] = (length * self.priced)[self.edge[outer]]
        return whole


def _joined(graph: Graph, priced: IntArray) -> tuple[IntArray, int]:
    """Return the component of each node over the other edges, and their number."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    free = np.ones(len(graph.tail), dtype=np.bool_)
    free[priced] = False
    ends = (graph.tail[free], graph.head[free])
    nodes = graph.node_count
    links = csr_array((np.ones(len(ends[0]), dtype=np.int8), ends), (nodes, nodes))
    count, node = connected_components(links, directed=True, connection="strong")
    return node.astype(np.int64), int(count)
