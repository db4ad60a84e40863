"""Plots: panels drawn with matplotlib, and saved.

The same data give the same SVG bytes: its ids are salted by a constant and it
carries no date.
"""

from __future__ import annotations

import io
import itertools
import textwrap
from dataclasses import replace
from math import ceil, floor, isclose, log10
from typing import TYPE_CHECKING, Any

from lightloom.core.errors import InputError
from lightloom.formats.atomic import atomic_write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

    from lightloom.report.panel import Panel, Series


FILE_KINDS = (".pdf", ".png", ".svg")
"""What a picture can be saved as."""
_UNDATED: dict[str, dict[str, None]] = {
    ".pdf": {"CreationDate": None},
    ".png": {"Software": None},
    ".svg": {"Date": None},
}
PAPER_INCHES = {"column": 3.5, "page": 7.16}
"""Widths of a column and of a page of two columns, as IEEE and ACM have them."""
_PAPER_ROW_INCHES = 1.9
"""Height of a row of panels, at the width of a column of a paper."""
_PAPER_RC = {"font.size": 7.0, "axes.titlesize": 7.0, "legend.fontsize": 6.0}
_NUMBER_INCHES = 0.36
"""Of the number above a bar or a dot."""
_MOST_IN_A_ROW = 3
"""Panels that stand in one row rather than in two with a hole."""
_CHARACTERS_AN_INCH = 11
"""Of a title; wider ones go on in the next line."""
_RC: Any = {
    "svg.hashsalt": "lightloom",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
}


def save_plot(
    panels: Sequence[Panel], stem: Path, *, title: str = ""
) -> tuple[Path, Path]:
    """Draw panels side by side into ``stem.png`` and ``stem.svg``.

    Returns the two paths. Both files are written at once or not at all.

    Raises `InputError` if the folder cannot be written.
    """
    import matplotlib as mpl

    paths = stem.with_name(stem.name + ".png"), stem.with_name(stem.name + ".svg")
    with mpl.rc_context(_RC):
        figure = draw(panels, title=title)
        for path in paths:
            _save(figure, path)
    return paths


def check_picture(path: Path) -> None:
    """Raise where a file has no suffix of a picture that can be drawn.

    Raises `InputError` if the suffix is none of `FILE_KINDS`.
    """
    if path.suffix not in FILE_KINDS:
        allowed = ", ".join(FILE_KINDS)
        what = "unknown kind of picture"
        raise InputError(what, where=str(path), found=path.suffix, allowed=allowed)


def save_panels(
    panels: Sequence[Panel],
    path: Path,
    *,
    title: str = "",
    columns: int | None = None,
    even: bool = False,
    paper: str | None = None,
) -> Path:
    """Draw panels into one file, and return its path.

    They go from left to right, so many `columns` a row (all, where it is ``None``), of
    one width if they are `even`. `paper` is a width, ``column`` or ``page``, for which
    letters have 7 points; a column has one panel a row.

    Raises `InputError` if the suffix is none of `FILE_KINDS`, or the file cannot be
    written.
    """
    import matplotlib as mpl

    check_picture(path)
    columns = 1 if paper == "column" else columns
    with mpl.rc_context(_RC if paper is None else _RC | _PAPER_RC):
        figure = draw(panels, title=title, columns=columns, even=even)
        if paper is not None:
            rows = -(-len(panels) // (columns or len(panels)))
            network = any(panel.kind == "network" for panel in panels)
            each = PAPER_INCHES["column"] if network else _PAPER_ROW_INCHES
            figure.set_size_inches(PAPER_INCHES[paper], 0.4 + each * rows)
        _save(figure, path)
    return path


def _share_scales(panels: Sequence[Panel], axes: Sequence[Axes]) -> None:
    """Give panels that are to be compared the same axes, matrices the same colours."""
    ends: dict[tuple[object, ...], list[tuple[Axes, float, float]]] = {}
    matrices: dict[str, list[AxesImage]] = {}
    for panel, pair in zip(panels, axes, strict=True):
        if panel.kind == "matrix":
            matrices.setdefault(panel.y_label, []).append(pair.images[0])
        if panel.kind in ("matrix", "spans", "network"):
            continue
        key = (panel.kind, panel.y_label, panel.y_log)
        ends.setdefault(("y", *key), []).append((pair, *pair.get_ylim()))
        if panel.kind == "lines":
            key = (panel.kind, panel.x_label, panel.x_log)
            ends.setdefault(("x", *key), []).append((pair, *pair.get_xlim()))
    for images in matrices.values():
        most = max(float(image.get_clim()[1] or 0) for image in images)
        for image in images:
            image.set_clim(0, most)
    for (axis, *_), alike in ends.items():
        if len(alike) > 1:
            low = min(low for _, low, _ in alike)
            high = max(high for _, _, high in alike)
            for one in alike:
                (one[0].set_ylim if axis == "y" else one[0].set_xlim)(low, high)


def _save(figure: Figure, path: Path) -> None:
    """Write a figure at once or not at all, without a date."""
    drawn = io.BytesIO()
    figure.savefig(
        drawn, format=path.suffix[1:], dpi=150, metadata=_UNDATED[path.suffix]
    )
    with atomic_write(path) as file:
        file.write(drawn.getvalue())


def draw(
    panels: Sequence[Panel],
    *,
    title: str = "",
    columns: int | None = None,
    even: bool = False,
) -> Figure:
    """Return panels as a matplotlib figure, one legend below.

    Rows, columns and widths are as in `save_panels`.
    """
    from matplotlib.figure import Figure

    alone = columns is None or 1 < columns < len(panels) <= _MOST_IN_A_ROW
    columns = len(panels) if alone or columns is None else min(columns, len(panels))
    rows = -(-len(panels) // columns)
    inches = [_panel_inches(panel) for panel in panels]
    widths = [max(inches[column::columns]) for column in range(columns)]
    widths = [max(widths) if even else width for width in widths]
    size = (max(5.2, sum(widths)), 4.4 if rows == 1 else 0.6 + 3.2 * rows)
    figure = Figure(figsize=size, layout="constrained")
    figure.get_layout_engine().set(wspace=0.06)  # type: ignore[union-attr,call-arg]
    if title:
        lines = textwrap.wrap(title, int(_CHARACTERS_AN_INCH * figure.get_figwidth()))
        figure.suptitle("\n".join(lines), fontsize=11)
    grid = figure.subplots(rows, columns, squeeze=False, width_ratios=widths).ravel()
    axes = grid[: len(panels)]
    for unused in grid[len(panels) :]:
        unused.set_axis_off()
    labels: dict[str, Artist] = {}
    for place, (panel, pair) in enumerate(zip(panels, axes, strict=True)):
        wide = int(_CHARACTERS_AN_INCH * widths[place % columns])
        draw_panel(pair, replace(panel, title=textwrap.fill(panel.title, wide)))
        for handle, label in zip(*pair.get_legend_handles_labels(), strict=True):
            labels.setdefault(label, handle)
    _share_scales(panels, [*axes])
    for panel, pair in zip(panels, axes, strict=True):
        number_logarithmic_axes(pair, panel)
    entry_inches = 0.5 + 0.075 * max(map(len, labels), default=1)
    entries = int(figure.get_figwidth() / entry_inches)
    figure.legend(
        list(labels.values()),
        list(labels),
        loc="outside lower center",
        ncols=max(1, min(entries, len(labels))),
    )
    return figure


def _panel_inches(panel: Panel) -> float:
    """Return the width of a panel: room for the names below its bars."""
    if panel.kind in ("spans", "network"):
        return 5.2
    if panel.kind in ("lines", "matrix") or not panel.series:
        return 3.8
    beside = 1 if panel.kind == "stack" else len(panel.series)
    return 0.6 + max(1.05, _NUMBER_INCHES * beside) * len(panel.series[0].x)


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
"""Of the axis: labels stand on the side with more room."""


_TEN = 10
"""The base of logarithmic axes that have numbers of their own."""
_MOST_NUMBERS = 5
"""Powers of ten at an axis: with more digits, as 1e-05, they would touch."""
_FEW_DECADES = 10**2.5
"""Ratio of the ends of an axis up to which 2 and 5 are numbered between powers of
ten."""


_CHARACTER = 0.0213
"""Width of a character below the axis, with the room around it, over the axis."""


_ROOM_ABOVE = 1.07
"""Where the axis ends that begins at zero, over the largest value."""


_FEW_NODES = 128
"""Of a network; more are dots without a number."""
_FEW_IN_A_ROW = 40
"""Of a network; more are not numbered."""
_FEW_LINES = 128
"""More of a network are thin."""
_DENSE = 16
"""More points than this are drawn without markers."""


def draw_panel(axes: Axes, panel: Panel) -> None:
    """Draw a panel: its series, labels, scales, ticks and marks."""
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
    if isinstance(series.colour, str) and cycle is COLOURS:
        return series.colour
    number = series.colour if isinstance(series.colour, int) else place
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
            linewidth=0.4 if len(start) <= _DENSE else 0,  # edges would hide many
        )
    if rows:
        axes.set_ylim(rows[0] - 1, rows[-1] + 1)
    if len(rows) <= _DENSE:
        axes.set_yticks(rows, [f"{row:g}" for row in rows])
    axes.grid(visible=False, axis="y")


def _draw_network(axes: Axes, panel: Panel) -> None:
    import numpy as np
    from matplotlib.collections import LineCollection
    from matplotlib.ticker import MaxNLocator

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
    bar = axes.figure.colorbar(drawn, ax=axes, shrink=0.7, label=panel.y_label)
    if (weight == np.rint(weight)).all():
        bar.locator = MaxNLocator(integer=True)
        bar.update_ticks()


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


def number_logarithmic_axes(axes: Axes, panel: Panel) -> None:
    """Write 0.1, 1, 10 at decimal logarithmic axes, once their ends are known.

    Powers of ten, with 2 and 5 where decades are few; where even these are fewer than
    two, other round numbers.
    """
    if panel.x_log == _TEN and panel.x_ticks is None:
        _number(axes.xaxis)
    if panel.y_log == _TEN:
        _number(axes.yaxis)


def _number(axis: Axis) -> None:
    """Set the ticks of a logarithmic axis, and plain numbers at them."""
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullFormatter

    low, high = axis.get_view_interval()
    first, last = floor(log10(low)), ceil(log10(high))
    every = ceil((last - first) / _MOST_NUMBERS)
    digits = (1, 2, 5) if high < _FEW_DECADES * low else (1,)
    places = [
        float(f"{digit}e{power}")
        for power in range(first, last + 1, every)
        for digit in digits
    ]
    places = [place for place in places if low <= place <= high]
    if len(places) < 2:  # one number says nothing of the scale
        places = [float(place) for place in MaxNLocator(4).tick_values(low, high)]
    axis.set_major_locator(FixedLocator(places))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())


def _dress(axes: Axes, panel: Panel) -> None:
    """Give axes their labels, scales, ticks and marks."""
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    if panel.x_log:
        axes.set_xscale("log", base=panel.x_log)
    if panel.y_log:
        axes.set_yscale("log", base=panel.y_log)
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
