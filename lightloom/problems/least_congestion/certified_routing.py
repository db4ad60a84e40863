"""Certified routing: minimum congestion on any directed graph, with its proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.core.errors import InputError
from lightloom.routing.congestion import capacity_by_id
from lightloom.routing.graph import Graph
from lightloom.routing.grid_pathfinder import Negotiation
from lightloom.routing.minimum_congestion import DEFAULT_EFFORT, minimum_congestion
from lightloom.routing.pathfinder import Auction
from lightloom.validate.certificates.congestion import EdgeLengths

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.problems.least_congestion.edge_lengths import EdgeLengthSearch


DEFAULT_RIP_UPS = 60_000
_SLICES = 3
_PER_REQUEST = 8
"""Rip-ups for each request towards a bound that may be out of reach."""
_PATIENCE = 4
"""Passes of negotiation on grids before detours are looked at."""


@dataclass(frozen=True, eq=False)
class CertifiedRouting:
    """Routes of some requests, and a proof of how good they are.

    `route`: nodes of each route, both ends included; every route is a simple path.
    `congestion`: largest ``ceil(load / capacity)`` of an edge. `bound`: no routing has
    a smaller congestion. `witness`: proves the bound
    (`lightloom.validate.certificates.congestion`), in the order of the edges
    of the graph or grid; ``None`` where there is no request. `finished`: whether, up to
    a solver's tolerances, no edge lengths prove more than the bound; ``False`` where
    that was not asked.
    """

    route: Ragged
    congestion: int
    bound: int
    witness: EdgeLengths | None
    finished: bool = False

    @property
    def proved(self) -> bool:
        """Whether no routing can be better."""
        return self.congestion == self.bound


def certified_routing(
    network: Lightpath | Graph,
    src: IntArray,
    dst: IntArray,
    *,
    capacity: IntArray | None = None,
    seed: int = 0,
    effort: int = DEFAULT_RIP_UPS,
) -> CertifiedRouting:
    """Return routes of little congestion and edge lengths that prove how little.

    On grids first `minimum_congestion` with its rectangle cuts; on other graphs
    negotiation towards the best cut around a node. What that does not prove, edge
    lengths bound better (`EdgeLengthSearch`), and negotiation is asked again for what
    they allow, in turns, until both meet or the work is done.

    `src`, `dst`: nodes of the requests, shape (requests,); repeated rows count each.
    `capacity`: grids: of each edge in the order of ``edges()``; 1 where ``None``. A
    graph has its own.

    Returns routes, bound and witness. Same input and seed, same result: all limits are
    on work, none on time.

    Raises `InputError` if requests or capacities do not fit the network, or `effort` is
    negative; `InfeasibleError` if a request has no route; the message names it.
    """
    if effort < 0:
        raise InputError("negative", where="effort", found=effort, allowed=">= 0")
    if isinstance(network, Graph):
        if capacity is not None:
            fix = "change the graph's own"
            raise InputError("a graph has capacities", where="capacity", fix=fix)
        graph, auction = network, _graph_auction(network, src, dst)
        rng = np.random.default_rng(seed)
        start = _start(network, src, dst, auction, effort=effort, rng=rng)
    else:
        graph = Graph.of_grid(network, capacity)
        start = _grid_start(network, graph, src, dst, seed)
        auction = Negotiation(
            network,
            src,
            dst,
            capacity_by_id(network, capacity),
            patience=_PATIENCE,
        )
    if start.proved:
        return start
    from lightloom.problems.least_congestion.edge_lengths import EdgeLengthSearch

    search = EdgeLengthSearch(graph, src, dst, seed)
    search.advance(start.congestion)
    return _alternate(start, search, auction, effort, np.random.default_rng(seed))


def _graph_auction(graph: Graph, src: IntArray, dst: IntArray) -> Auction:
    """Return the auction of a graph whose requests are sound."""
    graph.check_requests(src, dst)
    return GraphNegotiation(graph.opened()[0], src, dst)


def _start(
    graph: Graph,
    src: IntArray,
    dst: IntArray,
    auction: Auction,
    *,
    effort: int,
    rng: np.random.Generator,
) -> CertifiedRouting:
    """Return routes of a graph negotiated towards the best cut around a node."""
    if not len(src):
        return CertifiedRouting(Ragged.from_lists([]), 0, 0, None)
    bound, witness = node_cut(graph, src, dst)
    auction.begin(bound)
    auction.improve(min(effort, _PER_REQUEST * len(src)), rng)
    route = auction.best_routes()
    return CertifiedRouting(route, auction.best_congestion, bound, witness)


def _grid_start(
    fabric: Lightpath, graph: Graph, src: IntArray, dst: IntArray, seed: int
) -> CertifiedRouting:
    """Return the routes of a grid by rectangle cuts and negotiation."""
    found = minimum_congestion(
        fabric, src, dst, capacity=graph.capacity, seed=seed, effort=DEFAULT_EFFORT
    )
    witness = cut_lengths(graph, src, dst, found.cut) if len(src) else None
    return CertifiedRouting(found.route, found.congestion, found.bound, witness)


def _alternate(
    start: CertifiedRouting,
    search: EdgeLengthSearch,
    auction: Auction,
    effort: int,
    rng: np.random.Generator,
) -> CertifiedRouting:
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
    low = target = bound
    while low < best and effort > 0:
        auction.begin(target)
        effort -= auction.improve(-(-effort // 2), rng)
        best = min(best, auction.best_congestion)
        if best > target:
            low = target + 1
        target = (low + best) // 2
    route = auction.best_routes() if best < start.congestion else start.route
    return CertifiedRouting(route, best, bound, witness, search.finished)


class GraphNegotiation(Auction):
    """Routes of all requests over a graph: an auction by Dijkstra's algorithm.

    `graph`: all edges open and sorted by (tail, head); there are routes for all
    requests. `src`, `dst`: nodes, shape (requests,), different in every row.
    """

    def __init__(self, graph: Graph, src: IntArray, dst: IntArray) -> None:
        from scipy.sparse import csr_array

        super().__init__(len(src), graph.capacity)
        nodes = graph.node_count
        starts = np.searchsorted(graph.tail, np.arange(nodes + 1))
        ends = (graph.head.astype(np.int32), starts.astype(np.int32))
        self._graph = csr_array((np.ones(len(graph.tail)), *ends), shape=(nodes, nodes))
        self._src: list[int] = src.tolist()
        self._dst: list[int] = dst.tolist()
        self._heads = graph.head
        tail, head = graph.tail.tolist(), graph.head.tolist()
        ends_of = zip(tail, head, strict=True)
        self._edge_of = {pair: edge for edge, pair in enumerate(ends_of)}

    def best_routes(self) -> Ragged:
        """Return the nodes of each of the best routes met."""
        paths = self.best_paths
        lengths = np.fromiter((len(path) for path in paths), np.int64, len(paths))
        total = int(lengths.sum())
        edges = np.fromiter((e for path in paths for e in path), np.int64, total)
        starts = np.cumsum(lengths) - lengths
        nodes = np.insert(self._heads[edges], starts, self._src)
        return Ragged.from_lengths(lengths + 1, nodes)

    def _hops(self) -> IntArray:
        """Return the least hops of each request."""
        from scipy.sparse.csgraph import dijkstra

        sources, row = np.unique(np.array(self._src, np.int64), return_inverse=True)
        reach = dijkstra(self._graph, indices=sources, unweighted=True)
        hops: IntArray = reach[row, self._dst].astype(np.int64)
        return hops

    def _cheapest(self, request: int, passes: int) -> list[int]:
        """Return the cheapest route."""
        from scipy.sparse.csgraph import dijkstra

        del passes
        src, node = self._src[request], self._dst[request]
        # Sums of prices stay below 2**53, where sums of doubles are exact.
        self._graph.data = np.array(self._price, dtype=np.float64)
        _, before = dijkstra(self._graph, indices=src, return_predecessors=True)
        path: list[int] = []
        while node != src:
            previous = int(before[node])
            path.append(self._edge_of[previous, node])
            node = previous
        path.reverse()
        return path


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
