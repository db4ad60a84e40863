"""Panels of a schedule: its time line, its steps, and who sends to whom."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.task import Collective
from lightloom.core.units import GIB, KIB, MIB, PS_PER_US, format_bytes
from lightloom.replay import replay
from lightloom.report.panel import Panel, Series
from lightloom.report.schedule_page.use_over_time import use_over_time
from lightloom.validate import verify

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
    The time line (rows are planes; steps and reconfigurations), the load of edges in
    each step and the most that one pair sends, and, up to 256 nodes, the bytes between
    every two nodes.

    Raises
    ------
    InputError
        If the schedule cannot be replayed.
    """
    timeline = replay(schedule)
    return _panels(schedule, timeline, _unit(timeline))


def summary_title(schedule: Schedule) -> str:
    """Return what a schedule is, in a line: task, fabric, algorithm."""
    task = schedule.task
    if isinstance(task, Collective):
        asked = f"{task.op} of {format_bytes(task.buffer_bytes)} over {task.rank_count}"
    else:
        asked = f"demand of {len(task.src)} pairs, {format_bytes(sum(task.bytes))},"
    return f"{asked} on {schedule.fabric.get('kind')}, {schedule.algorithm.name}"


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
    both = [
        _panels(schedule, timeline, unit)
        for schedule, timeline in zip(schedules, timelines, strict=True)
    ]
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


def _panels(schedule: Schedule, timeline: Timeline, unit: str) -> tuple[Panel, ...]:
    """Return the panels of a replay; sizes in a unit."""
    panels = [
        _time_line(timeline),
        _edge_loads(schedule, timeline),
        _most_data(timeline, unit),
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


def _edge_loads(schedule: Schedule, timeline: Timeline) -> Panel:
    """Return how much of its rate the busiest edge uses in each step, and the mean."""
    valid = verify(schedule).valid
    used = [
        one for one in use_over_time(schedule, timeline, valid=valid) if "steps" in one
    ]
    shares = [(str(one["label"]), [100 * y for y in one["steps"]]) for one in used]
    return _by_step("load of edges", "share of the rate, %", shares, first=4)


def _most_data(timeline: Timeline, unit: str) -> Panel:
    """Return what the pair that sends most sends in each step."""
    value = np.zeros(len(timeline.steps), dtype=np.int64)
    np.maximum.at(value, timeline.pairs.step, timeline.pairs.bytes)
    title = "most data of one pair"
    heights = (value / _UNITS[unit]).tolist()
    return _by_step(title, unit, [(title, heights)], first=3)


def _by_step(
    title: str, unit: str, columns: list[tuple[str, list[float]]], *, first: int
) -> Panel:
    """Return a value or two of each step; `first` is the colour of the first."""
    count = max((len(heights) for _, heights in columns), default=0)
    few = count * max(1, len(columns)) <= _MOST_BARS
    steps = [str(step) for step in range(count)] if few else list(range(count))
    return Panel(
        title=title,
        x_label="step",
        y_label=unit,
        series=[
            Series(label, steps, [float(f"{y:.3g}") for y in heights], colour=first + n)
            for n, (label, heights) in enumerate(columns)
        ],
        kind="bars" if few and columns else "lines",
        x_ticks=None if few else [(n, str(n)) for n in range(0, count, -(-count // 8))],
    )


def _matrix(timeline: Timeline, unit: str) -> Panel:
    """Return the bytes between every two nodes over the whole schedule."""
    pairs, nodes = timeline.pairs, len(timeline.nodes.busy_ps)
    sent = np.zeros((nodes, nodes))
    np.add.at(sent, (pairs.src, pairs.dst), pairs.bytes / _UNITS[unit])
    return Panel(
        title=f"{unit} between nodes",
        x_label="to node",
        y_label="from node",
        series=[Series("", list(range(nodes)), row) for row in sent.tolist()],
        kind="matrix",
    )
