"""Splitting circuits over both ways round a ring, so that every span has room."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.seed import seeded_random
from lightloom.synth.ring.arc_colouring import span_loads

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.synth.ring.arcs import RingWays

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
