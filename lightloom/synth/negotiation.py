"""Negotiated routing: requests outbid each other for the edges of a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.synth.congestion import UNROUTABLE
from lightloom.synth.staircases import cheapest_staircase, trace

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.synth.detours import Detours

_CLOSED = 2**40
"""Price of an edge that no route may use; no sum of other prices reaches it."""
_OVERFULL = 64
"""Price of each request above the limit of an edge."""
_REMEMBERED = 8
"""Lasting surcharge for each pass that finds an edge overfull."""
_SPREAD = 8
"""Price of the last place within the limit, where the first costs 1."""
_PATIENCE = 48
"""Passes without detours: most routings settle before, and detours cost more."""


class Negotiation:
    """Routes of all requests over one or more copies (layers) of a grid.

    An edge has a *limit*. Its price for the next request grows a little with its
    load, steeply with each request above the limit, and for good with each pass
    that finds it above the limit (McMurchie and Ebeling, PathFinder, 1995).
    Requests on overfull edges are ripped up and routed again, one by one, on the
    cheapest staircase of any layer; after some passes also on detours.

    Everything is kept in plain lists: single reads and writes dominate. The
    prices below were chosen by measurement.

    Parameters
    ----------
    fabric
        The grid.
    src, dst
        Tiles, shape (requests,), different in every row.
    by_id
        Capacity of each edge id, 0 where no route may run.
    layers
        Copies of the grid that a request may choose from.
    """

    def __init__(
        self,
        fabric: Lightpath,
        src: IntArray,
        dst: IntArray,
        by_id: IntArray,
        *,
        layers: int = 1,
    ) -> None:
        self._cols = fabric.cols
        self._nodes = fabric.node_count
        self._layers = range(0, layers * self._nodes, self._nodes)
        self._src: list[int] = src.tolist()
        self._dst: list[int] = dst.tolist()
        capacity = np.tile(by_id, layers)
        self._capacity: list[int] = capacity.tolist()
        self._edges: list[int] = np.flatnonzero(capacity).tolist()
        self._fabric = fabric
        self._detours: Detours | None = None
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
        self._price = [1 if limit else _CLOSED for limit in self._limit]
        self._users: list[dict[int, None]] = [{} for _ in self._limit]
        src, dst = np.array(self._src), np.array(self._dst)
        length = np.abs(src // self._cols - dst // self._cols)
        length += np.abs(src % self._cols - dst % self._cols)
        for request in np.argsort(-length, kind="stable").tolist():
            self._place(request, detours=False)
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
                    self._place(request, detours=passes >= _PATIENCE)
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
        """Return the tiles of each path, and the layer it runs on."""
        lengths = np.fromiter((len(path) for path in paths), np.int64, len(paths))
        total = int(lengths.sum())
        edges = np.fromiter((e for path in paths for e in path), np.int64, total)
        ends = np.cumsum(lengths)
        tails = edges // 4
        tiles = np.insert(tails % self._nodes, ends, self._dst)
        layer = tails[ends - lengths] // self._nodes
        return Ragged.from_lengths(lengths + 1, tiles), layer

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

    def _place(self, request: int, *, detours: bool) -> None:
        """Put a request on the cheapest route there is now."""
        src, dst = self._src[request], self._dst[request]
        least, layer, arrivals = _CLOSED, 0, None
        for offset in self._layers:
            total, found = cheapest_staircase(
                self._price, self._cols, src + offset, dst + offset
            )
            if total < least:
                least, layer, arrivals = total, offset, found
        path: list[int] | None = None
        if arrivals is not None:
            path = trace(self._cols, src + layer, dst + layer, arrivals)
        if path is None or (detours and least > _OVERFULL):
            path = self._detour(src, dst, least) or path
        assert path is not None
        self.paths[request] = path
        for edge in path:
            self._users[edge][request] = None
            self._change(edge, 1)

    def _detour(self, src: int, dst: int, below: int) -> list[int] | None:
        """Return the cheapest route of any length on any layer, if below a price."""
        if self._detours is None:
            from lightloom.synth.detours import Detours  # noqa: PLC0415

            self._detours = Detours(self._fabric, len(self._layers))
        return self._detours.cheapest(self._price, src, dst, below)

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
            now = _OVERFULL * (load + 1 - limit)
        else:
            now = 1 + _SPREAD * load // limit
        self._price[edge] = self._history[edge] + now
