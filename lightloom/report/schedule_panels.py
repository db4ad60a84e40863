"""Panels of a schedule: its time line, its steps, and who sends to whom."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.units import GIB, KIB, MIB, PS_PER_US
from lightloom.replay import replay
from lightloom.report.panel import Panel, Series

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule
    from lightloom.replay import Timeline

_UNITS = {"GiB": GIB, "MiB": MIB, "KiB": KIB, "B": 1}
_MOST_NODES = 256
"""Of a traffic matrix that people can read."""
_MOST_BARS = 16
"""More steps than this are a line."""


def schedule_panels(schedule: Schedule) -> tuple[Panel, ...]:
    """Return what there is to see of a schedule.

    Parameters
    ----------
    schedule
        Any that can be replayed.

    Returns
    -------
    The time line (rows are planes; steps and reconfigurations), the pairs that send in
    each step and the most that one of them sends, and, up to 256 nodes, the bytes
    between every two nodes.

    Raises
    ------
    InputError
        If the schedule cannot be replayed.
    """
    timeline = replay(schedule)
    return _panels(timeline, _unit(timeline))


def paired_panels(
    schedules: tuple[Schedule, Schedule], names: tuple[str, str]
) -> tuple[Panel, ...]:
    """Return the panels of two schedules, two and two, on the same scales.

    Parameters
    ----------
    schedules
        Any that can be replayed.
    names
        What they are called in the titles.

    Raises
    ------
    InputError
        If one cannot be replayed.
    """
    timelines = [replay(schedule) for schedule in schedules]
    unit = min((_unit(timeline) for timeline in timelines), key=list(_UNITS).index)
    both = [_panels(timeline, unit) for timeline in timelines]
    panels: list[Panel] = []
    for pair in zip(*both, strict=False):
        ends = [[*each.x, *each.ends] for one in pair for each in one.series]
        heights = [max(each.y, default=0.0) for one in pair for each in one.series]
        x_end = max(
            (e for each in ends for e in each if isinstance(e, float)), default=0
        )
        spans = pair[0].kind == "spans"
        for one, name in zip(pair, names, strict=True):
            panels.append(
                replace(
                    one,
                    title=f"{name}: {one.title}",
                    x_end=x_end if spans else None,
                    y_end=None if spans else max(heights, default=0.0) * 1.05,
                )
            )
    return tuple(panels)


def _panels(timeline: Timeline, unit: str) -> tuple[Panel, ...]:
    """Return the panels of a replay; sizes in a unit."""
    panels = [
        _time_line(timeline),
        _by_step(timeline, "pairs that send", "pairs", busiest=False),
        _by_step(timeline, "most data of one pair", unit, busiest=True),
    ]
    if 0 < len(timeline.nodes.busy_ps) <= _MOST_NODES and len(timeline.pairs):
        panels.append(_matrix(timeline, unit))
    return tuple(panels)


def _time_line(timeline: Timeline) -> Panel:
    """Return steps and reconfigurations as spans, a row for each plane."""
    steps: list[tuple[float, float, float]] = []
    for step in timeline.steps:
        start, end = step.release_ps / PS_PER_US, step.end_ps / PS_PER_US
        planes = sorted({plane for plane, _ in step.segments}) or [0]
        steps += [(plane, start, end) for plane in planes]
    set_up: list[tuple[float, float, float]] = [
        (made.plane, made.start_ps / PS_PER_US, made.end_ps / PS_PER_US)
        for made in timeline.reconfigurations
    ]
    return Panel(
        title=f"time line: {timeline.completion_time_ps / PS_PER_US:,.1f} us",
        x_label="time, us",
        y_label="plane",
        series=[_spans("step", steps), _spans("reconfiguration", set_up)],
        kind="spans",
    )


def _spans(label: str, spans: list[tuple[float, float, float]]) -> Series:
    return Series(
        label,
        x=[start for _, start, _ in spans],
        y=[row for row, _, _ in spans],
        ends=[end for _, _, end in spans],
    )


def _unit(timeline: Timeline) -> str:
    """Return the largest unit of which the busiest pair sends one at least."""
    most = int(timeline.pairs.bytes.max()) if len(timeline.pairs) else 0
    return next((unit for unit, size in _UNITS.items() if most >= size), "B")


def _by_step(timeline: Timeline, title: str, unit: str, *, busiest: bool) -> Panel:
    """Return, for each step, how many pairs send, or what the busiest of them sends."""
    pairs, count = timeline.pairs, len(timeline.steps)
    if busiest:
        value = np.zeros(count, dtype=np.int64)
        np.maximum.at(value, pairs.step, pairs.bytes)
        heights = (value / _UNITS[unit]).tolist()
    else:
        heights = np.bincount(pairs.step, minlength=count).astype(float).tolist()
    few = count <= _MOST_BARS
    steps = [str(step) for step in range(count)] if few else list(range(count))
    return Panel(
        title=title,
        x_label="step",
        y_label=unit,
        series=[Series(title, steps, heights, colour=3 if busiest else 2)],
        kind="bars" if few else "lines",
    )


def _matrix(timeline: Timeline, unit: str) -> Panel:
    """Return the bytes between every two nodes over the whole schedule."""
    pairs, nodes = timeline.pairs, len(timeline.nodes.busy_ps)
    sent = np.zeros((nodes, nodes))
    np.add.at(sent, (pairs.src, pairs.dst), pairs.bytes / _UNITS[unit])
    return Panel(
        title=f"data between nodes, {unit}",
        x_label="to node",
        y_label="from node",
        series=[Series("", list(range(nodes)), row) for row in sent.tolist()],
        kind="matrix",
    )
