"""The set of arcs that do not overlap and are worth most at given prices."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from lightloom.synth.ring.arc_colouring import span_loads

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray

    Chain = tuple[float, int, "Chain | None"]


class PricedLaps:
    """Arcs of one fibre; finds the lap that is worth most at any prices.

    `begin`, `hops`: first span and number of spans of each arc, shape (arcs,).
    """

    def __init__(self, begin: IntArray, hops: IntArray, nodes: int) -> None:
        # Where fewest arcs cross, a lap has one of these or none.
        cut = int(span_loads(begin, hops, nodes).argmin()) if len(begin) else 0
        self._last = nodes - 1
        self._ending: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._crossing: list[tuple[int, int, int]] = []
        starts = ((begin - cut - 1) % nodes).tolist()
        for arc, (start, count) in enumerate(zip(starts, hops.tolist(), strict=True)):
            end = start + count
            if end >= nodes:
                self._crossing.append((start, end - nodes, arc))
            else:
                self._ending[end].append((start, arc))

    def best(self, price: FloatArray) -> tuple[float, list[int]]:
        """Return what the dearest lap is worth, and its arcs, sorted.

        O(arcs that cross the cut * (arcs + nodes)).
        """
        prices = price.tolist()
        found = self._on_line(prices, 0, self._last), -1
        for start, end, arc in self._crossing:
            if prices[arc] > 0:
                inner = self._on_line(prices, end, start)
                whole = (inner[0] + prices[arc], arc, inner)
                if whole[0] > found[0][0]:
                    found = whole, arc
        arcs = []
        chain: Chain | None = found[0]
        worth = found[0][0]
        while chain is not None:
            if chain[1] >= 0:
                arcs.append(chain[1])
            chain = chain[2]
        return worth, sorted(arcs)

    def _on_line(self, prices: list[float], low: int, high: int) -> Chain:
        """Return the dearest arcs between two places, as a chain."""
        nothing: Chain = (0.0, -1, None)
        best = [nothing] * (high + 1)
        for place in range(low + 1, high + 1):
            at = best[place - 1]
            for start, arc in self._ending.get(place, ()):
                worth = prices[arc]
                if start >= low and worth > 0 and best[start][0] + worth > at[0]:
                    at = (best[start][0] + worth, arc, best[start])
            best[place] = at
        return best[high] if high >= low else nothing
