"""Negotiated congestion (PathFinder): edge prices rise until no edge is overfull."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.routing.graph import UNROUTABLE, Graph, PathSearch, RequestedPairs

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath

CLOSED = 2**40
"""Price of an edge that no route may use; no sum of other prices reaches it."""
OVERFULL = 64
"""Price of each request above the limit of an edge."""
_REMEMBERED = 8
"""Lasting surcharge for each pass that finds an edge overfull."""
_SPREAD = 8
"""Price of the last place within the limit, where the first costs 1."""
_PATIENCE = 48
"""Passes without detours: most routings settle before, and detours cost more."""


class Negotiation:
    """Routes of all requests, as lists of edges, and the prices of the edges.

    An edge has a *limit*. Its price for the next request grows a little with its
    load, steeply with each request above the limit, and for good with each pass
    that finds it above the limit (McMurchie and Ebeling, PathFinder, 1995).
    Requests on overfull edges are ripped up and routed again, one by one.

    Everything is kept in plain lists: single reads and writes dominate. The
    prices above were chosen by measurement.

    `graph`: all edges open and sorted by (tail, head); there are routes for all
    requests. `src`, `dst`: nodes, shape (requests,), different in every row.
    """

    def __init__(self, graph: Graph, src: IntArray, dst: IntArray) -> None:
        self._graph, self._node_count = graph, graph.node_count
        self._begin(graph.tail, graph.capacity, src, dst)

    def _begin(
        self, tail: IntArray, capacity: IntArray, src: IntArray, dst: IntArray
    ) -> None:
        """Take the edges, shape (edges,) each, and the requests."""
        self._tail = tail
        self._capacity: list[int] = capacity.tolist()
        self._edges: list[int] = np.flatnonzero(capacity).tolist()
        self._src: list[int] = src.tolist()
        self._dst: list[int] = dst.tolist()
        self.paths: list[list[int]] = [[] for _ in self._src]
        self.best_paths = self.paths
        self.best_congestion = int(UNROUTABLE)

    def begin(self, target: int) -> None:
        """Forget all routes and prices, and route every request, longest first.

        The limit of an edge is `target` times its capacity.
        """
        self._limit = [target * capacity for capacity in self._capacity]
        self._load = [0] * len(self._limit)
        self._history = [0] * len(self._limit)
        self._price = [1 if limit else CLOSED for limit in self._limit]
        self._users: list[dict[int, None]] = [{} for _ in self._limit]
        for request in np.argsort(-self._hops(), kind="stable").tolist():
            self._place(request, passes=0)
        self._record()

    def improve(self, effort: int, rng: np.random.Generator) -> int:
        """Rip up and reroute until no edge is overfull, or for `effort` rip-ups.

        Returns the rip-ups spent. The best routes met are in `best_paths`.
        """
        spent, passes = 0, 0
        full = self._overfull()
        while full and spent < effort:
            for edge in full:
                self._history[edge] += _REMEMBERED
                self._price[edge] += _REMEMBERED
            waiting = list(dict.fromkeys(r for edge in full for r in self._users[edge]))
            for place in rng.permutation(len(waiting)).tolist():
                request = waiting[place]
                if any(self._load[e] > self._limit[e] for e in self.paths[request]):
                    self._remove(request)
                    self._place(request, passes)
                    spent += 1
                    if spent >= effort:
                        break
            passes += 1
            self._record()
            full = self._overfull()
        return spent

    def settled(self) -> bool:
        """Return whether no edge is above its limit."""
        return not self._overfull()

    def routes(self, paths: list[list[int]]) -> tuple[Ragged, IntArray]:
        """Return the nodes of each path, and the layer of the graph it runs on."""
        lengths = np.fromiter((len(path) for path in paths), np.int64, len(paths))
        total = int(lengths.sum())
        edges = np.fromiter((e for path in paths for e in path), np.int64, total)
        ends = np.cumsum(lengths)
        tails = self._tail[edges]
        nodes = np.insert(tails % self._node_count, ends, self._dst)
        layer = tails[ends - lengths] // self._node_count
        return Ragged.from_lengths(lengths + 1, nodes), layer

    def best_routes(self) -> Ragged:
        """Return the nodes of each of the best routes met."""
        return self.routes(self.best_paths)[0]

    @cached_property
    def _search(self) -> PathSearch:
        return PathSearch(self._graph)

    def _hops(self) -> IntArray:
        """Return the least hops of each request."""
        src, dst = np.array(self._src), np.array(self._dst)
        pairs = RequestedPairs(src, dst, np.ones_like(src))
        hops = self._search.distances(np.ones(len(self._graph.tail)), pairs)
        return hops.astype(np.int64)

    def _cheapest(self, request: int, passes: int) -> list[int]:
        """Return a cheap route at the prices of now, after so many passes."""
        del passes
        # Sums of prices stay below 2**53, where sums of doubles are exact.
        price = np.array(self._price, dtype=np.float64)
        src, dst = np.array([self._src[request]]), np.array([self._dst[request]])
        path: list[int] = self._search.cheapest(price, src, dst)[1].tolist()
        return path

    def _overfull(self) -> list[int]:
        load, limit = self._load, self._limit
        return [edge for edge in self._edges if load[edge] > limit[edge]]

    def _record(self) -> None:
        """Keep the routes if their congestion is the least so far."""
        load, capacity = self._load, self._capacity
        now = max((-(-load[e] // capacity[e]) for e in self._edges), default=0)
        if now < self.best_congestion:
            self.best_congestion = now
            self.best_paths = list(self.paths)

    def _place(self, request: int, passes: int) -> None:
        """Put a request on the cheapest route there is now."""
        path = self._cheapest(request, passes)
        self.paths[request] = path
        for edge in path:
            self._users[edge][request] = None
            self._change(edge, 1)

    def _remove(self, request: int) -> None:
        """Take a request off its route."""
        for edge in self.paths[request]:
            del self._users[edge][request]
            self._change(edge, -1)

    def _change(self, edge: int, by: int) -> None:
        """Change the load of an edge, and its price with it."""
        load = self._load[edge] + by
        self._load[edge] = load
        limit = self._limit[edge]
        if load >= limit:
            now = OVERFULL * (load + 1 - limit)
        else:
            now = 1 + _SPREAD * load // limit
        self._price[edge] = self._history[edge] + now


class GridNegotiation(Negotiation):
    """Routes of all requests over one or more copies (layers) of a grid.

    Requests take the cheapest staircase of any layer; after some passes also detours.
    Edges are numbered by edge id; those of copy i by ``4 * nodes * i`` more.

    `src`, `dst`: tiles, shape (requests,), different in every row. `by_id`: capacity of
    each edge id, 0 where no route may run. `layers`: copies of the grid that a request
    may choose from. `patience`: passes before detours are looked at.
    """

    def __init__(
        self,
        fabric: Lightpath,
        src: IntArray,
        dst: IntArray,
        by_id: IntArray,
        *,
        layers: int = 1,
        patience: int = _PATIENCE,
    ) -> None:
        self._fabric, self._patience = fabric, patience
        self._node_count = fabric.node_count
        self._shifts = np.arange(layers, dtype=np.int64) * fabric.node_count
        tail = np.arange(layers * len(by_id)) // 4
        self._begin(tail, np.tile(by_id, layers), src, dst)

    def _hops(self) -> IntArray:
        src, dst = np.array(self._src), np.array(self._dst)
        cols = self._fabric.cols
        hops: IntArray = np.abs(src // cols - dst // cols)
        hops += np.abs(src % cols - dst % cols)
        return hops

    def _cheapest(self, request: int, passes: int) -> list[int]:
        """Return the cheapest staircase, or a detour if there is need and patience."""
        src, dst, cols = self._src[request], self._dst[request], self._fabric.cols
        least, layer, arrivals = CLOSED, 0, None
        for shift in self._shifts.tolist():
            total, arrived = cheapest_staircase(
                self._price, cols, src + shift, dst + shift
            )
            if total < least:
                least, layer, arrivals = total, shift, arrived
        path: list[int] | None = None
        if arrivals is not None:
            path = trace(cols, src + layer, dst + layer, arrivals)
        if path is None or (passes >= self._patience and least > OVERFULL):
            path = self._detour(src, dst, least) or path
        assert path is not None
        return path

    @cached_property
    def _detours(self) -> tuple[PathSearch, IntArray]:
        """All layers as one graph, and the number of each of its edges."""
        tail, head = self._fabric.edges()
        layers = len(self._shifts)
        shift = np.repeat(self._shifts, len(tail))
        ids = np.tile(self._fabric.edge_ids(tail, head), layers) + 4 * shift
        tails, heads = np.tile(tail, layers) + shift, np.tile(head, layers) + shift
        ones = np.ones(len(tails), dtype=np.int64)
        graph = Graph(layers * self._node_count, tails, heads, ones)
        return PathSearch(graph), ids

    def _detour(self, src: int, dst: int, below: int) -> list[int] | None:
        """Return the cheapest route of any length on any layer, if below a price."""
        search, ids = self._detours
        price = np.array(self._price, dtype=np.float64)[ids]
        total, edges = search.cheapest(price, src + self._shifts, dst + self._shifts)
        path: list[int] = ids[edges].tolist()
        return path if total < below else None


def cheapest_staircase(
    price: list[int], cols: int, src: int, dst: int
) -> tuple[int, list[list[bool]]]:
    """Return the price of the cheapest shortest route, and how to trace it.

    All shortest routes of a grid run inside the rectangle between the two tiles
    and never turn back, so one sweep over the rectangle finds the best of them:
    O(tiles of the rectangle), with no queue.

    `price`: price of each edge id (``4 * tail + direction``). `src`, `dst`: two tiles.
    The grids of several layers may be stacked on top of each other: a route stays
    between the rows of its ends.

    Returns the total, and for each row of the rectangle after the first, by column,
    whether the best route arrives there along the column; see `trace`.
    """
    across, down, (stride, along), (step, drop) = _legs(cols, src, dst)
    edge = 4 * src + along
    total = 0
    row = [0]
    for _ in range(across):
        total += price[edge]
        row.append(total)
        edge += 4 * stride
    arrivals: list[list[bool]] = []
    tile = src
    for _ in range(down):
        edge = 4 * tile + drop
        tile += step
        back = 4 * (tile - stride) + along
        total = row[0] + price[edge]
        new, arrival = [total], [True]
        for before in row[1:]:
            edge += 4 * stride
            back += 4 * stride
            total += price[back]
            vertical = before + price[edge]
            if vertical < total:
                total = vertical
                arrival.append(True)
            else:
                arrival.append(False)
            new.append(total)
        arrivals.append(arrival)
        row = new
    return row[-1], arrivals


def trace(cols: int, src: int, dst: int, arrivals: list[list[bool]]) -> list[int]:
    """Return the edge ids, in order, of the route that `cheapest_staircase` found.

    `arrivals`: what the search noted, row by row.
    """
    across, down, (stride, along), (step, drop) = _legs(cols, src, dst)
    tile = dst
    edges: list[int] = []
    while down:
        if arrivals[down - 1][across]:
            tile -= step
            edges.append(4 * tile + drop)
            down -= 1
        else:
            tile -= stride
            edges.append(4 * tile + along)
            across -= 1
    while tile != src:
        tile -= stride
        edges.append(4 * tile + along)
    edges.reverse()
    return edges


def _legs(
    cols: int, src: int, dst: int
) -> tuple[int, int, tuple[int, int], tuple[int, int]]:
    """Return hops across and down, and (node stride, edge direction) of each."""
    from_row, from_col = divmod(src, cols)
    to_row, to_col = divmod(dst, cols)
    across, down = to_col - from_col, to_row - from_row
    horizontal = (1, 2) if across > 0 else (-1, 1)
    vertical = (cols, 3) if down > 0 else (-cols, 0)
    return abs(across), abs(down), horizontal, vertical
