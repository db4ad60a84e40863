"""Minimum-congestion routing: what routes cost, and what no routes can beat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray, Ragged
    from lightloom.instances.fabrics.lightpath import Lightpath


def congestion_of(fabric: Lightpath, route: Ragged) -> tuple[int, tuple[int, int]]:
    """Return the most routes on a directed edge, and the first such edge.

    `route`: node ids from source to destination of each request.

    Returns congestion, edge 0 and (-1, -1) where no route crosses an edge.

    Raises `InputError` if a route is not a path of the grid.
    """
    values, rows = route.values, route.row_of_value
    if len(values) and not (values.min() >= 0 and values.max() < fabric.node_count):
        raise InputError("a route leaves the grid", where="route")
    inner = rows[:-1] == rows[1:]
    tail, head = values[:-1][inner], values[1:][inner]
    if (fabric.edge_ids(tail, head) < 0).any():
        raise InputError("a route jumps between tiles", where="route")
    if not len(tail):
        return 0, (-1, -1)
    edges, load = np.unique(tail * fabric.node_count + head, return_counts=True)
    most = int(np.argmax(load))
    first, second = divmod(int(edges[most]), fabric.node_count)
    return int(load[most]), (first, second)


def check_cut(
    fabric: Lightpath,
    src: IntArray,
    dst: IntArray,
    nodes: IntArray,
    capacity: IntArray | None = None,
) -> int:
    """Return the congestion that no routes of the requests can beat, by a node set.

    The larger of the two directions: all requests from inside `nodes` to outside
    cross the edges that leave it, so some such edge e carries at least
    ceil(requests / capacity) times ``capacity[e]``, with the capacities summed over
    those edges. Exact, and recomputed from scratch.

    `capacity`: shape (edges,), in the order of `Lightpath.edges`; all ones where
    ``None``. Congestion counts multiples of it.

    Raises `InputError`: a node outside the grid or named twice; requests that must
    cross, but no capacity to cross by.
    """
    if len(np.unique(nodes)) != len(nodes):
        raise InputError("a node is named twice", where="cut")
    if len(nodes) and not (nodes.min() >= 0 and nodes.max() < fabric.node_count):
        raise InputError("a node outside the grid", where="cut")
    inside = np.zeros(fabric.node_count, dtype=np.bool_)
    inside[nodes] = True
    tail, head = fabric.edges()
    amount = np.ones(len(tail), dtype=np.int64) if capacity is None else capacity
    bound = 0
    for side in (inside, ~inside):
        requests = int((side[src] & ~side[dst]).sum())
        crossing = int(amount[side[tail] & ~side[head]].sum())
        if requests and not crossing:
            raise InputError("no edge with capacity leaves the set", where="cut")
        if requests:
            bound = max(bound, -(-requests // crossing))
    return bound
