"""Division of a tile's lasers over the lanes that share a configuration."""

from __future__ import annotations

import functools
import itertools
import math
from typing import TypeAlias

import numpy as np

from lightloom.core.units import transmission_ps

_MOST_COMBINATIONS = 4096
"""Ways to divide lasers that are all tried; of more, the slowest classes get one more
each while that helps."""

RoundSizes: TypeAlias = tuple[int, tuple[int, ...]]
"""How often a round occurs, and the bytes each lane moves in it (0: unused)."""


@functools.lru_cache(maxsize=65536)
def divide_lasers(
    weights: tuple[int, ...], rounds: tuple[RoundSizes, ...], lasers: int
) -> tuple[int, ...] | None:
    """Return wavelengths per lane so that the rounds together end soonest.

    The time of a round is set by its slowest lane, so lanes that move the same
    sizes get the same number, and lasers that would not speed up the slowest stay
    idle: 16 lasers over 3 equal peers are 5 + 5 + 5.

    `weights`: layers of each lane: a lane of weight w takes w lasers per wavelength.

    Returns wavelengths of each lane, all at least 1; ``None`` where they do not fit.
    Exact where the lanes fall into few classes of equal sizes, which all regular
    collectives do; else the best of a greedy ascent.
    """
    if sum(weights) > lasers:
        return None
    profiles = [
        tuple(sizes[lane] for _, sizes in rounds) for lane in range(len(weights))
    ]
    cost: dict[tuple[int, ...], int] = {}
    for weight, profile in zip(weights, profiles, strict=True):
        cost[profile] = cost.get(profile, 0) + weight
    classes = sorted(cost)
    counts = tuple(count for count, _ in rounds)
    spread = _best_spread([cost[c] for c in classes], classes, counts, lasers)
    of_class = dict(zip(classes, spread, strict=True))
    return tuple(of_class[profile] for profile in profiles)


def _best_spread(
    costs: list[int],
    classes: list[tuple[int, ...]],
    counts: tuple[int, ...],
    lasers: int,
) -> tuple[int, ...]:
    """Return wavelengths per class that minimise the time of all rounds."""
    spare = lasers - sum(costs)
    ranges = [range(1, 2 + spare // cost) for cost in costs]
    if math.prod(map(len, ranges)) > _MOST_COMBINATIONS:
        return _ascend(costs, classes, counts, lasers)
    spreads = np.array(list(itertools.product(*ranges)), dtype=np.int64)
    lit = spreads @ np.array(costs, dtype=np.int64)
    spreads, lit = spreads[lit <= lasers], lit[lit <= lasers]
    # Floats only shortlist: what is within their error is compared exactly.
    share = np.array(classes, dtype=np.float64) / spreads[:, :, None]
    rough = share.max(axis=1) @ np.array(counts, dtype=np.float64)
    near = np.flatnonzero(rough <= rough.min() * (1 + 1e-9))
    # Among equals, the spread that lights the fewest lasers.
    return min(
        (_slowness(classes, counts, spread), number, spread)
        for spread, number in zip(
            map(tuple, spreads[near].tolist()), lit[near].tolist(), strict=True
        )
    )[2]


def _ascend(
    costs: list[int],
    classes: list[tuple[int, ...]],
    counts: tuple[int, ...],
    lasers: int,
) -> tuple[int, ...]:
    """Raise, while it helps, the classes that are slowest in some round."""
    spread = tuple([1] * len(costs))
    best = _slowness(classes, counts, spread)
    while True:
        raised: list[tuple[int, tuple[int, ...]]] = []
        for sizes in zip(*classes, strict=True):
            times = [transmission_ps(s, w) for s, w in zip(sizes, spread, strict=True)]
            slowest = max(times)
            more = tuple(w + (t == slowest) for t, w in zip(times, spread, strict=True))
            if sum(c * w for c, w in zip(costs, more, strict=True)) <= lasers:
                raised.append((_slowness(classes, counts, more), more))
        if not raised or min(raised)[0] >= best:
            return spread
        best, spread = min(raised)


def _slowness(
    classes: list[tuple[int, ...]], counts: tuple[int, ...], spread: tuple[int, ...]
) -> int:
    """Return the time of all rounds at one bit per second and wavelength."""
    return sum(
        count * max(transmission_ps(s, w) for s, w in zip(sizes, spread, strict=True))
        for count, sizes in zip(counts, zip(*classes, strict=True), strict=True)
    )
