"""Tables of benchmarks: for terminals, for pages, and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from lightloom.bench.certified_gaps import certified_bounds, certified_gap
from lightloom.bench.summary import summaries
from lightloom.core.units import MIB
from lightloom.report.tables import Column, terminal_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.table import Table

    from lightloom.bench.compare import ResultsComparison
    from lightloom.bench.result_row import Row
    from lightloom.bench.summary import Summary

_SUMMARY = (
    Column("problem"),
    Column("solver"),
    Column("answered", number=True),
    Column("proven", number=True),
    Column("certified", number=True),
    Column("gap, arithmetic mean", number=True),
    Column("worst gap", number=True),
    Column("CPU s, geometric mean", number=True),
    Column("seconds, geometric mean", number=True),
    Column("slowest s", number=True),
    Column("most MiB", number=True),
    Column("otherwise"),
)
_RUN = (
    Column("instance"),
    Column("solver"),
    Column("answer", number=True),
    Column("bound", number=True),
    Column("gap", number=True),
    Column("unit"),
    Column("build s", number=True),
    Column("seconds", number=True),
    Column("CPU s", number=True),
    Column("check s", number=True),
    Column("MiB", number=True),
)
_SPEED = (
    Column("problem"),
    Column("solver"),
    Column("pairs", number=True),
    Column("ratio, geometric mean", number=True),
    Column("interval", number=True),
    Column("noise, factor", number=True),
    Column("verdict"),
)
_CHANGE = (
    Column("problem"),
    Column("instance"),
    Column("solver"),
    Column("seed", number=True),
    Column("what"),
    Column("before"),
    Column("after"),
)


def summary_table(rows: Sequence[Row]) -> Table:
    """Return a line for each problem and solver."""
    return terminal_table(_SUMMARY, [_cells(one) for one in summaries(rows)])


def summary_page(rows: Sequence[Row]) -> str:
    """Return the same table in Markdown."""
    return _markdown(_SUMMARY, [_cells(one) for one in summaries(rows)])


def summary_records(rows: Sequence[Row]) -> list[dict[str, object]]:
    """Return the same table as objects, with nothing rounded."""
    return [asdict(one) for one in summaries(rows)]


def runs_table(rows: Sequence[Row]) -> Table:
    """Return a line for each run."""
    return terminal_table(_RUN, _run_cells(rows))


def runs_page(rows: Sequence[Row]) -> str:
    """Return the same table in Markdown."""
    return _markdown(_RUN, _run_cells(rows))


def _run_cells(rows: Sequence[Row]) -> list[tuple[object, ...]]:
    """Return what each run found, and what that took."""
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
    return cells


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


def _markdown(columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> str:
    lines = [
        "| " + " | ".join(column.heading for column in columns) + " |",
        "|" + "|".join("---:" if column.number else "---" for column in columns) + "|",
    ]
    lines += [
        "| " + " | ".join("-" if cell is None else str(cell) for cell in row) + " |"
        for row in rows
    ]
    return "\n".join(lines)


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.1f} %"


def _seconds(seconds: float | None) -> str | None:
    """Return seconds with three figures, never as a power of ten."""
    if seconds is None:
        return None
    return f"{seconds:.0f}" if seconds >= 100 else f"{seconds:#.3g}"
