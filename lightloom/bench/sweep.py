"""Sweeps: every job of a suite to a row, whatever happens on the way."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lightloom.bench.isolation import run_isolated
from lightloom.core.errors import NoAnswerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lightloom.bench.job import Job
    from lightloom.bench.results import ResultsFile
    from lightloom.bench.row import Row

__all__ = ["pending", "sweep"]

_AHEAD = 4
"""Jobs that wait at the workers for each that runs: no worker is idle."""


def pending(jobs: Iterable[Job], rows: Iterable[Row]) -> tuple[Job, ...]:
    """Return the jobs that have no row yet.

    A run that was lost with its workers has none: nothing is known of it.
    """
    done = {row.key for row in rows if row.machine is not None}
    return tuple(job for job in jobs if job.key not in done)


def sweep(
    jobs: Sequence[Job],
    results: ResultsFile,
    client: Any,  # noqa: ANN401  (distributed is loaded by those who run)
    tell: Callable[[Row], None] | None = None,
) -> tuple[Row, ...]:
    """Run jobs on the workers of a cluster; each row is on disk before the next.

    A run whose worker is lost is given to another one, up to four times; then its row
    says so.

    Parameters
    ----------
    jobs
        What is to be run; handed out in this order.
    results
        Where rows are appended, in the order they come in.
    client
        A ``distributed.Client``.
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
    return _Sweep(list(jobs), results, client, tell or (lambda _: None)).run()


@dataclass
class _Sweep:
    jobs: list[Job]
    results: ResultsFile
    client: Any
    tell: Callable[[Row], None]
    waiting: dict[str, tuple[Job, float, str]] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)

    def run(self) -> tuple[Row, ...]:
        """Hand out jobs as rows come in, a few ahead of the workers."""
        from distributed import as_completed

        jobs = iter(self.jobs)
        slots = max(1, sum(self.client.nthreads().values()))
        window = itertools.islice(jobs, _AHEAD * slots)
        futures = as_completed([self._submitted(job) for job in window])
        try:
            for future in futures:
                self._take(future)
                for job in itertools.islice(jobs, 1):
                    futures.add(self._submitted(job))
        except BaseException:
            self._cancel(futures)
            raise
        return tuple(self.rows)

    def _submitted(self, job: Job) -> Any:  # noqa: ANN401
        future = self.client.submit(run_isolated, job, pure=False)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self.waiting[future.key] = (job, time.perf_counter(), now)
        return future

    def _take(self, future: Any) -> None:  # noqa: ANN401
        from distributed.scheduler import KilledWorker

        job, start, started = self.waiting.pop(future.key)
        if future.cancelled():
            what = f"the scheduler went away; {len(self.rows)} new rows are kept"
            fix = "the same command runs the rest"
            raise NoAnswerError(what, where=self.results.path, fix=fix)
        problem = future.exception()
        if isinstance(problem, KilledWorker):
            wall_s = time.perf_counter() - start
            row = job.lost("every worker that had the run was lost", wall_s, started)
        elif problem is not None:
            raise problem
        else:
            row = future.result()
        self.results.append(row)
        self.rows.append(row)
        self.tell(row)

    def _cancel(self, futures: Any) -> None:  # noqa: ANN401
        """Take back what is not done, where somebody is left to be told."""
        if self.client.status == "running":
            self.client.cancel([future for future, _ in futures.queue.queue])


def tally(rows: Iterable[Row]) -> str:
    """Return how many rows ended how, in a line."""
    counts = Counter(str(row.finding.ending) for row in rows)
    return ", ".join(f"{count} {ending}" for ending, count in sorted(counts.items()))
