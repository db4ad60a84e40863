"""Jobs on a fabric as tables: one job a row, or one moment."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from lightloom.core.units import PS_PER_US
from lightloom.report.tables import Column, terminal_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.table import Table

    from lightloom.training.job_run import ClusterRun

JOB_COLUMNS = (
    *("name", "devices", "nodes", "strategy", "arrival_us", "waiting_us", "start_us"),
    *("finish_us", "iterations", "alone_us", "together_us", "slow_down"),
)
MOMENT_COLUMNS = (
    *("time_us", "running", "waiting", "busy", "free", "longest_block"),
    "free_outside_longest",
)


def job_rows(run: ClusterRun) -> list[tuple[object, ...]]:
    """Return a row of `JOB_COLUMNS` for each job."""
    return [
        (
            *(each.job.name, each.job.devices, _ranges(each.nodes), each.strategy),
            each.job.arrival_ps / PS_PER_US,
            each.waiting_ps / PS_PER_US,
            None if each.start_ps is None else each.start_ps / PS_PER_US,
            each.finish_ps / PS_PER_US,
            round(float(each.iterations), 3),
            each.alone_ps / PS_PER_US,
            None if each.together_ps is None else float(each.together_ps / PS_PER_US),
            None if each.slow_down is None else float(each.slow_down),
        )
        for each in run.jobs
    ]


def moment_rows(run: ClusterRun) -> list[tuple[object, ...]]:
    """Return a row of `MOMENT_COLUMNS` for each moment."""
    return [
        (
            each.time_ps / PS_PER_US,
            *(" ".join(each.running), " ".join(each.waiting)),
            *(run.node_count - each.free.free, each.free.free, each.free.largest),
            float(each.free.share),
        )
        for each in run.moments
    ]


def job_table(run: ClusterRun) -> Table:
    """Return all jobs as a table."""
    shown = (
        *("name", "nodes", "strategy", "arrival_us", "waiting_us", "finish_us"),
        *("alone_us", "together_us", "slow_down"),
    )
    numbers = shown[3:]
    columns = [
        Column(name.replace("_us", ", us").replace("_", "-"), number=name in numbers)
        for name in shown
    ]
    places = [JOB_COLUMNS.index(name) for name in shown]
    rows = [[_cell(row[at]) for at in places] for row in job_rows(run)]
    return terminal_table(columns, rows)


def _cell(value: object) -> object:
    """Return a value as the terminal shows it."""
    return f"{value:,.3f}" if isinstance(value, float) else value


def _ranges(nodes: Sequence[int]) -> str:
    """Return nodes as runs: 0-3 8."""
    ordered = sorted(nodes)
    breaks = [at for at, (one, two) in enumerate(pairwise(ordered), 1) if two > one + 1]
    ends: Iterable[tuple[int, int]] = pairwise([0, *breaks, len(ordered)])
    runs = [ordered[first:last] for first, last in ends if last > first]
    return " ".join(
        str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs
    )
