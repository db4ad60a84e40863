"""What each node does: bytes sent and received, time busy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.replay.clock.transfer_rows import slices
from lightloom.replay.timeline import NodeTimes

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.replay.timeline import PairTimes

_MOST_KEY = 2**62
_PLACES_A_PAIR = 4
"""With more (step, node) places than this for each pair, intervals are sorted."""


class NodeRecord:
    """What each node has done so far."""

    def __init__(self, node_count: int) -> None:
        self._count = node_count
        self._sent, self._received, self._busy = np.zeros((3, node_count), np.int64)

    def add(self, pairs: PairTimes) -> None:
        """Add whole steps, which no earlier or later one overlaps."""
        np.add.at(self._sent, pairs.src, pairs.bytes)
        np.add.at(self._received, pairs.dst, pairs.bytes)
        self._busy += _busy_ps(pairs, self._count)

    def times(self, completion_time_ps: int) -> NodeTimes:
        """Return what each node did until the end."""
        idle = completion_time_ps - self._busy
        return NodeTimes(self._sent, self._received, self._busy, idle)


def _busy_ps(pairs: PairTimes, node_count: int) -> IntArray:
    """Return how long each node sends or receives in some whole steps."""
    busy_ps = _busy_from_one_start(pairs, node_count)
    if busy_ps is not None:
        return busy_ps
    return union_lengths(
        np.concatenate([pairs.src, pairs.dst]),
        np.concatenate([pairs.start_ps, pairs.start_ps]),
        np.concatenate([pairs.end_ps, pairs.end_ps]),
        node_count,
    )


def _busy_from_one_start(pairs: PairTimes, node_count: int) -> IntArray | None:
    """Return what `_busy_ps` does, if all that a node does in a step starts together.

    Without sorting; ``None`` where something starts later, or steps are too many.
    """
    first = int(pairs.step[0]) if len(pairs) else 0
    steps = int(pairs.step[-1]) - first + 1 if len(pairs) else 0
    if steps * node_count > _PLACES_A_PAIR * len(pairs):
        return None
    start, end = np.full((2, steps * node_count), -1, dtype=np.int64)
    ways = [
        (node, some) for node in (pairs.src, pairs.dst) for some in slices(len(pairs))
    ]
    for node, some in ways:
        place = (pairs.step[some] - first) * node_count + node[some]
        start[place] = pairs.start_ps[some]
        np.maximum.at(end, place, pairs.end_ps[some])
    for node, some in ways:
        place = (pairs.step[some] - first) * node_count + node[some]
        if (start[place] != pairs.start_ps[some]).any():
            return None
    busy_ps: IntArray = (end - start).reshape(steps, node_count).sum(axis=0)
    return busy_ps


def union_lengths(
    owner: IntArray, start: IntArray, end: IntArray, owner_count: int
) -> IntArray:
    """Return the length of the union of the intervals of each owner.

    Intervals are swept by start; each adds what lies beyond the furthest end so
    far. Owner and end are put into one integer, so that one running maximum serves
    all owners; where they do not fit, times are replaced by their ranks.

    Parameters
    ----------
    owner
        Whose each interval is, 0 to `owner_count` - 1, shape (intervals,).
    start, end
        Times in picoseconds, ``start <= end``, shape (intervals,).
    owner_count
        Number of owners, and length of the result; who has no interval has 0.

    Examples
    --------
    Two intervals of owner 0 overlap:

    >>> start, end = np.array([0, 2, 0]), np.array([3, 5, 1])
    >>> union_lengths(np.array([0, 0, 2]), start, end, 3).tolist()
    [5, 0, 1]
    """
    if not len(owner):
        return np.zeros(owner_count, dtype=np.int64)
    times = None
    first, span = int(start.min()), int(end.max()) - int(start.min()) + 1
    if span * owner_count > _MOST_KEY or int(end.min()) < first:
        times = np.unique(np.concatenate([start, end]))
        high, span = np.searchsorted(times, end), len(times)
    else:
        high = end - first
    # Merge sort, as steps come in order: twice as fast here as one key, sorted quickly.
    order = np.lexsort((start, owner))
    owner, start, end = owner[order], start[order], end[order]
    furthest = np.maximum.accumulate(owner * span + high[order])
    covered = start.copy()
    same = np.flatnonzero(np.diff(owner) == 0)
    reached = furthest[same] - owner[same] * span
    reached = reached + first if times is None else times[reached]
    covered[same + 1] = np.maximum(covered[same + 1], reached)
    length = np.zeros(owner_count, dtype=np.int64)
    np.add.at(length, owner, np.maximum(end - covered, 0))
    return length
