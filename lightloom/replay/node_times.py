"""What each node does: bytes sent and received, time busy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.replay.timeline import NodeTimes

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.replay.timeline import PairTimes

_MOST_KEY = 2**62


def node_times(pairs: PairTimes, node_count: int, completion_time_ps: int) -> NodeTimes:
    """Return what each node does, in O(P log P) for P rows of `pairs`."""
    sent = np.zeros(node_count, dtype=np.int64)
    received = np.zeros(node_count, dtype=np.int64)
    np.add.at(sent, pairs.src, pairs.bytes)
    np.add.at(received, pairs.dst, pairs.bytes)
    busy = union_lengths(
        np.concatenate([pairs.src, pairs.dst]),
        np.concatenate([pairs.start_ps, pairs.start_ps]),
        np.concatenate([pairs.end_ps, pairs.end_ps]),
        node_count,
    )
    return NodeTimes(sent, received, busy, completion_time_ps - busy)


def union_lengths(
    owner: IntArray, start: IntArray, end: IntArray, owner_count: int
) -> IntArray:
    """Return the length of the union of the intervals of each owner.

    Intervals are swept by start; each adds what lies beyond the furthest end so
    far. Owner and end are put into one integer, so that one running maximum serves
    all owners; where they do not fit, times are replaced by their ranks.
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
