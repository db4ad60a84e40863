"""Panels of a schedule: its circuits, its time line, where the time goes, who sends."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import cos, pi, sin
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.certificate import COMPLETION_TIME, CertificateStatus
from lightloom.core.errors import InputError
from lightloom.core.task import Collective
from lightloom.core.units import (
    BITS_PER_BYTE,
    GIB,
    KIB,
    MIB,
    PS_PER_S,
    PS_PER_US,
    format_bytes,
)
from lightloom.replay import replay
from lightloom.replay.time_shares import PARTS, time_shares
from lightloom.report.moments import moment_rows, moments
from lightloom.report.panel import Panel, Series
from lightloom.report.schedule_page.fabric_drawing import fabric_layout, link_view
from lightloom.report.schedule_page.use_over_time import use_over_time
from lightloom.validate import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule, Segment
    from lightloom.replay import Timeline
    from lightloom.report.moments import ConfigurationSpan
    from lightloom.report.schedule_page.fabric_drawing import LinkView
    from lightloom.validate import Verdict

Point = tuple[float, float]
PART_COLOURS: dict[str, int | str] = dict(zip(PARTS, (1, 4, 0, "#dddddd"), strict=True))
"""Of what nodes do, as on the page: orange, yellow, blue, and grey for idle."""
_UNITS = {"GiB": GIB, "MiB": MIB, "KiB": KIB, "B": 1}
_MOST_MATRIX = 256
"""Nodes of a traffic matrix that people can read."""
_MOST_BARS = 16
"""More steps than this are a line."""
_MOST_NODES = 1024
"""Of a fabric whose circuits are drawn."""
_MOST_PICTURES = 12
"""Of one step: its switches, or its configurations."""
_MOST_NAMES = 10
"""Of switches in a row; more have numbers."""
_APART = 0.07
"""How far a directed edge is drawn from the line between its ends."""


def schedule_panels(schedule: Schedule) -> tuple[Panel, ...]:
    """Return what there is to see of a schedule; `InputError` if it has no times.

    The circuits of the configuration that has most, or the load of links in the step
    that moves most (up to 1024 nodes); the time line of every plane; where the time of
    a node goes, beside the proven bound; and the bytes between every two nodes, or, of
    more than 256 nodes, how much of their rate edges use.
    """
    timeline = replay(schedule)
    return tuple(_panels(schedule, timeline, _unit(timeline)).values())


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

    `names` are what they are called in the titles. `InputError` if one has no times.
    """
    timelines = [replay(schedule) for schedule in schedules]
    unit = min((_unit(timeline) for timeline in timelines), key=list(_UNITS).index)
    first, second = (
        _panels(schedule, timeline, unit)
        for schedule, timeline in zip(schedules, timelines, strict=True)
    )
    panels: list[Panel] = []
    for key in [key for key in first if key in second]:
        pair = first[key], second[key]
        ends = [float(end) for one in pair for each in one.series for end in each.ends]
        heights = [sum(column) for one in pair for column in _columns(one)]
        x_end = max(ends, default=None)
        y_end = max(heights) * 1.05 if heights and not ends else None
        panels += [
            replace(one, title=f"{name}: {one.title}", x_end=x_end, y_end=y_end)
            for one, name in zip(pair, names, strict=True)
        ]
    return tuple(panels)


def _columns(panel: Panel) -> Iterable[Sequence[float]]:
    """Return what stands at each place of a panel with heights: stacks are added up."""
    if panel.kind == "stack":
        return zip(*(series.y for series in panel.series), strict=True)
    upright = panel.kind in ("bars", "lines")
    return ([y] for series in panel.series for y in series.y if upright)


def _panels(schedule: Schedule, timeline: Timeline, unit: str) -> dict[str, Panel]:
    """Return the panels of a replay by what they show; sizes in a unit."""
    verdict = verify(schedule)
    nodes = len(timeline.nodes.busy_ps)
    panels = {}
    if 0 < nodes <= _MOST_NODES and timeline.steps:
        panels["circuits"] = _fullest(schedule, timeline)
    panels["time line"] = _time_line(schedule, timeline)
    if 0 < nodes <= _MOST_MATRIX and len(timeline.pairs):
        panels["matrix"] = _matrix(timeline, unit)
    else:
        panels["edges"] = _edge_loads(schedule, timeline, valid=verdict.valid)
    panels["shares"] = _shares(schedule, timeline, verdict)
    return panels


def _time_line(schedule: Schedule, timeline: Timeline) -> Panel:
    """Return a row for each plane: it sets circuits, pairs pay alpha and send data."""
    pairs = timeline.pairs
    key = np.stack([pairs.step, pairs.plane, pairs.segment])
    groups, group = np.unique(key, axis=1, return_inverse=True)
    start = np.full(groups.shape[1], np.iinfo(np.int64).max)
    end = np.zeros(groups.shape[1], dtype=np.int64)
    np.minimum.at(start, group.ravel(), pairs.start_ps)
    np.maximum.at(end, group.ravel(), pairs.end_ps)
    paid = np.minimum(start + _alpha_ps(schedule), end)
    plane = np.maximum(groups[1], 0)
    set_up = np.array(
        [
            (done.plane, done.start_ps, done.end_ps)
            for done in timeline.reconfigurations
        ],
        dtype=np.int64,
    ).reshape(-1, 3)
    return Panel(
        title=f"time line: {timeline.completion_time_ps / PS_PER_US:,.1f} us",
        x_label="time, us",
        y_label="plane",
        series=[
            _spans("reconfiguration", *set_up.T),
            _spans("alpha", plane, start, paid),
            _spans("data", plane, paid, end),
        ],
        kind="spans",
    )


def _alpha_ps(schedule: Schedule) -> int:
    alpha_ps = schedule.fabric.get("alpha_ps", 0)
    return alpha_ps if isinstance(alpha_ps, int) else 0


def _spans(part: str, row: IntArray, start_ps: IntArray, end_ps: IntArray) -> Series:
    return Series(
        part,
        x=(start_ps / PS_PER_US).tolist(),
        y=row.tolist(),
        ends=(end_ps / PS_PER_US).tolist(),
        colour=PART_COLOURS[part],
    )


def _shares(schedule: Schedule, timeline: Timeline, verdict: Verdict) -> Panel:
    """Return what a node does on average, as a bar, beside the proven bound."""
    total_ps = time_shares(schedule, timeline).total_ps()
    nodes = max(1, len(timeline.nodes.busy_ps))
    bounds = [
        float(report.bound) / PS_PER_US
        for report in verdict.certificates
        if report.objective == COMPLETION_TIME
        and report.bound is not None
        and report.status is not CertificateStatus.REFUSED
    ][:1]
    groups = ["this schedule", *["no schedule\nends before" for _ in bounds]]
    series = [
        Series(
            part,
            groups,
            [time_ps / nodes / PS_PER_US, *[0.0 for _ in bounds]],
            colour=PART_COLOURS[part],
        )
        for part, time_ps in total_ps.items()
    ]
    series += [
        Series("proven bound", groups, [0.0, bound], colour=2) for bound in bounds
    ]
    title = f"completion time: {timeline.completion_time_ps / PS_PER_US:,.1f} us"
    title += "".join(f"; proven bound: {bound:,.1f} us" for bound in bounds)
    return Panel(title, "", "us, mean of all nodes", series, kind="stack")


def _unit(timeline: Timeline) -> str:
    """Return the largest unit of which the busiest pair sends one at least."""
    most = int(timeline.pairs.bytes.max()) if len(timeline.pairs) else 0
    return next((unit for unit, size in _UNITS.items() if most >= size), "B")


def _edge_loads(schedule: Schedule, timeline: Timeline, *, valid: bool) -> Panel:
    """Return how much of its rate the busiest edge uses in each step, and the mean."""
    used = [
        one for one in use_over_time(schedule, timeline, valid=valid) if "steps" in one
    ]
    shares = [(str(one["label"]), [100 * y for y in one["steps"]]) for one in used]
    return _by_step("load of edges", "share of the rate, %", shares, first=2)


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


def step_panels(schedule: Schedule, step: int) -> tuple[Panel, ...]:
    """Return what a step looks like, configuration by configuration.

    A permutation matrix for each switch and configuration that the step uses; or, for
    each configuration, the fabric with its edges by the wavelengths that cross them,
    where circuits have routes, with its links by what they carry, where packets share
    them or light passes SiPAC's switches, and else with its pairs by the bytes that
    they send. The first twelve; the title of the last says so.

    Raises `InputError` if the schedule cannot be replayed, has no such step, or too
    many nodes to draw.
    """
    timeline = replay(schedule)
    if not 0 <= step < len(timeline.steps):
        allowed = f"0 to {len(timeline.steps) - 1}"
        raise InputError("no such step", where="step", found=step, allowed=allowed)
    layout = fabric_layout(schedule.fabric)
    nodes = int(layout["nodes"])
    if nodes > _MOST_NODES:
        what, fix = "too many nodes to draw", "`lightloom plot` without a step"
        allowed = f"up to {_MOST_NODES}"
        raise InputError(what, where="fabric", found=nodes, allowed=allowed, fix=fix)
    pictures = _pictures(schedule, timeline)[step]
    if layout["shape"] == "planes":
        segments = {part: None for _, used in pictures for part in used}
        drawn = [_switch(one, nodes, step) for one in list(segments)[:_MOST_PICTURES]]
        count = len(segments)
    else:
        count = len(pictures)
        drawn = [
            _network(
                schedule,
                timeline,
                moment,
                used,
                f"{at + 1} of {count}" if count > 1 else "",
            )
            for at, (moment, used) in enumerate(pictures[:_MOST_PICTURES])
        ]
    if count > len(drawn):
        last = f"{drawn[-1].title} ({len(drawn)} of {count} drawn)"
        drawn[-1] = replace(drawn[-1], title=last)
    return tuple(drawn)


def _pictures(
    schedule: Schedule, timeline: Timeline
) -> list[list[tuple[ConfigurationSpan, tuple[Segment, ...]]]]:
    """Return the moments of each step that differ in the segments that it uses."""
    pictures: list[list[tuple[ConfigurationSpan, tuple[Segment, ...]]]] = [
        [] for _ in timeline.steps
    ]
    uses = [set(step.segments) for step in timeline.steps]
    held: dict[int, Segment] = {}
    for moment in moments(schedule, timeline):
        begun = [schedule.segments[at] for at in moment.begins]
        held |= {one.plane: one for one in begun}
        used = tuple(
            one for one in held.values() if (one.plane, one.index) in uses[moment.step]
        )
        row = pictures[moment.step]
        if row and (not used or row[-1][1] == used):
            before, segments = row[-1]
            row[-1] = replace(before, end_ps=moment.end_ps), segments
        elif row and not row[-1][1]:
            row[-1] = replace(moment, start_ps=row[-1][0].start_ps), used
        else:
            row.append((moment, used))
    return pictures


def _fullest(schedule: Schedule, timeline: Timeline) -> Panel:
    """Return the configuration with most circuits, or the step that moves most."""
    rows = _pictures(schedule, timeline)
    steps = timeline.steps
    moment, used = max(
        (picture for row in rows for picture in row),
        key=lambda picture: (
            sum(len(one.circuits) for one in picture[1]),
            steps[picture[0].step].bytes,
            -picture[0].step,
        ),
    )
    row = rows[moment.step]
    at = [picture[0] for picture in row].index(moment)
    if fabric_layout(schedule.fabric)["shape"] == "planes":
        return _switches(used, len(timeline.nodes.busy_ps), moment.step)
    number = f"{at + 1} of {len(row)}" if len(row) > 1 else ""
    return _network(schedule, timeline, moment, used, number)


def _network(
    schedule: Schedule,
    timeline: Timeline,
    moment: ConfigurationSpan,
    used: Sequence[Segment],
    number: str,
) -> Panel:
    """Return the fabric with what a configuration, or a step of packets, loads."""
    layout = fabric_layout(schedule.fabric)
    times = f"{moment.start_ps / PS_PER_US:,.1f} to {moment.end_ps / PS_PER_US:,.1f} us"
    title = (
        f"step {moment.step}, {f'configuration {number}, ' if number else ''}{times}"
    )
    rows = moment_rows(timeline.pairs, moment)
    view = link_view(schedule.fabric)
    if view is not None:
        return _links(view, timeline, rows, layout, title)
    place = _places(layout)
    routed = [one.circuits for one in used if one.circuits.route is not None]
    if routed:
        lines, what = _edges(routed, place), "wavelengths on an edge"
        title = f"circuits: {title}"
    else:
        unit = _unit(timeline)
        lines = _pairs(timeline, rows, place, unit)
        what = f"{unit} that a pair sends"
    points = [place(node) for node in range(int(layout["nodes"]))]
    return Panel(
        title=title,
        x_label=str(layout["label"]),
        y_label=what,
        series=[Series("", [x for x, _ in points], [y for _, y in points])],
        kind="network",
        lines=lines,
    )


def _places(layout: dict[str, object]) -> Callable[[int], Point]:
    """Return where each node is drawn."""
    nodes, cols = int(str(layout["nodes"])), int(str(layout.get("cols") or 0))
    if layout["shape"] == "grid":
        return lambda node: (float(node % cols), -float(node // cols))
    radius = max(1.0, nodes / 6)

    def on_circle(node: int) -> Point:
        angle = pi / 2 - 2 * pi * node / max(1, nodes)
        return radius * cos(angle), radius * sin(angle)

    return on_circle


def _links(
    view: LinkView,
    timeline: Timeline,
    rows: IntArray,
    layout: dict[str, object],
    title: str,
) -> Panel:
    """Return the fabric with its links; switches stand in rows beside the nodes."""
    nodes, place = int(str(layout["nodes"])), _places(layout)
    points = [place(node) for node in range(nodes)]
    if view.spots:
        wide = max(6.0, nodes * 0.6)
        points = [(wide * x, -0.55 * wide * y) for x, y in view.spots]
    used, size = view.load(timeline.pairs, rows)
    weight, what = (
        size / max(1, size.max(initial=0)),
        "share of the most data on a link",
    )
    if view.bits_per_s is not None:
        weight = size * BITS_PER_BYTE / view.bits_per_s[used] * (PS_PER_S / PS_PER_US)
        what = "time that a link needs for its data, us"
    else:
        what += f", {format_bytes(int(size.max(initial=0)))}"
    load = np.zeros(len(view.graph.link))
    load[used] = weight
    ends = zip(view.graph.tail.tolist(), view.graph.head.tolist(), load, strict=True)
    lines = [
        (*part, float(one))
        for tail, head, one in ends
        for part in _parts(
            points[tail],
            points[head],
            grid=layout["shape"] == "grid" and not view.spots,
        )
    ]
    names = [text for tier in view.graph.tiers for text in _names(*tier)]
    x, y = [x for x, _ in points], [y for _, y in points]
    stands = [Series("", x[:nodes], y[:nodes])]
    if names:
        stands.append(Series("", x[nodes:], y[nodes:], texts=names))
    label = str(layout["label"])
    if names:
        switches = ", ".join(f"{count} {name}" for name, count in view.graph.tiers)
        label = f"{label.partition(':')[0]}: {nodes} nodes; switches: {switches}"
    return Panel(title, label, what, stands, kind="network", lines=lines)


def _edges(
    routed: list[Circuits], place: Callable[[int], Point]
) -> list[tuple[Point, Point, float]]:
    """Return each directed edge that light crosses, by its number of wavelengths."""
    load: Counter[tuple[int, int]] = Counter()
    for circuits in routed:
        route, colours = circuits.lists("route"), circuits.lists("wavelengths")
        ahead = np.diff(route.row_of_value) == 0
        ends = zip(route.values[:-1][ahead], route.values[1:][ahead], strict=True)
        count = colours.lengths[route.row_of_value[:-1][ahead]]
        for (tail, head), wide in zip(ends, count.tolist(), strict=True):
            load[int(tail), int(head)] += wide
    return [
        (*_beside(place(tail), place(head)), float(count))
        for (tail, head), count in sorted(load.items())
    ]


def _beside(tail: Point, head: Point) -> tuple[Point, Point]:
    """Return the ends of a line to the right of the one between two points."""
    dx, dy = head[0] - tail[0], head[1] - tail[1]
    length = max(1e-9, (dx * dx + dy * dy) ** 0.5)
    right = _APART * dy / length, -_APART * dx / length
    return (
        (tail[0] + right[0], tail[1] + right[1]),
        (head[0] + right[0], head[1] + right[1]),
    )


def _names(tier: str, count: int) -> list[str]:
    """Return what stands in the switches of a tier: numbers where they are many."""
    if count == 1:
        return [tier]
    if count <= _MOST_NAMES:
        between = ", " if tier[-1].isdigit() else " "
        return [f"{tier}{between}{number}" for number in range(count)]
    every = -(-count // (2 * _MOST_NAMES))
    return [str(number) if number % every == 0 else "" for number in range(count)]


def _parts(tail: Point, head: Point, *, grid: bool) -> list[tuple[Point, Point]]:
    """Return a line, or two stubs of one round a torus or to another layer."""
    dx, dy = head[0] - tail[0], head[1] - tail[1]
    if not grid or max(abs(dx), abs(dy)) <= 1:
        return [_beside(tail, head)]
    ahead = 0.4 * np.sign(-dx), 0.4 * np.sign(-dy)
    leaves = _beside(tail, (tail[0] + ahead[0], tail[1] + ahead[1]))
    comes = _beside((head[0] - ahead[0], head[1] - ahead[1]), head)
    return [leaves, comes]


def _pairs(
    timeline: Timeline, rows: IntArray, place: Callable[[int], Point], unit: str
) -> list[tuple[Point, Point, float]]:
    """Return each pair that sends, by its bytes in a unit."""
    pairs = timeline.pairs
    ends = zip(pairs.src[rows], pairs.dst[rows], pairs.bytes[rows], strict=True)
    return [
        (*_beside(place(int(src)), place(int(dst))), float(size) / _UNITS[unit])
        for src, dst, size in ends
    ]


def _switch(segment: Segment, nodes: int, step: int) -> Panel:
    """Return the circuits of a switch as a permutation matrix."""
    panel = _switches([segment], nodes, step)
    title = f"switch {segment.plane}, configuration {segment.index + 1}, step {step}"
    return replace(panel, title=title)


def _switches(segments: Sequence[Segment], nodes: int, step: int) -> Panel:
    """Return the circuits of several switches in one matrix."""
    held = np.zeros((nodes, nodes))
    for segment in segments:
        held[segment.circuits.src, segment.circuits.dst] = 1
    return Panel(
        title=f"circuits of {len(segments)} switches, step {step}",
        x_label="to node",
        y_label="from node",
        series=[Series("", list(range(nodes)), row) for row in held.tolist()],
        kind="matrix",
        scale=False,
    )
