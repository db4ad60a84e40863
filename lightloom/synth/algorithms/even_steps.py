"""Circulants in which two steps lead everywhere, each step taken about as often."""

from __future__ import annotations

import functools
import random
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray

_MOST_TRIALS = 4000
_SWEEPS = 4


@functools.lru_cache(maxsize=16)
def even_steps(ranks: int, degree: int) -> tuple[int, ...] | None:
    """Return steps so that every rank is within two of them of every other, evenly.

    Parameters
    ----------
    ranks
        Number of ranks n.
    degree
        Number of steps d, at least 1.

    Returns
    -------
    Ascending steps of 1 to n - 1 that load the ports least in both rounds of an
    all-to-all, of some thousand random choices; ``None`` if none of them leads
    everywhere. Deterministic.
    """
    if not degree < ranks - 1 <= degree * (degree + 3) // 2:
        return None
    choose = random.Random(ranks * 1000 + degree)  # noqa: S311 - no secret
    least = 2 * -(-(ranks - 1 - degree) // degree) + 1
    best: tuple[int, tuple[int, ...]] | None = None
    for _ in range(_MOST_TRIALS):
        steps = tuple(sorted(choose.sample(range(1, ranks), degree)))
        if not lead_everywhere(ranks, steps):
            continue
        loads = _loads(steps, first_steps(ranks, steps))
        if best is None or loads < best[0]:
            best = loads, steps
        if loads <= least:
            break
    return None if best is None else best[1]


def lead_everywhere(ranks: int, steps: tuple[int, ...]) -> bool:
    """Return whether two steps or fewer lead from every rank to every other."""
    reached = {0, *steps}
    reached.update((one + other) % ranks for one in steps for other in steps)
    return len(reached) == ranks


def first_steps(ranks: int, steps: tuple[int, ...]) -> IntArray:
    """Return the step to begin with for every distance, so that loads are even.

    Itself for a step, 0 for 0; else one that leaves another step. Every choice is
    made again, a few times, where the two rounds have most room: by the sum of cubes of
    the loads.
    """
    chosen = np.zeros(ranks, dtype=np.int64)
    step = np.array(steps, dtype=np.int64)
    chosen[step] = step
    first, second = (np.zeros(ranks, dtype=np.int64) for _ in range(2))
    first[step] = 1
    is_step = np.zeros(ranks, dtype=np.bool_)
    is_step[step] = True
    ways = {
        distance: step[is_step[(distance - step) % ranks]]
        for distance in range(1, ranks)
        if not is_step[distance]
    }
    for sweep in range(_SWEEPS):
        for distance in sorted(ways, key=lambda key: len(ways[key])):
            if sweep:
                first[chosen[distance]] -= 1
                second[(distance - chosen[distance]) % ranks] -= 1
            begin = ways[distance]
            end = (distance - begin) % ranks
            cost = (first[begin] + 1) ** 3 - first[begin] ** 3
            cost += (second[end] + 1) ** 3 - second[end] ** 3
            taken = int(begin[cost.argmin()])
            chosen[distance] = taken
            first[taken] += 1
            second[(distance - taken) % ranks] += 1
    return chosen


def step_walks(ranks: int, steps: tuple[int, ...]) -> IntArray:
    """Return where the walk between every pair is, as `even_walks` does.

    Shape (3, n, n): at the start, after one step and after two.
    """
    node = np.arange(ranks, dtype=np.int64)
    distance = (node[None, :] - node[:, None]) % ranks
    middle = (node[:, None] + first_steps(ranks, steps)[distance]) % ranks
    start, end = np.broadcast_arrays(node[:, None], node[None, :])
    return np.stack([start, middle, end])


def _loads(steps: tuple[int, ...], chosen: IntArray) -> int:
    """Return how much the ports with most to send send, first and second round."""
    ranks = len(chosen)
    left = (np.arange(ranks) - chosen) % ranks
    first = np.bincount(chosen[1:], minlength=ranks)[list(steps)]
    second = np.bincount(left[1:], minlength=ranks)[list(steps)]
    return int(first.max() + second.max())
