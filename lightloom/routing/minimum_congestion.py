"""Minimum-congestion routing (LUMORPH paper, Algorithm 2), with proofs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.core.errors import InputError
from lightloom.routing.graph import (
    Graph,
    capacity_by_id,
    check_reachable,
    check_requests,
    congestion,
    edge_loads,
)
from lightloom.routing.negotiation import GridNegotiation, Negotiation
from lightloom.routing.rectangle_cuts import rectangle_cut
from lightloom.routing.routes import dimension_ordered
from lightloom.validate.certificates.congestion import EdgeLengths

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.routing.edge_lengths import EdgeLengthSearch

DEFAULT_EFFORT = 4000
"""Rip-ups towards a bound by cuts, which most routings meet."""
DEFAULT_RIP_UPS = 60_000
"""Rip-ups towards a bound by edge lengths."""
_SLICES = 3
"""Parts of the rip-ups that are left which one target may take."""
_PER_REQUEST = 8
"""Rip-ups for each request towards a bound that may be out of reach."""
_PATIENCE = 4
"""Passes of negotiation on grids before detours are looked at."""


@dataclass(frozen=True, eq=False)
class Routing:
    """Routes of some requests, and how good they are.

    `route`: nodes of each route, both ends included; every route is a simple path.
    `congestion`: largest ``ceil(load / capacity)`` of a directed edge. `bound`: no
    routing has a smaller congestion. `cut`: the best cut found, a node set, ascending.
    `witness`: edge lengths that prove the bound
    (`lightloom.validate.certificates.congestion`), in the order of the edges of the
    graph or grid. Where it is ``None``, the cut proves it: the requests that leave the
    node set, or those that enter it, need `bound` times the capacity of the edges out
    of it, or into it, rounded up. `finished`: whether, up to a solver's tolerances, no
    edge lengths prove more than the bound; ``False`` where that was not asked.
    """

    route: Ragged
    congestion: int
    bound: int
    cut: IntArray
    witness: EdgeLengths | None = None
    finished: bool = False

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
    auction = GridNegotiation(fabric, src, dst, by_id)
    rng = np.random.default_rng(seed)
    best = _bisected(auction, cut.bound, found.congestion, effort, rng)
    if best == found.congestion:
        return found
    return Routing(auction.best_routes(), best, cut.bound, cut.nodes)


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


def _bisected(
    auction: Negotiation, low: int, best: int, effort: int, rng: np.random.Generator
) -> int:
    """Return the least congestion found from `low` up, `best` where none is less.

    The least is tried first; each target has half of the effort that is left.
    """
    target = low
    while True:
        auction.begin(target)
        effort -= auction.improve(-(-effort // 2), rng)
        best = min(best, auction.best_congestion)
        if best > target:
            low = target + 1
        if best <= low or effort <= 0:
            return best
        target = (low + best - 1) // 2


def certified_routing(
    network: Lightpath | Graph,
    src: IntArray,
    dst: IntArray,
    *,
    capacity: IntArray | None = None,
    seed: int = 0,
    effort: int = DEFAULT_RIP_UPS,
) -> Routing:
    """Return routes of little congestion and edge lengths that prove how little.

    On grids first `minimum_congestion` with its rectangle cuts; on other graphs
    negotiation towards the best cut around a node. What that does not prove, edge
    lengths bound better (`EdgeLengthSearch`), and negotiation is asked again for what
    they allow, in turns, until both meet or the work is done.

    `src`, `dst`: nodes of the requests, shape (requests,); repeated rows count each.
    `capacity`: grids: of each edge in the order of ``edges()``; 1 where ``None``. A
    graph has its own.

    Returns routes, bound and edge lengths. Same input and seed, same result: all limits
    are on work, none on time.

    Raises `InputError` if requests or capacities do not fit the network, or `effort` is
    negative; `InfeasibleError` if a request has no route; the message names it.
    """
    if effort < 0:
        raise InputError("negative", where="effort", found=effort, allowed=">= 0")
    auction: Negotiation
    if isinstance(network, Graph):
        if capacity is not None:
            fix = "change the graph's own"
            raise InputError("a graph has capacities", where="capacity", fix=fix)
        network.check_requests(src, dst)
        graph, auction = network, Negotiation(network.opened()[0], src, dst)
        start = _towards_node_cut(network, src, dst, auction, effort, seed)
    else:
        graph = Graph.of_grid(network, capacity)
        start = minimum_congestion(network, src, dst, capacity=capacity, seed=seed)
        by_id = capacity_by_id(network, capacity)
        auction = GridNegotiation(network, src, dst, by_id, patience=_PATIENCE)
    witness = cut_lengths(graph, src, dst, start.cut) if len(src) else None
    start = replace(start, witness=witness)
    if start.proved:
        return start
    from lightloom.routing.edge_lengths import EdgeLengthSearch

    search = EdgeLengthSearch(graph, src, dst, seed)
    search.advance(start.congestion)
    return _alternate(start, search, auction, effort, np.random.default_rng(seed))


def _towards_node_cut(
    graph: Graph,
    src: IntArray,
    dst: IntArray,
    auction: Negotiation,
    effort: int,
    seed: int,
) -> Routing:
    """Return routes of a graph negotiated towards the best cut around a node."""
    if not len(src):
        return Routing(Ragged.from_lists([]), 0, 0, src)
    bound, node = node_cut(graph, src, dst)
    auction.begin(bound)
    rng = np.random.default_rng(seed)
    auction.improve(min(effort, _PER_REQUEST * len(src)), rng)
    return Routing(auction.best_routes(), auction.best_congestion, bound, node)


def _alternate(
    start: Routing,
    search: EdgeLengthSearch,
    auction: Negotiation,
    effort: int,
    rng: np.random.Generator,
) -> Routing:
    """Raise the bound and lower the congestion in turns, until they meet."""
    best, bound, witness = start.congestion, start.bound, start.witness
    missed, patience = 0, _PER_REQUEST * len(start.route)
    while bound < best:
        if search.bound > bound:
            bound, witness = search.bound, search.witness
        elif missed < bound and effort > 0:
            auction.begin(bound)
            effort -= auction.improve(min(patience, -(-effort // _SLICES)), rng)
            missed, best = bound, min(best, auction.best_congestion)
        elif not search.exhausted:
            search.advance(best)
            patience = effort
        else:
            break
    if bound < best and effort > 0:
        best = _bisected(auction, bound, best, effort, rng)
    route = auction.best_routes() if best < start.congestion else start.route
    return Routing(route, best, bound, start.cut, witness, search.finished)


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


def node_cut(graph: Graph, src: IntArray, dst: IntArray) -> tuple[int, IntArray]:
    """Return the best bound on congestion by the edges of one node, and the node.

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
    return int(bound.max()), np.array([bound.argmax()])
