"""The dearest lap: arcs of a ring that do not overlap, and cost as much as they can."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def dearest_lap(arcs: Sequence[tuple[int, int, int]], nodes: int) -> int:
    """Return the most that arcs of a ring can cost together without overlap.

    `arcs`: (first span, spans, price) of each; 1 to `nodes` spans, prices not negative.

    The ring is cut at the span that fewest arcs cross: a lap has one of these or none,
    and the rest of it lies on a line. Exact; O(crossing arcs * (arcs + nodes)).
    """
    dear = [arc for arc in arcs if arc[2]]
    change = [0] * (2 * nodes + 1)
    for first, spans, _ in dear:
        change[first] += 1
        change[first + spans] -= 1
    load, loads = 0, [0] * nodes
    for place in range(2 * nodes):
        load += change[place]
        loads[place % nodes] += load
    cut = loads.index(min(loads))
    # Positions after the cut: the cut span is the last one.
    ending: dict[int, list[tuple[int, int]]] = defaultdict(list)
    crossing = []
    for first, spans, price in dear:
        begin = (first - cut - 1) % nodes
        if begin + spans >= nodes:
            crossing.append((begin, begin + spans - nodes, price))
        else:
            ending[begin + spans].append((begin, price))
    most = _on_line(ending, 0, nodes - 1)
    for begin, end, price in crossing:
        most = max(most, price + _on_line(ending, end, begin))
    return most


def _on_line(ending: dict[int, list[tuple[int, int]]], low: int, high: int) -> int:
    """Return the most that arcs between two places of a line can cost."""
    best = [0] * (high + 1)
    for place in range(low + 1, high + 1):
        best[place] = max(
            best[place - 1],
            *(
                best[begin] + price
                for begin, price in ending.get(place, ())
                if begin >= low
            ),
            0,
        )
    return best[high] if high >= low else 0
