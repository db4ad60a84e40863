"""Cheapest routes on a grid, detours included."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath


class Detours:
    """Searches stacked copies (layers) of a grid by Dijkstra's algorithm.

    Importing this module loads scipy: import it where it is needed.

    `layers`: number of copies; edge ids of copy i are ``4 * nodes * i`` larger.
    """

    def __init__(self, fabric: Lightpath, layers: int) -> None:
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
