"""Jobs of a benchmark: run by processes of this machine, or by a Dask cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lightloom.cli.console import progress, say
from lightloom.cli.options import option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lightloom.bench.isolation import IsolatedJob
    from lightloom.bench.results import ResultsFile, Row


def workers_option(default: str = "half of its cores") -> Any:  # noqa: ANN401
    """Return the option ``--workers``, of which `default` says how many there are."""
    return option(
        f"Runs at a time on this machine.  [default: {default}]",
        type=click.IntRange(1, 1024),
        callback=_one_of_two,
    )


def run_jobs(
    task: str,
    jobs: Sequence[IsolatedJob],
    file: ResultsFile,
    scheduler: str | None,
    workers: int | None,
    tell_of: Callable[[Row], str] | None = None,
) -> tuple[Row, ...]:
    """Run jobs and append their rows, telling how far it is.

    `file`: where each row is appended as soon as it is there. `scheduler`: address of a
    Dask cluster; ``None`` for this machine. `workers`: runs at a time on this machine;
    ``None`` for half of its cores. `tell_of`: what is told of a row; by default what
    was asked of whom, and how it ended.
    """
    from lightloom.bench.sweep import connected, default_workers, local_workers, sweep

    done = 0
    with progress(task) as tell:
        tell("starting workers" if scheduler is None else f"connecting to {scheduler}")

        def report(row: Row) -> None:
            nonlocal done
            done += 1
            tell(f"{done} of {len(jobs)} ({(tell_of or _ended)(row)})")

        try:
            chosen = (
                local_workers(workers or default_workers())
                if scheduler is None
                else connected(scheduler)
            )
            with chosen as those:
                return sweep(jobs, file, those, report)
        except KeyboardInterrupt:
            say(f"{done} of {len(jobs)} rows kept; the same command runs the rest")
            raise


def _ended(row: Row) -> str:
    """Return what was asked of whom, and how it ended."""
    return f"{row.problem} {row.instance} by {row.label}: {row.finding.ending}"


def _one_of_two(ctx: click.Context, param: click.Parameter, value: object) -> object:
    """Refuse workers of this machine beside a cluster's."""
    other = "workers" if param.name == "scheduler" else "scheduler"
    if value is not None and ctx.params.get(other) is not None:
        raise click.UsageError("--workers are those of this machine, not --scheduler's")
    return value


SCHEDULER = option(
    "Run on the Dask cluster of tcp://HOST:PORT instead.",
    metavar="ADDRESS",
    callback=_one_of_two,
)
