"""Congestion: how often the most loaded edge of a grid is shared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.routing.graph import Graph, check_pairs, check_routes_exist

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray, Ragged
    from lightloom.instances.fabrics.lightpath import Lightpath

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
