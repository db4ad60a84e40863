"""Path search: shortest paths of many pairs at once, for any edge lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.routing.graph import Graph


@dataclass(frozen=True, eq=False)
class RequestedPairs:
    """Distinct pairs of different nodes, sorted, and how often each is asked for.

    `count`: requests of each pair, shape (pairs,).
    """

    src: IntArray
    dst: IntArray
    count: IntArray

    @classmethod
    def of(
        cls, node_count: int, src: IntArray, dst: IntArray, count: IntArray
    ) -> RequestedPairs:
        """Return the pairs of some rows; equal rows are added up.

        `src`, `dst`: nodes of each row, shape (rows,). `count`: routes that each row
        asks for, shape (rows,).
        """
        key, row = np.unique(src * node_count + dst, return_inverse=True)
        total = np.zeros(len(key), dtype=np.int64)
        np.add.at(total, row, count)
        return cls(key // node_count, key % node_count, total)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.count)

    def take(self, rows: IntArray) -> RequestedPairs:
        """Return some of the pairs."""
        return RequestedPairs(self.src[rows], self.dst[rows], self.count[rows])


@dataclass(frozen=True, eq=False)
class Walks:
    """Walks in a graph, as (walk, edge) entries.

    `pair`: pair of each walk, shape (walks,). `walk`: walk of each entry, ascending,
    shape (entries,). `edge`: edge of each entry, shape (entries,).
    """

    pair: IntArray
    walk: IntArray
    edge: IntArray

    def of_pairs(self, rows: IntArray) -> Walks:
        """Return the same walks where pair i is called ``rows[i]``."""
        return Walks(rows[self.pair], self.walk, self.edge)

    @classmethod
    def join(cls, parts: Sequence[Walks]) -> Walks:
        """Return all walks of some parts, one after another."""
        none = np.zeros(0, dtype=np.int64)
        counts = np.array([0, *(len(part.pair) for part in parts)], dtype=np.int64)
        firsts = np.cumsum(counts)[:-1].tolist()
        walk = [part.walk + first for part, first in zip(parts, firsts, strict=True)]
        return cls(
            np.concatenate([none, *(part.pair for part in parts)]),
            np.concatenate([none, *walk]),
            np.concatenate([none, *(part.edge for part in parts)]),
        )


class PathSearch:
    """Shortest paths by Dijkstra's algorithm, from all sources in one call.

    `graph`: all edges open and sorted by (tail, head).
    """

    def __init__(self, graph: Graph) -> None:
        from scipy.sparse import csr_array

        nodes = graph.node_count
        starts = np.searchsorted(graph.tail, np.arange(nodes + 1))
        self._graph = csr_array(
            (
                np.ones(len(graph.tail)),
                graph.head.astype(np.int32),
                starts.astype(np.int32),
            ),
            shape=(nodes, nodes),
        )
        self._key = graph.tail * nodes + graph.head
        self._nodes = nodes

    def distances(self, length: FloatArray, pairs: RequestedPairs) -> FloatArray:
        """Return the distance of each pair.

        `length`: length of each edge, shape (edges,).
        """
        return self._search(length, pairs)[0]

    def shortest(
        self, length: FloatArray, pairs: RequestedPairs
    ) -> tuple[FloatArray, Walks]:
        """Return the distance, and one shortest path, of each pair.

        `length`: length of each edge, shape (edges,).
        """
        distance, before, row = self._search(length, pairs)
        at, walk = pairs.dst, np.arange(len(pairs))
        walks, edges = [], []
        while len(walk):
            previous = before[row[walk], at].astype(np.int64)
            walks.append(walk)
            edges.append(np.searchsorted(self._key, previous * self._nodes + at))
            going = previous != pairs.src[walk]
            walk, at = walk[going], previous[going]
        none = np.zeros(0, dtype=np.int64)
        entry = np.concatenate([none, *walks])
        order = np.argsort(entry, kind="stable")
        edge = np.concatenate([none, *edges])[order]
        return distance, Walks(np.arange(len(pairs)), entry[order], edge)

    def _search(
        self, length: FloatArray, pairs: RequestedPairs
    ) -> tuple[FloatArray, IntArray, IntArray]:
        """Return distances, predecessors by source, and the source of each pair."""
        from scipy.sparse.csgraph import dijkstra

        # An explicit 0 is an edge of length 0.
        self._graph.data = length
        sources, row = np.unique(pairs.src, return_inverse=True)
        reach, before = dijkstra(self._graph, indices=sources, return_predecessors=True)
        return reach[row, pairs.dst], before, row
