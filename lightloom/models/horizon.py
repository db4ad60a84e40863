"""A number of rounds that suffices, from a greedy schedule on candidate routes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lightloom.models.candidate_routes import open_edges, route_edges

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.models.candidate_routes import Edge, Pair, Routes
    from lightloom.models.deliveries import Deliveries


def rounds_that_suffice(
    fabric: Lightpath, deliveries: Deliveries, routes: Routes
) -> int:
    """Return in how many rounds the collective can surely be done.

    Round by round, every delivery that a sender, a wavelength and a route are free
    for takes the first of them. At least one delivery fits an empty fabric, so this
    ends; deterministic, O(rounds * deliveries * senders * routes * wavelengths).

    `routes`: candidate routes of each pair that may send something, preferred ones
    first.
    """
    has = {chunk: set(nodes) for chunk, nodes in deliveries.holders.items()}
    open_ = [(c, dst) for c, nodes in deliveries.lacking.items() for dst in nodes]
    waveguides = open_edges(fabric)
    rounds = 0
    while open_:
        taken = _Taken(fabric.lasers, waveguides)
        left = []
        brought = []
        for chunk, dst in open_:
            pairs = ((src, dst) for src in sorted(has[chunk]))
            if any(taken.light(pair, routes) for pair in pairs):
                brought.append((chunk, dst))
            else:
                left.append((chunk, dst))
        for chunk, dst in brought:
            has[chunk].add(dst)
        open_ = left
        rounds += 1
    return rounds


class _Taken:
    """What the circuits of one round have taken."""

    def __init__(self, lasers: int, waveguides: dict[Edge, int]) -> None:
        self._lasers = lasers
        self._waveguides = waveguides
        self._ends: set[tuple[str, int, int]] = set()
        self._edges: Counter[tuple[Edge, int]] = Counter()

    def light(self, pair: Pair, routes: Routes) -> bool:
        """Light a circuit between a pair if one is free."""
        src, dst = pair
        for wavelength, edges in self._choices(pair, routes):
            full = any(
                self._edges[edge, wavelength] >= self._waveguides[edge]
                for edge in edges
            )
            if not full:
                self._ends |= {("out", src, wavelength), ("in", dst, wavelength)}
                self._edges.update((edge, wavelength) for edge in edges)
                return True
        return False

    def _choices(self, pair: Pair, routes: Routes) -> Iterator[tuple[int, list[Edge]]]:
        src, dst = pair
        for wavelength in range(self._lasers):
            if {("out", src, wavelength), ("in", dst, wavelength)} & self._ends:
                continue
            for route in routes[pair]:
                yield wavelength, route_edges(route)
