"""Plots: deterministic files that hold what was asked for."""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from lightloom.core.errors import InputError
from lightloom.report.panel import Mark, Panel, Series
from lightloom.report.plots import COLOURS, draw, save_plot
from lightloom.report.tables import save_csv
from tests.hang_guard import HUNG_S

if TYPE_CHECKING:
    from pathlib import Path

LINES = Panel(
    "times",
    "buffer (bytes)",
    "time (us)",
    [Series("ring", [1, 2, 4], [3.0, 2.0, 8.0]), Series("tree", [1, 2, 4], [1, 2, 3])],
    x_log=2,
    y_log=10,
    x_ticks=[(1, "one"), (4, "four")],
    marks=(Mark("limit", y=5.0), Mark("here", x=2.0)),
)
BARS = Panel(
    "counts",
    "",
    "rounds",
    [Series("a", ["x", "y"], [1, 2]), Series("b", ["x", "y"], [3, 4])],
    kind="bars",
)
STACK = Panel("parts", "", "time (us)", BARS.series, kind="stack")


def test_a_figure_has_the_panels_labels_and_one_legend() -> None:
    """Titles, axis labels, scales and every series are drawn."""
    figure = draw([LINES, BARS])
    first, second = figure.axes
    assert first.get_xlabel() == "buffer (bytes)"
    assert first.get_xscale() == "log"
    assert first.get_yscale() == "log"
    assert second.get_title() == "counts"
    assert [text.get_text() for text in second.get_xticklabels()] == ["x", "y"]
    (legend,) = figure.legends
    labels = {text.get_text() for text in legend.get_texts()}
    assert labels == {"ring", "tree", "limit", "a", "b"}


def test_panels_to_compare_share_their_axes() -> None:
    """Of one kind, label and scale; others keep their own."""
    larger = Panel(
        "others",
        "",
        "rounds",
        [Series("a", ["x", "y", "z"], [10, 20, 30])],
        kind="bars",
    )
    first, second, third = draw([BARS, larger, STACK]).axes
    assert first.get_ylim() == second.get_ylim() != third.get_ylim()
    assert first.get_ylim()[1] >= 30
    assert first.get_xlim() != second.get_xlim()


def test_a_mark_may_be_about_some_bars_only() -> None:
    """Its line begins and ends with the groups it is about."""
    bound = Mark("bound", y=1.0, groups=(1, 1))
    (axes,) = draw([replace(STACK, marks=(bound,))]).axes
    (line,) = axes.get_lines()
    assert [*line.get_xdata()] == [0.5, 1.5]


def test_stacked_bars_carry_their_totals() -> None:
    """The text above a bar is the sum of its parts."""
    (axes,) = draw([STACK]).axes
    assert {"4.0", "6.0"} <= {text.get_text() for text in axes.texts}


def test_series_have_different_colours() -> None:
    """No two of the palette are the same."""
    assert len(set(COLOURS)) == len(COLOURS)
    (axes,) = draw([LINES]).axes
    ring, tree = axes.get_lines()[:2]
    assert ring.get_color() != tree.get_color()


def test_the_same_panels_give_the_same_bytes(tmp_path: Path) -> None:
    """SVG and PNG carry no date and no random ids."""
    first = save_plot([LINES, BARS, STACK], tmp_path / "first")
    second = save_plot([LINES, BARS, STACK], tmp_path / "second")
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert first[0].read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in first[1].read_bytes()


def test_a_folder_that_is_not_there_is_an_error_in_words(tmp_path: Path) -> None:
    """No file is left, and the folder is named."""
    with pytest.raises(InputError, match="missing"):
        save_plot([BARS], tmp_path / "missing" / "plot")


def test_importing_report_loads_no_matplotlib() -> None:
    """Drawing is paid for by those who draw."""
    code = (
        "import sys, lightloom.report.plots, lightloom.report.tables\n"
        "assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=HUNG_S)


def test_csv_files_have_a_heading_and_lf_lines(tmp_path: Path) -> None:
    """None is an empty field; lines end in LF on every system."""
    path = tmp_path / "rows.csv"
    save_csv(("a", "b"), [(1, None), ("x,y", 2.5)], path)
    assert path.read_bytes() == b'a,b\n1,\n"x,y",2.5\n'


@pytest.mark.parametrize(
    ("x", "base"),
    [
        ([1, 4, 9], 10),
        ([2.1, 3, 4.4], 10),
        ([1, 1.001, 1.002], 10),
        ([0.011, 0.4, 8], 10),
        ([1e-5, 40, 8e12], 10),
        ([4, 8, 900], 2),
    ],
)
def test_numbers_at_a_logarithmic_axis_stand_apart(x: list[float], base: int) -> None:
    """Few decades or many: no number is written over its neighbour."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    curve = Series("highs", x, [0.2, 0.5, 1.0], markers=False)
    panel = Panel("proven", "seconds", "share", [curve], x_log=base)
    figure = draw([panel, replace(panel, title="again"), panel])
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    for axes in figure.axes:
        labels = [*axes.get_xticklabels(), *axes.get_xticklabels(minor=True)]
        low, high = axes.get_xlim()
        boxes = sorted(
            label.get_window_extent(canvas.get_renderer()).extents[[0, 2]].tolist()
            for label in labels
            if label.get_text() and low <= label.get_position()[0] <= high
        )
        assert len(boxes) > 1
        for before, after in itertools.pairwise(boxes):
            assert before[1] < after[0]
