"""Panels of schedules: circuits, time line, where the time goes, and the README's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib.image
import numpy as np
import pytest

import lightloom as ll
from lightloom.replay import replay
from lightloom.report.schedule_panels import (
    paired_panels,
    schedule_panels,
    step_panels,
)
from tests.programs.lowered import schedule_of
from tests.report.turns import in_turns

if TYPE_CHECKING:
    from lightloom.report.panel import Panel

_README = Path(__file__).parents[2] / "README.md"
_PAIR = (
    ("lightpath-8/all-reduce-64MiB", "ring"),
    ("lightpath-8/all-reduce-64MiB", "lumorph-2"),
)


def spans(panel: Panel, part: str) -> list[tuple[float, float, float]]:
    """Return row, start and end of the spans of a part."""
    (series,) = (series for series in panel.series if series.label == part)
    return sorted(
        zip(series.y, map(float, series.x), map(float, series.ends), strict=True)
    )


def test_no_data_are_painted_over_a_reconfiguration() -> None:
    """A plane that is set again within a step sends before and after, not meanwhile."""
    schedule = in_turns(50_000_000)
    (line,) = (panel for panel in schedule_panels(schedule) if panel.kind == "spans")
    changes = spans(line, "reconfiguration")
    assert len(changes) == len(schedule.segments) > 2
    for part in ("alpha", "data"):
        for plane, start, end in spans(line, part):
            for other, begin, finish in changes:
                assert plane != other or end <= begin or finish <= start


def test_the_completion_time_stands_beside_the_bound() -> None:
    """The parts add up to the time; the bound is the one that was proven."""
    schedule = schedule_of(*_PAIR[0])
    (stack,) = (panel for panel in schedule_panels(schedule) if panel.kind == "stack")
    (certificate,) = ll.verify(schedule).certificates
    *parts, bound = stack.series
    total = sum(float(series.y[0]) for series in parts)
    assert total == pytest.approx(replay(schedule).completion_time_ps / 10**6)
    assert bound.y[1] == pytest.approx(float(certificate.bound or 0) / 10**6)


@pytest.mark.parametrize("fabric", ["ring-5", "lightpath-16", "ramp-8"])
def test_a_step_is_drawn_configuration_by_configuration(fabric: str) -> None:
    """Each has a picture of its own, up to twelve; the last one counts the others."""
    schedule = in_turns(50_000_000 if fabric == "ring-5" else 4_000_000, fabric)
    panels = step_panels(schedule, 0)
    count = len(schedule.segments)
    assert len(panels) == min(12, count)
    for at, panel in enumerate(panels, 1):
        assert f"configuration {at} of {count}" in panel.title
    assert (f"12 of {count} drawn" in panels[-1].title) == (count > 12)
    if count <= 12 and fabric == "lightpath-16":
        drawn = [sum(weight for *_, weight in panel.lines) for panel in panels]
        for segment, total in zip(schedule.segments, drawn, strict=True):
            route = segment.circuits.lists("route").lengths - 1
            wide = segment.circuits.lists("wavelengths").lengths
            assert total == int((route * wide).sum())


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("lightpath-16/all-reduce-1MiB", ["network", "spans", "matrix", "stack"]),
        ("ocs-16/all-reduce-1MiB", ["matrix", "spans", "matrix", "stack"]),
        ("superpod-16/all-reduce-1MiB", ["network", "spans", "matrix", "stack"]),
    ],
)
def test_four_panels_without_a_hole(name: str, kinds: list[str]) -> None:
    """Circuits, time line, traffic, and the time beside its bound."""
    assert [panel.kind for panel in schedule_panels(schedule_of(name))] == kinds


def test_two_schedules_are_drawn_on_the_same_scales() -> None:
    """Two and two, named, time lines and bars with common ends."""
    both = (schedule_of(*_PAIR[0]), schedule_of(*_PAIR[1]))
    panels = paired_panels(both, ("a.jsonl", "b.jsonl"))
    assert len(panels) == 8
    for left, right in zip(panels[::2], panels[1::2], strict=True):
        assert left.title.startswith("a.jsonl: ")
        assert right.title.startswith("b.jsonl: ")
        assert (left.x_end, left.y_end) == (right.x_end, right.y_end)
    ends = [max(replay(one).steps[-1].end_ps for one in both) / 10**6]
    (line, _) = (panel for panel in panels if panel.kind == "spans")
    assert line.x_end == pytest.approx(ends[0])


def test_the_readme_shows_what_its_line_makes(tmp_path: Path) -> None:
    """The line under the picture makes the picture, but for the edges of letters."""
    text = _README.read_text(encoding="utf-8")
    shown = re.search(r"!\[[^\]]*\]\((docs/[^)]*\.png)\)", text)
    line = re.search(r"`(ll\.plot\(ll\.synthesise[^`]*)`", text)
    assert shown is not None
    assert line is not None
    assert f'"{shown[1]}"' in line[1]
    path = tmp_path / "made.png"
    code = line[1].replace("\n", " ").replace(f'"{shown[1]}"', "path")
    eval(code, {"ll": ll, "path": path})  # noqa: S307  (our own README)
    made = matplotlib.image.imread(path)
    kept = matplotlib.image.imread(_README.parent / shown[1])
    assert made.shape == kept.shape
    differs = (np.abs(made - kept) > 0.1).any(axis=-1)
    assert differs.mean() < 0.01
