"""Smoothed routing: nearly the best fractional routes, by Frank-Wolfe steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray
    from lightloom.problems.least_congestion.path_search import (
        PathSearch,
        RequestedPairs,
        Walks,
    )
    from lightloom.routing.graph import Graph

_BLOCKS = 32
_BISECTIONS = 10
_FIRST_TEMPERATURE = 0.5
_COOLING = 0.6


class SmoothedRouting:
    """Fractional routes that lower a smooth stand-in for the congestion.

    The stand-in is the soft maximum of the edges' loads over their capacities; its
    gradient is a set of edge lengths, so every step also bounds the congestion from
    below. Requests move in blocks of sources, each towards its shortest paths by as
    much as serves the stand-in best (Frank and Wolfe 1956, in blocks; Bienstock,
    Potential Function Methods, 2002). Floating point: its lengths are hints, to be
    rounded and proved elsewhere.

    `graph`: all edges open and sorted by (tail, head). `pairs`: at least one; each has
    a route.

    `length`: the lengths of the best bound, sum of capacity times length 1. `walks`:
    the paths that were tried, by pass and block, `pair` counted in `pairs`.
    """

    def __init__(self, graph: Graph, pairs: RequestedPairs, search: PathSearch) -> None:
        self._capacity = graph.capacity.astype(np.float64)
        self._pairs = pairs
        self._search = search
        sources, row = np.unique(pairs.src, return_inverse=True)
        blocks = min(_BLOCKS, len(sources))
        members = [np.flatnonzero(row % blocks == block) for block in range(blocks)]
        self._blocks = [(rows, pairs.take(rows)) for rows in members]
        self._load = np.zeros((blocks, len(self._capacity)))
        self._total = np.zeros(len(self._capacity))
        self._temperature = _FIRST_TEMPERATURE
        self._passes = 0
        self.length = 1 / (self._capacity * max(len(self._capacity), 1))
        self.bound = 0.0
        self.walks: list[Walks] = []

    @property
    def use(self) -> FloatArray:
        """Load of each edge over its capacity, shape (edges,)."""
        return self._total / self._capacity

    def step(self) -> None:
        """Move every block once, and bound the congestion."""
        sharpness = self._sharpness()
        for block, (rows, pairs) in enumerate(self._blocks):
            length = _softmax(self.use, sharpness) / self._capacity
            _, walks = self._search.shortest(length, pairs)
            weights = pairs.count[walks.pair[walks.walk]].astype(np.float64)
            edges = len(self._capacity)
            load = np.bincount(walks.edge, weights, edges)
            change = load - self._load[block]
            # The first pass places each block where it is cheap by then.
            by = self._step_length(change, sharpness) if self._passes else 1.0
            self._load[block] += by * change
            self._total += by * change
            self.walks.append(walks.of_pairs(rows))
        self._passes += 1
        self._measure()

    def _sharpness(self) -> float:
        """Return how close the soft maximum is to the maximum."""
        scale = max(float(self.use.max()), 1.0)
        return float(np.log(len(self._capacity) + 1)) / (self._temperature * scale)

    def _measure(self) -> None:
        """Bound the congestion by the lengths of now; cool down if they are good."""
        share = _softmax(self.use, self._sharpness())
        length = share / self._capacity
        bound = float(self._search.distances(length, self._pairs) @ self._pairs.count)
        if bound > self.bound:
            self.bound, self.length = bound, length
        if share @ self.use - bound < self._temperature * bound:
            self._temperature *= _COOLING

    def _step_length(self, change: FloatArray, sharpness: float) -> float:
        """Return the part of a change, 0 to 1, that lowers the stand-in most."""
        use, slope = self.use, change / self._capacity
        low, high = 0.0, 1.0
        if _softmax(use + slope, sharpness) @ slope <= 0:
            return 1.0
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            if _softmax(use + middle * slope, sharpness) @ slope > 0:
                high = middle
            else:
                low = middle
        return (low + high) / 2


def _softmax(use: FloatArray, sharpness: float) -> FloatArray:
    """Return shares that add up to 1, largest where the use is."""
    weight = np.exp(sharpness * (use - use.max()))
    share: FloatArray = weight / weight.sum()
    return share
