"""Which planes serve which steps, where planes change independently of one another.

A search over used sets: from some starts, planes join and leave jobs as long as that
ends sooner. A closed recursion (`level_timing`) times most of them, a linear program
(`exact_timing`) the best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.synth.ocs.plane_timing import exact_timing, level_timing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lightloom.synth.ocs.plane_timing import LaneJobs, PlaneTiming, UsedPlanes

_PAIR_MOVES = 64
"""Most (plane, job) places for which two moves are tried at once."""
_LEVEL_WORK = 2**19
"""Most places that are timed by recursion, for each start."""
_EXACT_WORK = 2**15
"""Most places that are timed by linear programs."""
_POLISHED = 3
_GAIN = 1e-9


def every_step(jobs: LaneJobs, planes: int) -> UsedPlanes:
    """Return all planes for every job, divided among the lanes of a step."""
    used = np.zeros((planes, len(jobs.step)), dtype=bool)
    for step in range(int(jobs.step[-1]) + 1):
        mine = np.flatnonzero(jobs.step == step)
        for plane in range(planes):
            used[plane, mine[plane % len(mine)]] = True
    return used


def one_shot(jobs: LaneJobs, planes: int) -> UsedPlanes | None:
    """Return planes that keep one lane each; ``None`` where there are more lanes.

    Lanes with most data to move get what planes are left over.
    """
    lanes, which = np.unique(jobs.lane, return_inverse=True)
    if len(lanes) > planes:
        return None
    total = np.bincount(which, weights=jobs.data)
    count = np.ones(len(lanes), dtype=np.int64)
    for _ in range(planes - len(lanes)):
        count[int(np.argmax(total / (count * (count + 1))))] += 1
    lane_of_plane = np.repeat(np.arange(len(lanes)), count)
    used: UsedPlanes = lane_of_plane[:, None] == which[None, :]
    return used


def best_timing(jobs: LaneJobs, starts: Iterable[UsedPlanes], seed: int) -> PlaneTiming:
    """Return the timing that ends soonest of those that are found.

    Never worse than any start. Deterministic; the work is limited, not the time.

    `starts`: used sets to begin with, each with a plane for every job; one or more.
    """
    found: list[tuple[float, int, UsedPlanes]] = []
    best: PlaneTiming | None = None
    for start in starts:
        for used in (start, _climbed(jobs, start.copy(), seed)):
            timing = exact_timing(jobs, used)
            if timing is None:
                continue
            found.append((timing.end, len(found), used))
            if best is None or timing.end < best.end:
                best = timing
    assert best is not None
    for _, _, used in sorted(found, key=lambda one: one[:2])[:_POLISHED]:
        timing = _polished(jobs, used.copy(), seed)
        if timing.end < best.end:
            best = timing
    return best


def _climbed(jobs: LaneJobs, used: UsedPlanes, seed: int) -> UsedPlanes:
    """Return used sets whose level timing no move improves, or the work is done."""
    timing = level_timing(jobs, used)
    assert timing is not None
    best, work = timing.end, _LEVEL_WORK // used.size
    moves = [tuple(move) for move in np.argwhere(used | True).tolist()]
    np.random.default_rng(seed).shuffle(moves)
    gained = True
    while gained and work > 0:
        gained = False
        for flips in _flips(moves, pairs=used.size <= _PAIR_MOVES):
            for place in flips:
                used[place] ^= True
            timing, work = level_timing(jobs, used), work - 1
            if timing is not None and timing.end < best - _GAIN * best:
                best, gained = timing.end, True
                continue
            for place in flips:
                used[place] ^= True
            if work <= 0:
                break
    timing = level_timing(jobs, used)
    assert timing is not None
    return timing.data > 0


def _flips(
    moves: list[tuple[int, ...]], *, pairs: bool
) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yield each move by itself, then with another of its plane or of its job."""
    for move in moves:
        yield (move,)
    if pairs:
        for index, first in enumerate(moves):
            for second in moves[index + 1 :]:
                if first[0] == second[0] or first[1] == second[1]:
                    yield first, second


def _polished(jobs: LaneJobs, used: UsedPlanes, seed: int) -> PlaneTiming:
    """Return the exact timing of used sets that no single move improves."""
    best = exact_timing(jobs, used)
    assert best is not None
    moves = [tuple(move) for move in np.argwhere(used | True).tolist()]
    np.random.default_rng(seed).shuffle(moves)
    work, since, turn = _EXACT_WORK // used.size, 0, 0
    while since < len(moves) and work > 0:
        place = moves[turn % len(moves)]
        turn, since, work = turn + 1, since + 1, work - 1
        used[place] ^= True
        timing = exact_timing(jobs, used)
        if timing is not None and timing.end < best.end - _GAIN * best.end:
            best, since = timing, 0
        else:
            used[place] ^= True
    return best
