"""Timelines: when everything in a schedule happens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.outcome import Summarised
from lightloom.core.units import format_ps
from lightloom.replay.transfer_rows import slices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.core.columns import IntArray


@dataclass(frozen=True)
class StepTime:
    """One step in time.

    `release_ps`: when its transfers are released: the end of the step before. `end_ps`:
    when the last of them has ended. `segments`: the (plane, segment) pairs it uses,
    sorted; none on packet fabrics.
    """

    index: int
    release_ps: int
    end_ps: int
    transfers: int
    bytes: int
    segments: tuple[tuple[int, int], ...]

    @property
    def duration_ps(self) -> int:
        """Time from release to end, in picoseconds."""
        return self.end_ps - self.release_ps


@dataclass(frozen=True)
class Reconfiguration:
    """A plane sets the circuits of `segment` from `start_ps` to `end_ps`."""

    plane: int
    segment: int
    start_ps: int
    end_ps: int


@dataclass(frozen=True, eq=False)
class TransferTimes:
    """Start and end of every transfer of one step part, in its row order."""

    start_ps: IntArray
    end_ps: IntArray


@dataclass(frozen=True, eq=False)
class PairTimes:
    """What each pair does in each step; columns of shape (rows,).

    A row gathers the transfers of one (step, plane, segment, src, dst), which go
    one after another. Rows are sorted by that key.

    `step`, `plane`, `segment`: indices; plane and segment are -1 on packet fabrics.
    `bytes`, `chunks`: what its transfers carry; chunks are 0 for fluid transfers.
    `bits_per_s`: total rate of its circuits; 0 on packet fabrics, where links are
    shared. `start_ps`, `end_ps`: from the start of the first transfer to the end of the
    last.
    """

    step: IntArray
    plane: IntArray
    segment: IntArray
    src: IntArray
    dst: IntArray
    bytes: IntArray
    chunks: IntArray
    bits_per_s: IntArray
    start_ps: IntArray
    end_ps: IntArray

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.src)


@dataclass(frozen=True, eq=False)
class NodeTimes:
    """What each node does; row i is node i, shape (nodes,).

    `busy_ps`: length of the union of the intervals in which the node sends or receives.
    """

    sent_bytes: IntArray
    received_bytes: IntArray
    busy_ps: IntArray
    idle_ps: IntArray


@dataclass(frozen=True)
class Utilisation:
    """How much of the nodes' rate is used; the ratio is ``moved / possible``.

    Both are exact and in the same unit, a bit per second times a picosecond.

    `possible`: number of nodes that send or receive anything, times the rate of a node
    in bits per second, times the completion time in picoseconds.
    """

    moved: int
    possible: int


@dataclass(frozen=True, eq=False, repr=False)
class Timeline(Summarised):
    """When everything in a schedule happens, in picoseconds from its start.

    Attributes
    ----------
    completion_time_ps
        End of the last step; 0 for a schedule without transfers.
    steps
        Every step, by index.
    reconfigurations
        Every reconfiguration, by (start, plane). Those into segments that no later
        step uses are listed too, and may end after the completion time.
    transfers
        Times of the transfers of each part, as ``schedule.parts`` orders them.
    pairs
        The same, one row for each pair, segment and step.
    nodes
        What each node does.
    utilisation
        How much of the nodes' rate is used.
    every_round_charged_ps
        Time if every round paid a reconfiguration, as the LUMORPH paper counts. A
        round is the use of one segment in one step: it pays
        ``reconfiguration_ps`` and then lasts as long as its slowest pair; rounds of
        a plane follow one another, planes work at once, steps are barriers. On
        packet fabrics it is the completion time.
    """

    completion_time_ps: int
    steps: tuple[StepTime, ...]
    reconfigurations: tuple[Reconfiguration, ...]
    transfers: tuple[TransferTimes, ...]
    pairs: PairTimes
    nodes: NodeTimes
    utilisation: Utilisation
    every_round_charged_ps: int

    def facts(self) -> Mapping[str, object]:
        """Return how long it takes, and of how many steps it is."""
        used = self.utilisation
        return {
            "completion_time_ps": self.completion_time_ps,
            "time": format_ps(self.completion_time_ps),
            "steps": len(self.steps),
            "reconfigurations": len(self.reconfigurations),
            "utilisation": f"{used.moved / used.possible:.1%}"
            if used.possible
            else None,
        }


_MOST_KEY = 2**62
"""Integers in which an owner and a time are put together."""
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

    `owner`, `start`, `end`: of each interval, 0 to `owner_count` - 1, and picoseconds,
    ``start <= end``; shape (intervals,). Who has no interval has 0.

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
