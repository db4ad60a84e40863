"""Minimum-congestion routing on a grid (LUMORPH paper, Algorithm 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.routing.congestion import (
    capacity_by_id,
    check_reachable,
    check_requests,
    congestion,
    edge_loads,
)
from lightloom.routing.dimension_order import dimension_ordered
from lightloom.routing.grid_pathfinder import Negotiation
from lightloom.routing.rectangle_cuts import rectangle_cut

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray, Ragged
    from lightloom.instances.fabrics.lightpath import Lightpath

DEFAULT_EFFORT = 4000


@dataclass(frozen=True, eq=False)
class Routing:
    """Routes of some requests, and how good they are.

    `route`: tiles of each route, both ends included; every route is a simple path.
    `congestion`: largest ``ceil(load / capacity)`` of a directed edge. `bound`: no
    routing has a smaller congestion. `cut`: witness of the bound: a node set,
    ascending. The requests that leave it, or those that enter it, need `bound` times
    the capacity of the edges out of it, or into it, rounded up.
    """

    route: Ragged
    congestion: int
    bound: int
    cut: IntArray

    @property
    def proved(self) -> bool:
        """Whether no routing can be better."""
        return self.congestion == self.bound


def minimum_congestion(
    fabric: Lightpath,
    src: IntArray,
    dst: IntArray,
    *,
    capacity: IntArray | None = None,
    seed: int = 0,
    effort: int = DEFAULT_EFFORT,
) -> Routing:
    """Return routes that share the most loaded edge as little as possible.

    The better of the two dimension-ordered routings is taken at once where it meets
    the bound by rectangle cuts. Otherwise every request is placed on its cheapest
    staircase, and requests on edges above the target (the bound) are ripped up and
    routed again until none is left. Where the target is not met with half of the
    effort, targets between it and the best congestion met are tried by bisection,
    each with half of what remains.

    `src`, `dst`: tiles of the requests, shape (requests,); repeated rows count each.
    `capacity`: capacity of each edge in the order of ``fabric.edges()``; 1 where
    ``None``, so that congestion is the number of routes on an edge. Edges of capacity 0
    are not used.

    Returns routes with their congestion, bound and witness; same input and seed, same
    routes.

    Raises `InputError` if requests or capacities do not fit the grid, or `effort` is
    negative; `InfeasibleError` if edges of capacity 0 leave a request without a route.

    A rip-up takes O(tiles of the request's rectangle), or a shortest-path search of
    the grid where the request seeks a detour.
    """
    check_requests(fabric, src, dst)
    if effort < 0:
        raise InputError("negative", where="effort", found=effort, allowed=">= 0")
    by_id = capacity_by_id(fabric, capacity)
    check_reachable(fabric, src, dst, by_id)
    start = _dimension_ordered(fabric, src, dst, by_id)
    if start.congestion <= 1:
        return start
    cut = rectangle_cut(fabric, src, dst, capacity=capacity)
    found = Routing(start.route, start.congestion, cut.bound, cut.nodes)
    if found.proved:
        return found
    rng = np.random.default_rng(seed)
    return _negotiated(fabric, src, dst, by_id, found, rng, effort)


def _dimension_ordered(
    fabric: Lightpath, src: IntArray, dst: IntArray, by_id: IntArray
) -> Routing:
    """Return the better of the two dimension-ordered routings.

    A congestion of 1 is proved by any single source: something leaves it.
    """
    best: tuple[int, Ragged] | None = None
    for first in ("row", "column"):
        route = dimension_ordered(fabric, src, dst, first=first)
        now = congestion(edge_loads(fabric, route), by_id)
        if best is None or now < best[0]:
            best = now, route
        if now <= 1:
            break
    assert best is not None
    return Routing(best[1], best[0], min(best[0], 1), src[:1].copy())


def _negotiated(
    fabric: Lightpath,
    src: IntArray,
    dst: IntArray,
    by_id: IntArray,
    start: Routing,
    rng: np.random.Generator,
    effort: int,
) -> Routing:
    """Return the best routing by negotiation, or `start` if that is no worse."""
    negotiation = Negotiation(fabric, src, dst, by_id)
    negotiation.begin(start.bound)
    missed, target = start.bound - 1, start.bound
    while True:
        effort -= negotiation.improve(-(-effort // 2), rng)
        if not negotiation.settled():
            missed = target
        best = min(negotiation.best_congestion, start.congestion)
        if best - missed <= 1 or effort <= 0:
            break
        target = (missed + best) // 2
        negotiation.begin(target)
    if start.congestion <= negotiation.best_congestion:
        return start
    route, _ = negotiation.routes(negotiation.best_paths)
    return Routing(route, negotiation.best_congestion, start.bound, start.cut)
