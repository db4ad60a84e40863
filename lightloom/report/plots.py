"""Plots: panels drawn with matplotlib, and saved.

The same data give the same SVG bytes: its ids are salted by a constant and it
carries no date.
"""

from __future__ import annotations

import io
import textwrap
from typing import TYPE_CHECKING, Any

from lightloom.core.errors import InputError
from lightloom.formats.atomic import atomic_write
from lightloom.report.panel_drawing import draw_panel

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

    from lightloom.report.panel import Panel


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
_PAPER_RC = {"font.size": 7.0, "axes.titlesize": 7.0, "legend.fontsize": 6.0}
_NUMBER_INCHES = 0.36
"""Of the number above a bar or a dot."""
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

    Parameters
    ----------
    panels
        From left to right.
    stem
        Path of both files without their endings.
    title
        Above all panels.

    Returns
    -------
    The two paths. Both files are written at once or not at all.

    Raises
    ------
    InputError
        If the folder cannot be written.
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

    Raises
    ------
    InputError
        If the suffix is none of `FILE_KINDS`.
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

    Parameters
    ----------
    panels
        From left to right, row by row.
    path
        Its suffix says the kind of file.
    title
        Above all panels.
    columns
        Panels of a row; ``None`` for all in one row.
    even
        Whether all columns have one width.
    paper
        ``column`` or ``page``: the width of a picture in a paper, with letters of 7
        points; a column has one panel a row. ``None`` for a screen.

    Raises
    ------
    InputError
        If the suffix is none of `FILE_KINDS`, or the file cannot be written.
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

    Parameters
    ----------
    panels
        From left to right, row by row.
    title
        Above all panels.
    columns
        Panels of a row; ``None`` for all in one row.
    even
        Whether all columns have one width.
    """
    from matplotlib.figure import Figure

    columns = len(panels) if columns is None else min(columns, len(panels))
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
    for panel, pair in zip(panels, axes, strict=True):
        draw_panel(pair, panel)
        for handle, label in zip(*pair.get_legend_handles_labels(), strict=True):
            labels.setdefault(label, handle)
    _share_scales(panels, [*axes])
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
