"""Directed graphs whose edges have capacities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InfeasibleError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import FloatArray, IntArray, Ragged
    from lightloom.instances.fabrics.lightpath import Lightpath


_MOST_NAMED = 32
"""Nodes that a message names."""


@dataclass(frozen=True, eq=False)
class Graph:
    """A directed graph with capacities.

    `node_count`: nodes are 0 to ``node_count - 1``. `tail`, `head`: ends of each edge,
    shape (edges,): no edge twice, none from a node to itself. `capacity`: of each edge,
    shape (edges,): non-negative; 0 closes the edge.

    Raises `InputError` if an edge or a capacity breaks these rules.
    """

    node_count: int
    tail: IntArray
    head: IntArray
    capacity: IntArray

    def __post_init__(self) -> None:
        """Refuse what is no graph, naming the first wrong edge."""
        tail, head, capacity = self.tail, self.head, self.capacity
        if not tail.shape == head.shape == capacity.shape == (len(tail),):
            what = "tails, heads and capacities are not columns of one length"
            shapes = (tail.shape, head.shape, capacity.shape)
            raise InputError(what, where="graph", found=shapes)
        outside = (np.minimum(tail, head) < 0) | (
            np.maximum(tail, head) >= self.node_count
        )
        order = np.lexsort((head, tail))
        again = np.zeros(len(tail), dtype=np.bool_)
        again[order[1:]] = (np.diff(tail[order]) == 0) & (np.diff(head[order]) == 0)
        for wrong, what, fix in (
            (outside, f"an edge ends outside the nodes 0 to {self.node_count - 1}", ""),
            (tail == head, "an edge runs from a node to itself", "leave it out"),
            (again, "an edge is there twice", "add the capacities of the two"),
            (capacity < 0, "a capacity is negative", "0 closes an edge"),
        ):
            for row in np.flatnonzero(wrong)[:1].tolist():
                found = (int(tail[row]), int(head[row]), int(capacity[row]))
                raise InputError(what, where=f"edges, row {row}", found=found, fix=fix)

    @classmethod
    def of_grid(cls, fabric: Lightpath, capacity: IntArray | None = None) -> Graph:
        """Return a grid as a graph; edges as ``fabric.edges()``, capacity 1 or given.

        `capacity`: one for each edge, in that order, or ``None``.

        Raises `InputError` if there is not one capacity per edge, or one is negative.
        """
        tail, head = fabric.edges()
        if capacity is None:
            capacity = np.ones(len(tail), dtype=np.int64)
        return cls(fabric.node_count, tail, head, capacity)

    @property
    def edges(self) -> tuple[IntArray, IntArray, IntArray]:
        """Tail, head and capacity of each edge."""
        return self.tail, self.head, self.capacity

    def opened(self) -> tuple[Graph, IntArray]:
        """Return the graph of the open edges, by (tail, head), and their rows."""
        rows = np.flatnonzero(self.capacity)
        rows = rows[np.lexsort((self.head[rows], self.tail[rows]))]
        tail, head, capacity = self.tail[rows], self.head[rows], self.capacity[rows]
        return Graph(self.node_count, tail, head, capacity), rows

    def check_requests(self, src: IntArray, dst: IntArray) -> None:
        """Raise unless every row asks for a route between two nodes that has one.

        `src`, `dst`: nodes of each request, shape (requests,).

        Raises `InputError` if a row is not a pair of two nodes; `InfeasibleError` if a
        pair has no route over open edges; the message names the pair and the nodes that
        its source reaches.
        """
        check_pairs(self.node_count, src, dst, "node of the graph")
        check_routes_exist(self, src, dst)


def check_pairs(node_count: int, src: IntArray, dst: IntArray, noun: str) -> None:
    """Raise `InputError` unless every row is a pair of two nodes, called `noun`."""
    if src.shape != dst.shape or src.ndim != 1:
        what = "sources and destinations are not two columns of one length"
        raise InputError(what, where="requests", found=(src.shape, dst.shape))
    for name, nodes in (("source", src), ("destination", dst)):
        for row in np.flatnonzero((nodes < 0) | (nodes >= node_count))[:1].tolist():
            what, allowed = f"a {name} is not a {noun}", f"0 to {node_count - 1}"
            found = int(nodes[row])
            raise InputError(
                what, where=f"requests, row {row}", found=found, allowed=allowed
            )
    for row in np.flatnonzero(src == dst)[:1].tolist():
        what = f"a request runs from a {noun.split(maxsplit=1)[0]} to itself"
        raise InputError(what, where=f"requests, row {row}", found=int(src[row]))


def check_routes_exist(
    graph: Graph, src: IntArray, dst: IntArray, noun: str = "node"
) -> None:
    """Raise `InfeasibleError` if some pair has no route over open edges.

    O(nodes + edges) for each distinct source.

    `src`, `dst`: nodes of each pair, shape (pairs,).
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    open_ = graph.capacity > 0
    ends = (graph.tail[open_], graph.head[open_])
    nodes = graph.node_count
    links = csr_array((np.ones(len(ends[0]), dtype=np.int8), ends), (nodes, nodes))
    for source in np.unique(src).tolist():
        order = breadth_first_order(links, source, return_predecessors=False)
        reached = np.zeros(nodes, dtype=np.bool_)
        reached[order] = True
        missed = np.flatnonzero((src == source) & ~reached[dst])
        if len(missed):
            there = np.flatnonzero(reached).tolist()
            names = ", ".join(str(node) for node in there[:_MOST_NAMED])
            more = ", ..." if len(there) > _MOST_NAMED else ""
            raise InfeasibleError(
                f"no route from {source} to {dst[missed[0]]}",
                where=f"requests, row {missed[0]}",
                found=f"{noun}s reached from {source}: {len(there)} ({names}{more})",
                fix=f"open an edge that leaves these {noun}s",
            )


UNROUTABLE = np.iinfo(np.int64).max
"""Congestion of routes that use an edge of capacity 0."""


def check_requests(fabric: Lightpath, src: IntArray, dst: IntArray) -> None:
    """Raise `InputError` unless every row asks for a route between two tiles.

    `src`, `dst`: tiles of each request, shape (requests,).
    """
    check_pairs(fabric.node_count, src, dst, "tile of the grid")


def capacity_by_id(fabric: Lightpath, capacity: IntArray | None) -> IntArray:
    """Return the capacity of each edge id, shape (4 * nodes,), 0 where no edge is.

    `capacity`: capacity of each directed edge, in the order of ``fabric.edges()``;
    ``None`` stands for 1 everywhere.

    Raises `InputError` if there is not one capacity per edge, or one is negative.
    """
    tail, head = fabric.edges()
    if capacity is None:
        capacity = np.ones(len(tail), dtype=np.int64)
    if capacity.shape != tail.shape or (capacity < 0).any():
        what = "capacities do not match the edges of the grid"
        allowed = f"{len(tail)} integers, one per directed edge, none negative"
        found = f"{capacity.shape} values, least {capacity.min(initial=0)}"
        raise InputError(what, where="capacity", found=found, allowed=allowed)
    by_id = np.zeros(4 * fabric.node_count, dtype=np.int64)
    by_id[fabric.edge_ids(tail, head)] = capacity
    return by_id


def check_reachable(
    fabric: Lightpath, src: IntArray, dst: IntArray, by_id: IntArray
) -> None:
    """Raise `InfeasibleError` if closed edges leave some request without a route.

    The message names a pair and the set of tiles that its source reaches. Searches
    only where an edge has capacity 0; O(nodes * edges) then.

    `src`, `dst`: tiles of each request, shape (requests,). `by_id`: capacity of each
    edge id, shape (4 * nodes,).
    """
    tail, head = fabric.edges()
    open_ = by_id[fabric.edge_ids(tail, head)] > 0
    if not open_.all():
        grid = Graph.of_grid(fabric, open_.astype(np.int64))
        check_routes_exist(grid, src, dst, noun="tile")


def edge_loads(fabric: Lightpath, route: Ragged) -> IntArray:
    """Return how many routes run over each edge id, shape (4 * nodes,).

    `route`: tiles of each route, in order.
    """
    rows, values = route.row_of_value, route.values
    inner = rows[:-1] == rows[1:]
    ids = fabric.edge_ids(values[:-1][inner], values[1:][inner])
    return np.bincount(ids, minlength=4 * fabric.node_count)


def congestion(load: IntArray, by_id: IntArray) -> int:
    """Return the largest ``ceil(load / capacity)``; `UNROUTABLE` on a closed edge.

    `load`: routes over each edge id, shape (4 * nodes,). `by_id`: capacity of each edge
    id, same shape.
    """
    if ((by_id == 0) & (load > 0)).any():
        return int(UNROUTABLE)
    return int((-(-load // np.maximum(by_id, 1))).max(initial=0))


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

    def cheapest(
        self, length: FloatArray, src: IntArray, dst: IntArray
    ) -> tuple[float, IntArray]:
        """Return the shortest path from any node of `src` to any of `dst`.

        `length`: length of each edge, shape (edges,), infinite where closed.

        Returns its length, infinite where there is no path, and its edges in order.
        """
        from scipy.sparse.csgraph import dijkstra

        self._graph.data = length
        distance, before, _ = dijkstra(
            self._graph, indices=src, min_only=True, return_predecessors=True
        )
        end = int(dst[distance[dst].argmin()])
        nodes = [end]
        while before[nodes[-1]] >= 0:
            nodes.append(int(before[nodes[-1]]))
        walk = np.array(nodes[::-1], dtype=np.int64)
        edges = np.searchsorted(self._key, walk[:-1] * self._nodes + walk[1:])
        return float(distance[end]), edges

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
