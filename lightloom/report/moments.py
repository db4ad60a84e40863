"""Moments of a schedule: between two of them no plane changes its circuits."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule
    from lightloom.replay import Timeline
    from lightloom.replay.timeline import PairTimes


@dataclass(frozen=True)
class ConfigurationSpan:
    """A part of a step in which every plane holds, or sets, one segment.

    `start_ps` to `end_ps`, and `begins`: places in ``schedule.segments`` of those that
    planes begin to set then, or hold from the start. The others stay as they are.
    """

    step: int
    start_ps: float
    end_ps: float
    begins: tuple[int, ...]


def moments(schedule: Schedule, timeline: Timeline | None) -> list[ConfigurationSpan]:
    """Return the moments of a schedule in order; each step has one at least.

    A new one begins with each step, and whenever a plane begins to set a segment: each
    segment is in one or more. Without a replay there are no times: steps last 1, and a
    step in which a plane uses several segments has as many moments, of equal length.
    """
    if timeline is None:
        return _in_order(schedule)
    place = {(part.plane, part.index): at for at, part in enumerate(schedule.segments)}
    release = [step.release_ps for step in timeline.steps]
    begins: dict[tuple[int, int], list[int]] = {
        (start, step): [] for step, start in enumerate(release)
    }
    set_up = {
        (change.plane, change.segment): change for change in timeline.reconfigurations
    }
    for key, at in place.items():
        start_ps = set_up[key].start_ps if key in set_up else 0
        step = max(0, bisect_right(release, start_ps) - 1)
        begins.setdefault((start_ps, step), []).append(at)
    cuts = sorted(begins)
    last = max([timeline.completion_time_ps, *(one.end_ps for one in set_up.values())])
    ends = [*(start for start, _ in cuts[1:]), last]
    return [
        ConfigurationSpan(step, start, end, tuple(begins[start, step]))
        for (start, step), end in zip(cuts, ends, strict=True)
    ]


def _in_order(schedule: Schedule) -> list[ConfigurationSpan]:
    """Return the moments of a schedule that cannot be replayed, planes in order."""
    of_plane: dict[int, dict[int, int]] = {}
    for at, one in enumerate(schedule.segments):
        of_plane.setdefault(one.plane, {})[one.index] = at
    held = dict.fromkeys(of_plane, -1)
    found: list[ConfigurationSpan] = []
    for step, parts in groupby(schedule.parts, key=lambda part: part.index):
        uses: dict[int, list[int]] = {}
        for part in parts:
            if part.plane not in of_plane or part.segment is None:
                continue
            before, now = held[part.plane], part.segment
            begun = uses.setdefault(part.plane, [])
            begun += [
                at
                for index, at in sorted(of_plane[part.plane].items())
                if before < index <= now or index == now < before
            ]
            held[part.plane] = now
        count = max([1, *map(len, uses.values())])
        found += [
            ConfigurationSpan(
                step,
                step + at / count,
                step + (at + 1) / count,
                tuple(row[at] for row in uses.values() if at < len(row)),
            )
            for at in range(count)
        ]
    return found


def moment_rows(pairs: PairTimes, moment: ConfigurationSpan) -> IntArray:
    """Return the rows of the pairs that send in a moment."""
    first, last = np.searchsorted(pairs.step, (moment.step, moment.step + 1))
    rows = np.arange(first, last)
    now = (pairs.start_ps[rows] < moment.end_ps) & (
        pairs.end_ps[rows] > moment.start_ps
    )
    return rows[now]
