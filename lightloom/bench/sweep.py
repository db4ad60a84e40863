"""Sweeps: every job of a suite to a row, whatever happens on the way."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from lightloom.bench.isolation import run_isolated
from lightloom.bench.results import Ending, Finding, Measured
from lightloom.core.errors import NoAnswerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Future

    from lightloom.bench.cluster import Workers
    from lightloom.bench.isolation import IsolatedJob
    from lightloom.bench.results import ResultsFile, Row

JobT = TypeVar("JobT", bound="IsolatedJob")

_AHEAD = 4
"""Jobs that wait at the workers for each that runs: no worker is idle."""


def pending(jobs: Iterable[JobT], rows: Iterable[Row]) -> tuple[JobT, ...]:
    """Return the jobs that have no row yet.

    A run that was lost with its workers has none: nothing is known of it.

    Parameters
    ----------
    jobs
        Jobs of a suite.
    rows
        Rows of a results file.
    """
    done = {row.key for row in rows if row.machine is not None}
    return tuple(job for job in jobs if job.key not in done)


def sweep(
    jobs: Sequence[IsolatedJob],
    results: ResultsFile,
    workers: Workers,
    tell: Callable[[Row], None] | None = None,
) -> tuple[Row, ...]:
    """Run jobs by workers; each row is on disk before the next.

    A run whose worker on a cluster is lost is given to another one, up to four times;
    then its row says so.

    Parameters
    ----------
    jobs
        What is to be run; handed out in this order.
    results
        Where rows are appended, in the order they come in.
    workers
        Of this machine or of a cluster.
    tell
        Told of every row.

    Returns
    -------
    The rows, one for each job.

    Raises
    ------
    NoAnswerError
        The scheduler went away. The rows so far are kept.
    """
    queue = iter(jobs)
    waiting: dict[Future[Row], tuple[IsolatedJob, float, str]] = {}
    rows: list[Row] = []

    def submit(count: int) -> None:
        for job in itertools.islice(queue, count):
            now = datetime.now(UTC).isoformat(timespec="seconds")
            future = workers.executor.submit(run_isolated, job)
            waiting[future] = job, time.perf_counter(), now

    submit(_AHEAD * max(1, workers.count))
    try:
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                row = _row(future, *waiting.pop(future))
                results.append(row)
                rows.append(row)
                if tell is not None:
                    tell(row)
                submit(1)
    except CancelledError:
        what = f"the scheduler went away; {len(rows)} new rows are kept"
        fix = "the same command runs the rest"
        raise NoAnswerError(what, where=results.path, fix=fix) from None
    finally:
        for future in waiting:
            future.cancel()
    return tuple(rows)


def _row(future: Future[Row], job: IsolatedJob, start: float, started: str) -> Row:
    """Return the row of a run that is over, also of one that was lost."""
    try:
        return future.result()
    except CancelledError:
        raise
    except Exception as problem:
        # The name is enough: Dask is there if it has raised, and only then.
        if type(problem).__name__ != "KilledWorker":
            raise
        wall_s = time.perf_counter() - start
        detail = "every worker that had the run was lost"
        finding = Finding(ending=Ending.LOST, detail=detail)
        return job.row(finding, Measured(None, wall_s, started, None))


def tally(rows: Iterable[Row]) -> str:
    """Return how many rows ended how, in a line."""
    counts = Counter(str(row.finding.ending) for row in rows)
    return ", ".join(f"{count} {ending}" for ending, count in sorted(counts.items()))
