"""Tables and plots of benchmarks, and their rows as a file that other programs read."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import msgspec

from lightloom.bench.analysis import (
    by_problem,
    certified_bounds,
    certified_gap,
    gap_against_time,
    performance_profile,
    scaling,
    summaries,
)
from lightloom.core.units import MIB
from lightloom.report.panel import Panel, Series
from lightloom.report.plots import save_plot
from lightloom.report.tables import save_csv, terminal_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.table import Table

    from lightloom.bench.analysis import Curve, ResultsComparison, Summary
    from lightloom.bench.results import Row

    TableRows = tuple[Sequence[str], Sequence[Sequence[object]]]

_SUMMARY = (
    "problem",
    "solver",
    "answered#",
    "proven#",
    "certified#",
    "gap, arithmetic mean#",
    "worst gap#",
    "CPU s, geometric mean#",
    "seconds, geometric mean#",
    "slowest s#",
    "most MiB#",
    "otherwise",
)
_RUN = (
    "instance",
    "solver",
    "answer#",
    "bound#",
    "gap#",
    "unit",
    "build s#",
    "seconds#",
    "CPU s#",
    "check s#",
    "MiB#",
)
_SPEED = (
    "problem",
    "solver",
    "pairs#",
    "ratio, geometric mean#",
    "interval#",
    "noise, factor#",
    "verdict",
)
_CHANGE = ("problem", "instance", "solver", "seed#", "what", "before", "after")


def summary(rows: Sequence[Row]) -> TableRows:
    """Return a line for each problem and solver, under its headings."""
    return _SUMMARY, [_cells(one) for one in summaries(rows)]


def summary_records(rows: Sequence[Row]) -> list[dict[str, object]]:
    """Return the same table as objects, with nothing rounded."""
    return [asdict(one) for one in summaries(rows)]


def runs(rows: Sequence[Row]) -> TableRows:
    """Return a line for each run: what it found, and what that took."""
    bounds = certified_bounds(rows)
    cells: list[tuple[object, ...]] = []
    for row in rows:
        found = row.finding
        seconds = (found.build_s, found.solve_s, found.cpu_s, found.check_s)
        cells.append(
            (
                *(row.instance, row.label, found.answer or str(found.ending)),
                *(found.bound_exact, _percent(certified_gap(row, bounds)), row.unit),
                *map(_seconds, seconds),
                None if row.peak_bytes is None else round(row.peak_bytes / MIB),
            )
        )
    return _RUN, cells


def speed_table(comparison: ResultsComparison) -> Table:
    """Return how much faster or slower each solver became."""
    cells = [
        (
            one.problem,
            one.solver,
            one.pairs,
            f"{one.ratio:.3f}",
            None if one.low is None else f"{one.low:.3f} to {one.high:.3f}",
            None if one.noise is None else f"{one.noise:.3f}",
            one.verdict,
        )
        for one in comparison.speeds
    ]
    return terminal_table(_SPEED, cells)


def change_table(comparison: ResultsComparison, shown: int) -> Table:
    """Return the answers, bounds and endings that changed, the first `shown`."""
    changes = comparison.changes
    title = f"{len(changes)} changes of endings, answers and bounds"
    if len(changes) > shown:
        title += f"; the first {shown}"
    cells = [tuple(asdict(one).values()) for one in changes[:shown]]
    return terminal_table(_CHANGE, cells, title=title)


def _cells(one: Summary) -> tuple[object, ...]:
    return (
        one.problem,
        one.solver,
        f"{one.answered} of {one.runs}",
        one.proven,
        one.certified,
        _percent(one.mean_gap),
        _percent(one.worst_gap),
        _seconds(one.cpu_s),
        _seconds(one.solve_s),
        _seconds(one.slowest_s),
        None if one.peak_bytes is None else round(one.peak_bytes / MIB),
        one.troubles,
    )


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.1f} %"


def _seconds(seconds: float | None) -> str | None:
    """Return seconds with three figures, never as a power of ten."""
    if seconds is None:
        return None
    return f"{seconds:.0f}" if seconds >= 100 else f"{seconds:#.3g}"


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
