"""Where the time of nodes goes: reconfiguration, alpha, data, idle; exact integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.fabric import CircuitFabric
from lightloom.instances.fabrics import load_fabric
from lightloom.replay.circuit_table import circuit_table
from lightloom.replay.timeline import union_lengths

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import AnyFabric
    from lightloom.replay.timeline import PairTimes, Timeline

PARTS = ("reconfiguration", "alpha", "data", "idle")
"""What a node can do at an instant: exactly one of them, as `TimeShares` says."""
_MOST_OWNERS = 2**18
"""Of (step, node) places that are looked at together: their columns fit a cache."""
_LOW_BITS = 32
"""Bits of a half of a word: halves of 2**31 nodes add up in 63 bits."""


@dataclass(frozen=True, eq=False)
class TimeShares:
    """What nodes do from the start of a schedule to its end, in picoseconds.

    At each instant a node does one of four things, the first of these that holds:

    - *data*: it sends or receives, and alpha of that transfer has passed;
    - *alpha*: it sends or receives, within the first alpha of each such transfer;
    - *reconfiguration*: a plane sets circuits of which the node is an end, other than
      those that stay lit;
    - *idle*: the rest.

    So the four of a node add up to the completion time. Transfers of a pair that go one
    after another in a step and a segment pay alpha once. On packet fabrics data include
    their latency.

    Attributes
    ----------
    node_ps
        Of each node over all steps, shape (nodes, 4), columns as `PARTS`.
    step_ps
        Of each step, summed over all nodes: four numbers that add up to the nodes
        times the step's duration.
    """

    node_ps: IntArray
    step_ps: tuple[tuple[int, ...], ...]

    def total_ps(self) -> dict[str, int]:
        """Return the sums over all nodes, by part."""
        sums = [sum(column) for column in zip(*self.step_ps, strict=True)]
        return dict(zip(PARTS, sums or [0] * len(PARTS), strict=True))


def time_shares(schedule: Schedule, timeline: Timeline) -> TimeShares:
    """Return where the time of the nodes goes, given a schedule and its replay.

    Steps are taken some at a time; what happens in one lies within it, but for
    reconfigurations, which are cut at the ends of steps.
    """
    fabric = load_fabric(schedule.fabric)
    nodes, pairs = fabric.node_count, timeline.pairs
    setting = _setting(fabric, schedule, timeline)
    release = np.array([step.release_ps for step in timeline.steps], dtype=np.int64)
    end = np.array([step.end_ps for step in timeline.steps], dtype=np.int64)
    node_ps = np.zeros((nodes, len(PARTS)), dtype=np.int64)
    step_ps: list[tuple[int, ...]] = []
    together = max(1, _MOST_OWNERS // nodes)
    for first in range(0, len(release), together):
        some = slice(first, first + together)
        table = _parts(fabric, pairs, setting, first, release[some], end[some])
        node_ps += table.sum(axis=0)
        step_ps += exact_sums(table)
    return TimeShares(node_ps, tuple(step_ps))


def _parts(
    fabric: AnyFabric,
    pairs: PairTimes,
    setting: Sequence[tuple[int, int, IntArray]],
    first: int,
    release: IntArray,
    end: IntArray,
) -> IntArray:
    """Return the parts of the steps from `first` on, shape (steps, nodes, 4)."""
    steps, nodes = len(release), fabric.node_count
    rows = slice(*np.searchsorted(pairs.step, (first, first + steps)).tolist())
    place = (pairs.step[rows] - first) * nodes
    owner = np.concatenate([place + pairs.src[rows], place + pairs.dst[rows]])
    start_ps, end_ps = np.tile(pairs.start_ps[rows], 2), np.tile(pairs.end_ps[rows], 2)
    paid_ps = np.minimum(start_ps + fabric.alpha_ps, end_ps)
    data = union_lengths(owner, paid_ps, end_ps, steps * nodes)
    busy = used = union_lengths(owner, start_ps, end_ps, steps * nodes)
    if dark := list(_cut(setting, release, end, nodes)):
        owner, start_ps, end_ps = (
            np.concatenate(column)
            for column in zip((owner, start_ps, end_ps), *dark, strict=True)
        )
        used = union_lengths(owner, start_ps, end_ps, steps * nodes)
    lasts = np.repeat(end - release, nodes)
    parts = np.stack([used - busy, busy - data, data, lasts - used], axis=-1)
    return parts.reshape(steps, nodes, len(PARTS))


def _setting(
    fabric: AnyFabric, schedule: Schedule, timeline: Timeline
) -> list[tuple[int, int, IntArray]]:
    """Return start and end of each reconfiguration, and the nodes that wait for it."""
    if not isinstance(fabric, CircuitFabric) or not timeline.reconfigurations:
        return []
    table, nodes = circuit_table(fabric, schedule.segments), fabric.node_count
    row, pair = np.divmod(table.pair_key[~table.pair_kept], nodes**2)
    first = np.searchsorted(row, np.arange(len(schedule.segments) + 1))
    setting = []
    for change in timeline.reconfigurations:
        at = table.segment_row[change.plane, change.segment]
        ends = np.divmod(pair[first[at] : first[at + 1]], nodes)
        waiting = np.unique(np.concatenate(ends))
        setting.append((change.start_ps, change.end_ps, waiting))
    return setting


def _cut(
    setting: Sequence[tuple[int, int, IntArray]],
    release: IntArray,
    end: IntArray,
    nodes: int,
) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Yield owner, start and end of reconfigurations, cut at the ends of some steps."""
    for start_ps, end_ps, waiting in setting:
        if start_ps >= end[-1] or end_ps <= release[0]:
            continue
        first = int(np.searchsorted(end, start_ps, "right"))
        last = int(np.searchsorted(release, end_ps, "left"))
        for step in range(first, last):
            from_ps = max(start_ps, int(release[step]))
            to_ps = min(end_ps, int(end[step]))
            count = len(waiting)
            yield (
                step * nodes + waiting,
                np.full(count, from_ps, dtype=np.int64),
                np.full(count, to_ps, dtype=np.int64),
            )


def exact_sums(table: IntArray) -> list[tuple[int, ...]]:
    """Return the sums over the nodes, shape (steps, 4), where 63 bits may not do."""
    high = (table >> _LOW_BITS).sum(axis=1).tolist()
    low = (table & (2**_LOW_BITS - 1)).sum(axis=1).tolist()
    return [
        tuple((h << _LOW_BITS) + some for h, some in zip(*both, strict=True))
        for both in zip(high, low, strict=True)
    ]


def percentages(parts: Sequence[int]) -> list[int]:
    """Return parts as whole percent that add up to 100, or zeros where all are 0.

    Each is rounded down, and what is missing goes to those that lost most.
    """
    whole = sum(parts)
    if not whole:
        return [0] * len(parts)
    percent = [100 * part // whole for part in parts]
    lost = sorted(range(len(parts)), key=lambda at: -(100 * parts[at] % whole))
    for at in lost[: 100 - sum(percent)]:
        percent[at] += 1
    return percent
