"""Directed graphs whose edges have capacities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InfeasibleError, InputError

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath

_MOST_NAMED = 32


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
