"""Routing by negotiated congestion (PathFinder) on a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.routing.monotone_paths import cheapest_staircase, trace
from lightloom.routing.pathfinder import CLOSED, OVERFULL, Auction

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.routing.cheapest_paths import Detours

_PATIENCE = 48
"""Passes without detours: most routings settle before, and detours cost more."""


class Negotiation(Auction):
    """Routes of all requests over one or more copies (layers) of a grid.

    An auction in which requests take the cheapest staircase of any layer; after
    some passes also detours.

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
        super().__init__(len(src), np.tile(by_id, layers))
        self._cols = fabric.cols
        self._nodes = fabric.node_count
        self._layers = range(0, layers * self._nodes, self._nodes)
        self._src: list[int] = src.tolist()
        self._dst: list[int] = dst.tolist()
        self._fabric = fabric
        self._patience = patience
        self._detours: Detours | None = None

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

    def best_routes(self) -> Ragged:
        """Return the tiles of each of the best routes met."""
        return self.routes(self.best_paths)[0]

    def _hops(self) -> IntArray:
        """Return the least hops of each request."""
        src, dst = np.array(self._src), np.array(self._dst)
        hops: IntArray = np.abs(src // self._cols - dst // self._cols)
        hops += np.abs(src % self._cols - dst % self._cols)
        return hops

    def _cheapest(self, request: int, passes: int) -> list[int]:
        """Return the cheapest staircase, or a detour if there is need and patience."""
        src, dst = self._src[request], self._dst[request]
        least, layer, arrivals = CLOSED, 0, None
        for offset in self._layers:
            total, found = cheapest_staircase(
                self._price, self._cols, src + offset, dst + offset
            )
            if total < least:
                least, layer, arrivals = total, offset, found
        path: list[int] | None = None
        if arrivals is not None:
            path = trace(self._cols, src + layer, dst + layer, arrivals)
        if path is None or (passes >= self._patience and least > OVERFULL):
            path = self._detour(src, dst, least) or path
        assert path is not None
        return path

    def _detour(self, src: int, dst: int, below: int) -> list[int] | None:
        """Return the cheapest route of any length on any layer, if below a price."""
        if self._detours is None:
            from lightloom.routing.cheapest_paths import Detours

            self._detours = Detours(self._fabric, len(self._layers))
        return self._detours.cheapest(self._price, src, dst, below)
