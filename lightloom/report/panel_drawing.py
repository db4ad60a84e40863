"""A panel on the axes of matplotlib: lines, bars, dots, stacks, matrices, spans."""

from __future__ import annotations

import itertools
from math import isclose
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from lightloom.report.panel import Panel, Series


COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
)
"""The palette of Okabe and Ito, which colour-blind readers can tell apart."""


_MARKERS = ("o", "s", "^", "D", "v", "P", "X")


_MARK_DASHES = (":", "-.", (0, (6, 3)))
"""Of horizontal marks, which the legend tells apart."""


_MIDDLE = 0.5


_FEW_DECADES = 10**2.5


_CHARACTER = 0.0213
"""Width of a character below the axis, with the room around it, over the axis."""


_ROOM_ABOVE = 1.07
"""Where the axis ends that begins at zero, over the largest value."""


_FEW_NODES = 128
_FEW_IN_A_ROW = 40
"""Of a network; more are not numbered."""
_FEW_LINES = 128
"""More of a network are thin."""
_DENSE = 16
"""More points than this are drawn without markers."""


def draw_panel(axes: Axes, panel: Panel) -> None:
    """Draw a panel: its series, labels, scales, ticks and marks.

    Parameters
    ----------
    axes
        Empty axes.
    panel
        What is drawn.
    """
    draw = {
        "lines": _draw_lines,
        "bars": _draw_bars,
        "dots": _draw_dots,
        "stack": _draw_stack,
        "matrix": _draw_matrix,
        "spans": _draw_spans,
        "network": _draw_network,
    }
    draw[panel.kind](axes, panel)
    if panel.kind == "network":
        return
    _dress(axes, panel)
    if panel.x_end is not None:
        axes.set_xlim(right=max(panel.x_end, axes.get_xlim()[1]))
    if panel.y_end is not None and panel.kind != "matrix":
        axes.set_ylim(top=max(panel.y_end, axes.get_ylim()[1]))


def _of(cycle: Sequence[str], series: Series, place: int) -> str:
    """Return the colour, or the marker, of the series at a place."""
    number = place if series.colour is None else series.colour
    return cycle[number % len(cycle)]


def _draw_lines(axes: Axes, panel: Panel) -> None:
    for place, series in enumerate(panel.series):
        marked = series.markers and (len(series.x) <= _DENSE or not series.style)
        axes.plot(
            series.x,
            series.y,
            linestyle=series.style,
            label=series.label,
            color=_of(COLOURS, series, place),
            marker=_of(_MARKERS, series, place) if marked else "",
            clip_on=series.markers,  # a staircase may run along an axis
            markersize=4,
            linewidth=1.4,
        )


def _draw_bars(axes: Axes, panel: Panel) -> None:
    width = 0.8 / max(len(panel.series), 1)
    groups = range(len(panel.series[0].x)) if panel.series else range(0)
    for place, series in enumerate(panel.series):
        left = -0.4 + width * (place + 0.5)
        bars = axes.bar(
            [group + left for group in groups],
            series.y,
            width * 0.92,
            label=series.label,
            color=_of(COLOURS, series, place),
        )
        axes.bar_label(bars, fmt="%g", fontsize=7, padding=1)
    if panel.series:
        axes.set_xticks(list(groups), [str(name) for name in panel.series[0].x])
    axes.grid(visible=False, axis="x")


def _draw_dots(axes: Axes, panel: Panel) -> None:
    groups = range(len(panel.series[0].x)) if panel.series else range(0)
    apart = 0.7 / max(len(panel.series), 1)
    for place, series in enumerate(panel.series):
        left = apart * (place - (len(panel.series) - 1) / 2)
        axes.plot(
            [group + left for group in groups],
            series.y,
            linestyle="",
            label=series.label,
            color=_of(COLOURS, series, place),
            marker=_of(_MARKERS, series, place),
            markersize=6,
        )
        for group, y in zip(groups, series.y, strict=True):
            axes.annotate(
                f"{y:g}",
                (group + left, y),
                (0, 5),
                textcoords="offset points",
                ha="center",
                fontsize=7,
            )
    for group in groups[1:]:
        axes.axvline(group - 0.5, color="#dddddd", linewidth=0.6)
    axes.margins(y=0.12)
    if panel.series:
        axes.set_xticks(list(groups), [str(name) for name in panel.series[0].x])
    axes.grid(visible=False, axis="x")


def _draw_stack(axes: Axes, panel: Panel) -> None:
    groups = range(len(panel.series[0].x)) if panel.series else range(0)
    totals = [0.0 for _ in groups]
    for place, series in enumerate(panel.series):
        bars = axes.bar(
            list(groups),
            series.y,
            0.7,
            totals,
            label=series.label,
            color=_of(COLOURS, series, place),
        )
        totals = [total + y for total, y in zip(totals, series.y, strict=True)]
    if panel.series:
        if not all(isclose(total, totals[0]) for total in totals):
            texts = [f"{total:,.1f}" for total in totals]
            axes.bar_label(bars, texts, fontsize=7, padding=2)
        axes.set_ylim(0, 1.05 * max(totals))
        axes.set_xticks(list(groups), [str(name) for name in panel.series[0].x])
    axes.grid(visible=False, axis="x")


def _draw_spans(axes: Axes, panel: Panel) -> None:
    import numpy as np

    rows = sorted({row for series in panel.series for row in series.y})
    for place, series in enumerate(panel.series):
        start = np.asarray(series.x, dtype=float)
        axes.barh(
            series.y,
            np.asarray(series.ends) - start,
            0.8,
            left=start,
            label=series.label,
            color=_of(COLOURS, series, place),
            edgecolor="white",
            linewidth=0.4,
        )
    if rows:
        axes.set_ylim(rows[0] - 1, rows[-1] + 1)
    if len(rows) <= _DENSE:
        axes.set_yticks(rows, [f"{row:g}" for row in rows])
    axes.grid(visible=False, axis="y")


def _draw_network(axes: Axes, panel: Panel) -> None:
    import numpy as np
    from matplotlib.collections import LineCollection

    points, *switches = panel.series
    weight = np.array([line[2] for line in panel.lines])
    most = float(weight.max(initial=0)) or 1.0
    idle = [line[:2] for line in panel.lines if not line[2]]
    axes.add_collection(LineCollection(idle, colors="#dddddd", linewidths=0.5))
    weight = weight[weight > 0]
    thin = min(1.0, _FEW_LINES / max(1, len(weight)))
    drawn = LineCollection(
        [line[:2] for line in panel.lines if line[2]],
        cmap="viridis_r",
        linewidths=np.maximum(0.3, (0.5 + 2.5 * weight / most) * thin),
    )
    drawn.set_array(weight)
    drawn.set_clim(0, most)
    axes.add_collection(drawn)
    x, y = np.asarray(points.x, dtype=float), np.asarray(points.y)
    few = len(points.x) <= (_FEW_IN_A_ROW if switches else _FEW_NODES)
    axes.scatter(x, y, s=90 if few else 12, color="white", edgecolors="black", zorder=3)
    for node in range(len(points.x)) if few else ():
        middle: Any = {"ha": "center", "va": "center", "zorder": 4}
        axes.text(x[node], y[node], str(node), fontsize=5.5, **middle)
    for series in switches:
        across = np.asarray(series.x, dtype=float)
        axes.scatter(across, series.y, s=4, color="black")
        box: Any = {"boxstyle": "round", "facecolor": "white"}
        for u, v, text in zip(across, series.y, series.texts, strict=True):
            if text:
                named: Any = {"fontsize": 5.5, "ha": "center", "va": "center"}
                axes.text(u, v, text, bbox=box, **named)
    axes.set_title(panel.title)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.text(
        0.5, -0.02, panel.x_label, transform=axes.transAxes, ha="center", va="top"
    )
    assert axes.figure is not None
    axes.figure.colorbar(drawn, ax=axes, shrink=0.7, label=panel.y_label)


def _draw_matrix(axes: Axes, panel: Panel) -> None:
    import numpy as np
    from matplotlib.ticker import MaxNLocator

    rows = np.array([series.y for series in panel.series], dtype=float)
    image = axes.imshow(np.ma.masked_equal(rows, 0), cmap="viridis_r", vmin=0)
    assert axes.figure is not None
    if panel.scale:
        axes.figure.colorbar(image, ax=axes, shrink=0.7)
    axes.grid(visible=False)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))


def _plain_numbers(axes: Axes) -> None:
    """Write 200 for 2 x 10^2, and label 2 and 5 too where decades are few."""

    def minor(value: float, _: object) -> str:
        low, high = axes.get_ylim()  # by then shared with other panels
        few = high < _FEW_DECADES * low
        return f"{value:g}" if few and f"{value:e}"[0] in "25" else ""

    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(minor)


def _dress(axes: Axes, panel: Panel) -> None:
    """Give axes their labels, scales, ticks and marks."""
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    if panel.x_log:
        axes.set_xscale("log", base=panel.x_log)
    if panel.y_log:
        axes.set_yscale("log", base=panel.y_log)
        _plain_numbers(axes)
    elif panel.kind == "matrix":
        axes.set_aspect("equal")
    elif panel.kind == "spans":
        axes.set_xlim(left=0)
    elif panel.series and min(min(series.y) for series in panel.series) >= 0:
        most = max(max(series.y) for series in panel.series)
        axes.set_ylim(0, max(axes.get_ylim()[1], _ROOM_ABOVE * most))
    if panel.x_ticks is not None:
        places = list(dict(panel.x_ticks))
        axes.set_xticks(places, _apart(axes, panel.x_ticks))
        axes.xaxis.minorticks_off()
    _draw_marks(axes, panel)


def _apart(axes: Axes, ticks: Sequence[tuple[float, str]]) -> list[str]:
    """Return the texts of ticks, none where it would run into that to its left."""
    shown = {place: "" for place, _ in ticks}
    end = float("-inf")
    for place, text in sorted(ticks):
        # Across the axes from 0 to 1.
        at = axes.transAxes.inverted().transform(axes.transData.transform((place, 1)))
        half = _CHARACTER / 2 * max(map(len, text.split("\n")))
        if at[0] - half > end:
            shown[place], end = text, at[0] + half
    return list(shown.values())


def _draw_marks(axes: Axes, panel: Panel) -> None:
    """Draw the labelled lines across a panel."""
    patterns = itertools.cycle(_MARK_DASHES)
    for mark, dashes in zip(panel.marks, patterns, strict=False):
        line: Any = {"color": "#666666", "linestyle": ":", "linewidth": 1.2}
        paper = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        text: Any = {"fontsize": 7, "color": "#444444", "bbox": paper}
        if mark.x is not None:
            axes.axvline(mark.x, **line)
            # Beside the line, on the side that has more room.
            right = axes.transAxes.inverted().transform(
                axes.transData.transform((mark.x, axes.get_ylim()[1]))
            )[0]
            axes.text(
                mark.x,
                0.98,
                f"{mark.label} " if right > _MIDDLE else f" {mark.label}",
                transform=axes.get_xaxis_transform(),
                ha="right" if right > _MIDDLE else "left",
                va="top",
                **text,
            )
        if mark.y is not None:
            drawn = line | {"linestyle": dashes, "label": mark.label}
            if mark.groups is None:
                axes.axhline(mark.y, **drawn)
            else:
                first, last = mark.groups
                axes.plot([first - _MIDDLE, last + _MIDDLE], [mark.y] * 2, **drawn)
