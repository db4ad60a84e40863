"""Cuts as edge lengths, and the best cut around a single node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.validate.certificates.congestion import EdgeLengths

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.routing.graph import Graph


def cut_lengths(
    graph: Graph, src: IntArray, dst: IntArray, nodes: IntArray
) -> EdgeLengths:
    """Return the edge lengths that prove what a cut proves.

    All edges that leave the node set are equally long, or all that enter it,
    whichever proves more; all others have length 0.
    """
    inside = np.zeros(graph.node_count, dtype=np.bool_)
    inside[nodes] = True
    best: tuple[int, EdgeLengths] | None = None
    for side in (inside, ~inside):
        requests = int((side[src] & ~side[dst]).sum())
        crosses = side[graph.tail] & ~side[graph.head] & (graph.capacity > 0)
        capacity = int(graph.capacity[crosses].sum())
        bound = -(-requests // max(capacity, 1))
        if best is None or bound > best[0]:
            best = bound, EdgeLengths(crosses.astype(np.int64), capacity)
    assert best is not None
    return best[1]


def node_cut(graph: Graph, src: IntArray, dst: IntArray) -> tuple[int, EdgeLengths]:
    """Return the best bound on congestion by the edges of one node, and its witness.

    `graph`, `src`, `dst`: the graph and its requests, at least one; every request has a
    route.

    O(requests + edges).
    """
    nodes = graph.node_count
    bounds = []
    for ends, edges in ((src, graph.tail), (dst, graph.head)):
        demand = np.bincount(ends, minlength=nodes)
        room = np.zeros(nodes, dtype=np.int64)
        np.add.at(room, edges, graph.capacity)
        bounds.append(-(-demand // np.maximum(room, 1)))
    bound = np.maximum(*bounds)
    node = np.array([bound.argmax()])
    return int(bound.max()), cut_lengths(graph, src, dst, node)
