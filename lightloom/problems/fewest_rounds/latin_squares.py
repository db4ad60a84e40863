"""Latin squares whose every row crosses each place of a line only a few times."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from lightloom.core.seed import seeded_random

if TYPE_CHECKING:
    import random

_PASSES = 40_000
_ATTEMPTS = 3
_HEAT = 0.6


@functools.lru_cache(maxsize=256)
def balanced_square(
    size: int, most: int, *, identity: bool = False
) -> tuple[tuple[int, ...], ...] | None:
    """Return `size` permutations that take every place to every place once.

    Read a permutation as paths along a line, from place c to place p[c]. Between any
    two neighbouring places, at most `most` paths lead to the right, and as many to
    the left. From the cyclic shifts, cycles of two permutations are exchanged at
    random, at falling temperature.

    `size`: places of the line, at least 1. `most`: at least ``ceil(floor(size / 2) *
    ceil(size / 2) / size)``, which is the average over the permutations at the middle.

    Returns the square, or ``None`` where none was found. Deterministic.
    """
    for attempt in range(_ATTEMPTS):
        rng = seeded_random(attempt)
        found = _anneal(size, most, rng, identity=identity)
        if found is not None:
            return tuple(map(tuple, found))
    return None


def _anneal(
    size: int, most: int, rng: random.Random, *, identity: bool
) -> list[list[int]] | None:
    """Return a square, or ``None`` where the exchanges found none."""
    square = [[(place + by) % size for place in range(size)] for by in range(size)]
    excess = [_excess(row, most) for row in square]
    total, first = sum(excess), int(identity)
    for done in range(_PASSES):
        if not total or size - first < 2:
            break
        one, two = rng.sample(range(first, size), 2)
        rows = _exchanged(square[one], square[two], rng.randrange(size))
        if rows is None:
            continue
        now = [_excess(row, most) for row in rows]
        worse = sum(now) - excess[one] - excess[two]
        heat = max(_HEAT * (1 - done / _PASSES), 0.05)
        if worse <= 0 or rng.random() < math.exp(-worse / heat):
            square[one], square[two] = rows
            excess[one], excess[two] = now
            total += worse
    return None if total else square


def _exchanged(
    one: list[int], two: list[int], place: int
) -> tuple[list[int], list[int]] | None:
    """Return two permutations with one common cycle exchanged, unless it is all."""
    back = [0] * len(one)
    for source, target in enumerate(one):
        back[target] = source
    new_one, new_two, length = one.copy(), two.copy(), 0
    at = place
    while not length or at != place:
        new_one[at], new_two[at] = two[at], one[at]
        at, length = back[two[at]], length + 1
    return None if length == len(one) else (new_one, new_two)


def _excess(row: list[int], most: int) -> int:
    """Return by how much the paths to the right exceed `most`, over the line."""
    change = [0] * (len(row) + 1)
    for source, target in enumerate(row):
        if target > source:
            change[source] += 1
            change[target] -= 1
    load = excess = 0
    for step in change:
        load += step
        excess += max(0, load - most)
    return excess
