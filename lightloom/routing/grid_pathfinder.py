"""Routing by negotiated congestion (PathFinder) on a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.routing.pathfinder import CLOSED, OVERFULL, Auction

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath


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
            self._detours = Detours(self._fabric, len(self._layers))
        return self._detours.cheapest(self._price, src, dst, below)


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


class Detours:
    """Searches stacked copies (layers) of a grid by Dijkstra's algorithm.

    `layers`: number of copies; edge ids of copy i are ``4 * nodes * i`` larger.
    """

    def __init__(self, fabric: Lightpath, layers: int) -> None:
        from scipy.sparse import csr_array

        self._fabric = fabric
        nodes = fabric.node_count
        tail, head = fabric.edges()
        self._shifts: IntArray = np.arange(layers, dtype=np.int64) * nodes
        shift = np.repeat(self._shifts, len(tail))
        self._ids = np.tile(fabric.edge_ids(tail, head), layers) + 4 * shift
        # Edges come sorted by tail, which is the order of a sparse row matrix.
        tails, heads = np.tile(tail, layers) + shift, np.tile(head, layers) + shift
        starts = np.searchsorted(tails, np.arange(layers * nodes + 1))
        self._graph = csr_array(
            (np.ones(len(heads)), heads.astype(np.int32), starts.astype(np.int32)),
            shape=(layers * nodes, layers * nodes),
        )

    def cheapest(
        self, price: list[int], src: int, dst: int, below: int
    ) -> list[int] | None:
        """Return the edge ids of the cheapest route, if it is cheaper than `below`.

        `price`: positive price of each edge id; sums must stay below 2**53, where sums
        of doubles are exact.
        """
        from scipy.sparse.csgraph import dijkstra

        self._graph.data = np.array(price, dtype=np.float64)[self._ids]
        distance, before, _ = dijkstra(
            self._graph,
            indices=src + self._shifts,
            min_only=True,
            return_predecessors=True,
        )
        shift = int(self._shifts[distance[dst + self._shifts].argmin()])
        tile = dst + shift
        if distance[tile] >= below:
            return None
        tiles = [dst]
        while tiles[-1] != src:
            tile = int(before[tile])
            tiles.append(tile - shift)
        walk = np.array(tiles[::-1], dtype=np.int64)
        edges = self._fabric.edge_ids(walk[:-1], walk[1:]) + 4 * shift
        path: list[int] = edges.tolist()
        return path
