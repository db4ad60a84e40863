"""Congestion: how often the most loaded edge of a grid is shared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InfeasibleError, InputError

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray, Ragged
    from lightloom.instances.fabrics.lightpath import Lightpath

UNROUTABLE = np.iinfo(np.int64).max
"""Congestion of routes that use an edge of capacity 0."""
_MOST_NAMED = 32


def check_requests(fabric: Lightpath, src: IntArray, dst: IntArray) -> None:
    """Raise `InputError` unless every row asks for a route between two tiles."""
    if src.shape != dst.shape or src.ndim != 1:
        what = "sources and destinations are not two columns of one length"
        raise InputError(what, where="requests", found=(src.shape, dst.shape))
    for name, nodes in (("source", src), ("destination", dst)):
        outside = np.flatnonzero((nodes < 0) | (nodes >= fabric.node_count))
        if len(outside):
            what, row = f"a {name} is no tile of the grid", int(outside[0])
            allowed = f"0 to {fabric.node_count - 1}"
            found = int(nodes[row])
            raise InputError(
                what, where=f"requests, row {row}", found=found, allowed=allowed
            )
    loops = np.flatnonzero(src == dst)
    if len(loops):
        what, row = "a request runs from a tile to itself", int(loops[0])
        raise InputError(what, where=f"requests, row {row}", found=int(src[row]))


def capacity_by_id(fabric: Lightpath, capacity: IntArray | None) -> IntArray:
    """Return the capacity of each edge id, shape (4 * nodes,), 0 where no edge is.

    Parameters
    ----------
    fabric
        The grid.
    capacity
        Capacity of each directed edge, in the order of ``fabric.edges()``; ``None``
        stands for 1 everywhere.

    Raises
    ------
    InputError
        If there is not one capacity per edge, or one is negative.
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
    """
    tail, head = fabric.edges()
    open_ = by_id[fabric.edge_ids(tail, head)] > 0
    if open_.all():
        return
    from scipy.sparse import csr_array  # noqa: PLC0415
    from scipy.sparse.csgraph import breadth_first_order  # noqa: PLC0415

    nodes = fabric.node_count
    links = (np.ones(int(open_.sum()), dtype=np.int8), (tail[open_], head[open_]))
    graph = csr_array(links, shape=(nodes, nodes))
    for source in np.unique(src).tolist():
        order = breadth_first_order(graph, source, return_predecessors=False)
        reached = np.zeros(nodes, dtype=bool)
        reached[order] = True
        missed = np.flatnonzero((src == source) & ~reached[dst])
        if len(missed):
            tiles = np.flatnonzero(reached).tolist()
            names = ", ".join(str(tile) for tile in tiles[:_MOST_NAMED])
            more = ", ..." if len(tiles) > _MOST_NAMED else ""
            raise InfeasibleError(
                f"no route from {source} to {dst[missed[0]]}",
                where=f"requests, row {missed[0]}",
                found=f"tiles reached from {source}: {len(tiles)} ({names}{more})",
                fix="open an edge that leaves these tiles",
            )


def edge_loads(fabric: Lightpath, route: Ragged) -> IntArray:
    """Return how many routes run over each edge id, shape (4 * nodes,)."""
    rows, values = route.row_of_value, route.values
    inner = rows[:-1] == rows[1:]
    ids = fabric.edge_ids(values[:-1][inner], values[1:][inner])
    return np.bincount(ids, minlength=4 * fabric.node_count)


def congestion(load: IntArray, by_id: IntArray) -> int:
    """Return the largest ``ceil(load / capacity)``; `UNROUTABLE` on a closed edge."""
    if ((by_id == 0) & (load > 0)).any():
        return int(UNROUTABLE)
    return int((-(-load // np.maximum(by_id, 1))).max(initial=0))
