"""A step as a picture: the fabric, and what its circuits or transfers load."""

from __future__ import annotations

from collections import Counter
from math import cos, pi, sin
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S, PS_PER_US, format_bytes
from lightloom.replay import replay
from lightloom.report.panel import Panel, Series
from lightloom.report.schedule_page.fabric_layout import fabric_layout
from lightloom.report.schedule_page.link_loads import link_view

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.circuit import Circuits
    from lightloom.core.schedule import Schedule, Segment
    from lightloom.replay import Timeline
    from lightloom.report.schedule_page.link_loads import LinkView

Point = tuple[float, float]
_MOST_NODES = 1024
_MOST_PLANES = 12
_MOST_NAMES = 10
"""Of switches in a row; more have numbers."""
_APART = 0.07
"""How far a directed edge is drawn from the line between its ends."""


def step_panels(schedule: Schedule, step: int) -> tuple[Panel, ...]:
    """Return what a step looks like.

    Parameters
    ----------
    schedule
        Any that can be replayed.
    step
        Which step, from 0.

    Returns
    -------
    A permutation matrix for each switch, of the first twelve that the step uses; or the
    fabric with its edges by the wavelengths that cross them, where circuits have
    routes, with its links by what they carry, where packets share them or light passes
    SiPAC's switches, and else with its pairs by the bytes that they send.

    Raises
    ------
    InputError
        If the schedule cannot be replayed, has no such step, or too many nodes to draw.
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
    done = timeline.steps[step]
    times = f"{done.release_ps / PS_PER_US:,.1f} to {done.end_ps / PS_PER_US:,.1f} us"
    used = [one for one in schedule.segments if (one.plane, one.index) in done.segments]
    if layout["shape"] == "planes":
        return tuple(_switch(one, nodes, step) for one in used[:_MOST_PLANES])
    view = link_view(schedule.fabric)
    if view is not None:
        return (_links(view, timeline, step, layout, f"step {step}: {times}"),)
    place = _places(layout)
    routed = [one.circuits for one in used if one.circuits.route is not None]
    if routed:
        lines, what = _edges(routed, place), "wavelengths on an edge"
    else:
        lines, most = _pairs(timeline, step, place)
        what = f"share of the most that a pair sends, {format_bytes(most)}"
    points = [place(node) for node in range(nodes)]
    return (
        Panel(
            title=f"step {step}: {times}",
            x_label=str(layout["label"]),
            y_label=what,
            series=[Series("", [x for x, _ in points], [y for _, y in points])],
            kind="network",
            lines=lines,
        ),
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
    view: LinkView, timeline: Timeline, step: int, layout: dict[str, object], title: str
) -> Panel:
    """Return the fabric with its links; switches stand in rows beside the nodes."""
    nodes, place = int(str(layout["nodes"])), _places(layout)
    points = [place(node) for node in range(nodes)]
    if view.spots:
        wide = max(6.0, nodes * 0.6)
        points = [(wide * x, -0.55 * wide * y) for x, y in view.spots]
    used, size = view.load(timeline, step)
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
    timeline: Timeline, step: int, place: Callable[[int], Point]
) -> tuple[list[tuple[Point, Point, float]], int]:
    """Return each pair that sends, by its share of the most, and the most in bytes."""
    pairs = timeline.pairs
    rows = np.flatnonzero(pairs.step == step)
    most = int(pairs.bytes[rows].max(initial=0))
    ends = zip(pairs.src[rows], pairs.dst[rows], pairs.bytes[rows], strict=True)
    lines = [
        (*_beside(place(int(src)), place(int(dst))), float(size) / max(1, most))
        for src, dst, size in ends
    ]
    return lines, most


def _switch(segment: Segment, nodes: int, step: int) -> Panel:
    """Return the circuits of a switch as a permutation matrix."""
    held = np.zeros((nodes, nodes))
    held[segment.circuits.src, segment.circuits.dst] = 1
    return Panel(
        title=f"switch {segment.plane}, step {step}",
        x_label="to node",
        y_label="from node",
        series=[Series("", list(range(nodes)), row) for row in held.tolist()],
        kind="matrix",
        scale=False,
    )
