"""What each node does: bytes sent and received, time busy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.replay.timeline import NodeTimes

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.replay.timeline import PairTimes


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
    far. Ends are replaced by their ranks, so that owner and end fit one integer
    and one running maximum serves all owners.
    """
    order = np.lexsort((start, owner))
    owner, start, end = owner[order], start[order], end[order]
    ends, rank = np.unique(end, return_inverse=True)
    furthest = np.maximum.accumulate(owner * len(ends) + rank)
    covered = start.copy()
    same = np.flatnonzero(np.diff(owner) == 0)
    reached = ends[furthest[same] - owner[same] * len(ends)]
    covered[same + 1] = np.maximum(covered[same + 1], reached)
    length = np.zeros(owner_count, dtype=np.int64)
    np.add.at(length, owner, np.maximum(end - covered, 0))
    return length
