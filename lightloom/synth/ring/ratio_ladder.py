"""The ratios that the slowest pair of a ring can have, and circuits that reach one."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.seed import seeded_random
from lightloom.synth.circuit_ratios import least_ratio, order_by_ratio
from lightloom.synth.ring.arcs import LitRing, arc_colours, span_loads

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.synth.ring.arcs import RingWays


_ATTEMPTS = 8
"""Splits, or pairings of colours, that are tried where there is a choice of them."""
_SHAKE = 0.05
"""Share of circuits that each further split starts with on the longer way."""


class Ladder:
    """Ratios that the slowest pair can have, from the bound down to one circuit each.

    `counts`: fewest circuits of each pair for the ratio at the top.
    """

    def __init__(self, size_bytes: IntArray, counts: IntArray) -> None:
        self._size, self._top = size_bytes, counts
        pair = np.repeat(np.arange(len(counts)), counts - 1)
        ends = np.cumsum(counts - 1)
        kept = np.arange(len(pair)) - np.repeat(ends - (counts - 1), counts - 1) + 1
        order, first = order_by_ratio(kept, size_bytes[pair])
        # From the largest ratio down; ties are one rung.
        self._pair = pair[order][::-1]
        starts = np.flatnonzero(first)
        self._ends = len(pair) - starts[::-1]

    @property
    def levels(self) -> int:
        """Number of ratios."""
        return len(self._ends) + 1

    def counts(self, depth: int) -> IntArray:
        """Return the fewest circuits of each pair at a depth, 0 being the top."""
        given_up = int(self._ends[depth - 1]) if depth else 0
        fewer = np.bincount(self._pair[:given_up], minlength=len(self._top))
        counts: IntArray = self._top - fewer
        return counts

    def ratio(self, depth: int) -> Fraction:
        """Return the ratio of a depth; 0 below the last."""
        if depth == self.levels:
            return Fraction(0)
        return least_ratio(self.counts(depth), self._size)[0]

    def first(
        self, light: Callable[[IntArray], LitRing | None]
    ) -> tuple[LitRing | None, int]:
        """Return what lights the highest ratio that is found to work, and its depth.

        Steps down get longer until one works; then halving looks in the last step. If
        none works, the depth is the number of levels.
        """
        low, step = 0, 1
        ring = light(self.counts(low))
        failed = -1
        while ring is None:
            if low == self.levels - 1:
                return None, self.levels
            failed, low = low, min(low + step, self.levels - 1)
            step *= 2
            ring = light(self.counts(low))
        while low - failed > 1:
            middle = (failed + low) // 2
            better = light(self.counts(middle))
            if better is None:
                failed = middle
            else:
                ring, low = better, middle
        return ring, low


def lit_at(
    fabric: Ring, ways: RingWays, counts: IntArray, seed: int, effort: int
) -> LitRing | None:
    """Return a ring on which every pair has its circuits, if that is found.

    Circuits are split over the ways, and the split is lit; several splits are tried
    where there is a choice of them.

    `counts`: circuits of each pair, shape (pairs,).
    """
    shared = fabric.transceivers < fabric.directions
    choice = shared or bool((ways.count == 2).any())
    attempts = _ATTEMPTS if choice else 1
    for attempt in range(attempts):
        tried = seed + attempt
        on_way = split_circuits(fabric, ways, counts, tried, shake=_SHAKE * attempt)
        if on_way is None:
            continue
        ring = light_split(fabric, ways, on_way, tried, effort // attempts)
        if ring is not None:
            return ring
    return None


def light_split(
    fabric: Ring, ways: RingWays, on_way: IntArray, seed: int, effort: int
) -> LitRing | None:
    """Return a ring with so many circuits on each way, if a colouring is found.

    Fibres are coloured by themselves. Where transceivers are shared, each colour of
    the fibre back is then put on the wavelength of a colour of the fibre forth with
    which it has no source and no destination in common: a perfect matching.

    `on_way`: circuits on each way, shape (ways,).
    """
    lit = _coloured(fabric, ways, on_way, seed, effort)
    return None if lit is None else light_coloured(fabric, ways, *lit)


def light_coloured(
    fabric: Ring, ways: RingWays, way: IntArray, colour: IntArray
) -> LitRing | None:
    """Return a ring with circuits whose colours suit each fibre by itself.

    ``None`` where transceivers are shared and the colours of the fibres find no match.

    `way`, `colour`: way and colour of each circuit, shape (circuits,).
    """
    if fabric.transceivers < fabric.directions:
        wavelength = _matched(fabric, ways, way, colour)
        if wavelength is None:
            return None
        back = ways.direction[way] == 1
        colour = np.where(back, wavelength[colour], colour)
    ring = LitRing(fabric, ways)
    ring.light_all(way, colour)
    return ring


def _coloured(
    fabric: Ring, ways: RingWays, on_way: IntArray, seed: int, effort: int
) -> tuple[IntArray, IntArray] | None:
    """Return the way and the colour of each circuit, each fibre by itself."""
    found: list[tuple[IntArray, IntArray]] = []
    for direction in range(fabric.directions):
        mine = np.where(ways.direction == direction, on_way, 0)
        way = np.repeat(np.arange(len(on_way)), mine)
        colour = arc_colours(
            ways.begin[way],
            ways.hops[way],
            fabric.nodes,
            fabric.wavelengths,
            seed=seed,
            effort=effort,
        )
        if colour is None:
            return None
        found.append((way, colour))
    way, colour = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return way, colour


def _matched(
    fabric: Ring, ways: RingWays, way: IntArray, colour: IntArray
) -> IntArray | None:
    """Return the wavelength of each colour of the fibre back, if all find one."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    shape = (2, fabric.wavelengths, fabric.nodes)
    meet = np.zeros((fabric.wavelengths, fabric.wavelengths), dtype=np.int64)
    direction, pair = ways.direction[way], ways.pair[way]
    for ends in (ways.src, ways.dst):
        used = np.zeros(shape, dtype=np.int64)
        used[direction, colour, ends[pair]] = 1
        meet += used[1] @ used[0].T
    free = csr_array((meet == 0).astype(np.int8))
    matched = maximum_bipartite_matching(free, perm_type="column").astype(np.int64)
    return None if (matched < 0).any() else matched


_MOVES_PER_CIRCUIT = 8


def split_circuits(
    fabric: Ring, ways: RingWays, counts: IntArray, seed: int, *, shake: float = 0.0
) -> IntArray | None:
    """Return the circuits of each way, if a split is found that fits all spans.

    Circuits start on the shorter way of their pair. From the most loaded span, one of
    the circuits whose other way is least loaded goes there, as long as that helps, or
    is as good and the search is not at its end.

    `counts`: circuits of each pair, shape (pairs,).

    Returns shape (ways,); ``None`` if none is found. O(circuits * ways * reach).
    """
    by_hops = np.lexsort((ways.hops, ways.pair))
    on_way = np.zeros(len(ways.pair), dtype=np.int64)
    on_way[by_hops[ways.first]] = counts
    two = np.flatnonzero(ways.count[ways.pair] == 2)
    other = np.where(two == ways.first[ways.pair[two]], two + 1, two - 1)
    if shake:
        moved = np.random.default_rng(seed).binomial(on_way[two], shake)
        on_way[two] -= moved
        on_way[other] += moved
    load = np.stack([_loads(fabric, ways, on_way, d) for d in range(fabric.directions)])
    crossed = np.zeros((len(two), fabric.nodes), dtype=np.bool_)
    for row, way in enumerate(two.tolist()):
        span = (ways.begin[way] + np.arange(ways.hops[way])) % fabric.nodes
        crossed[row, span] = True
    back = np.searchsorted(two, other)
    rng = seeded_random(seed)
    for _ in range(_MOVES_PER_CIRCUIT * int(counts.sum()) + 1):
        if load.max() <= fabric.wavelengths:
            return on_way
        worst = np.argwhere(load == load.max())
        direction, span = worst[rng.randrange(len(worst))].tolist()
        able = np.flatnonzero(
            (ways.direction[two] == direction) & crossed[:, span] & (on_way[two] > 0)
        )
        if not len(able):
            return None
        ahead = np.where(crossed[back[able]], load[1 - direction], -1).max(axis=1)
        if ahead.min() >= load.max():
            return None
        best = able[ahead == ahead.min()]
        move = int(best[rng.randrange(len(best))])
        on_way[two[move]] -= 1
        on_way[other[move]] += 1
        load[direction] -= crossed[move]
        load[1 - direction] += crossed[back[move]]
    return None


def _loads(fabric: Ring, ways: RingWays, on_way: IntArray, direction: int) -> IntArray:
    """Return the load of each span of one fibre."""
    mine = np.repeat(
        np.arange(len(on_way)), np.where(ways.direction == direction, on_way, 0)
    )
    return span_loads(ways.begin[mine], ways.hops[mine], fabric.nodes)
