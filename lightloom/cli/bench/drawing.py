"""Plots of benchmarks, and their rows as a table that other programs read."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from lightloom.bench.analysis import (
    by_problem,
    gap_against_time,
    performance_profile,
    scaling,
)
from lightloom.report.panel import Panel, Series
from lightloom.report.plots import save_plot
from lightloom.report.tables import save_csv

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lightloom.bench.analysis import Curve
    from lightloom.bench.results import Row

_APART = 1.3
"""Factor between neighbouring sizes that are written at an axis."""
_LEFT_OUT = ("trace",)
"""What does not fit a cell of a table; the results file has it."""


def save_report(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Draw each problem into ``PROBLEM.png`` and ``.svg``, and write ``rows.csv``.

    Returns paths of the files, ``rows.csv`` first.

    Raises `InputError` if the folder cannot be written.
    """
    paths = [folder / "rows.csv"]
    records = [_flat(row) for row in rows]
    columns = list(dict.fromkeys(key for record in records for key in record))
    cells = [[record.get(column) for column in columns] for record in records]
    save_csv(columns, cells, paths[0])
    for problem, group in by_problem(rows).items():
        panels = _panels(problem, group)
        if panels:
            paths += save_plot(panels, folder / problem)
    return paths


def _panels(problem: str, rows: Sequence[Row]) -> list[Panel]:
    """Return the panels of a problem; one that would be empty is left out."""
    panels = [
        Panel(
            f"{problem}: proven, by time over the fastest",
            "seconds to proof / fastest",
            "share of questions",
            _stairs(performance_profile(rows)),
            x_log=10,
        ),
        Panel(
            f"{problem}: gap against time",
            "time (s)",
            "arithmetic mean of gaps, each at most 1",
            _stairs(gap_against_time(rows)),
            x_log=10,
        ),
        Panel(
            f"{problem}: scaling",
            "size of the instance (a line for each family)",
            "time (s), geometric mean",
            _series(scaling(rows)),
            x_log=10,
            y_log=10,
            x_ticks=_ticks(rows),
        ),
    ]
    return [panel for panel in panels if panel.series]


def _series(curves: Sequence[Curve]) -> list[Series]:
    labels = list(dict.fromkeys(curve.label for curve in curves))
    return [
        Series(curve.label, curve.x, curve.y, colour=labels.index(curve.label))
        for curve in curves
    ]


def _stairs(curves: Sequence[Curve]) -> list[Series]:
    return [replace(series, markers=False) for series in _series(curves)]


def _ticks(rows: Sequence[Row]) -> list[tuple[float, str]]:
    """Return the sizes there are, those left out that would touch another's."""
    ticks: list[tuple[float, str]] = []
    for size in sorted({row.size for row in rows}):
        if not ticks or size > _APART * ticks[-1][0]:
            ticks.append((size, str(size)))
    return ticks


def _flat(row: Row) -> dict[str, object]:
    """Return a row as cells: nested records by the names of their fields."""
    flat: dict[str, object] = {}
    for key, value in msgspec.to_builtins(row).items():
        if key in ("finding", "machine"):
            flat |= {k: v for k, v in (value or {}).items() if k not in _LEFT_OUT}
        elif key != "record":
            flat[key] = json.dumps(value) if isinstance(value, dict) else value
    return flat
