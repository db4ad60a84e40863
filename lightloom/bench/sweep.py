"""Sweeps: every job of a suite to a row, whatever happens on the way.

Workers are threads of this program with a fork server each, or those of a Dask cluster.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import queue
import threading
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, CancelledError, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from lightloom.bench.isolation import end_runs, run_isolated
from lightloom.bench.results import Ending, Finding, Measured, worker_versions
from lightloom.core.errors import InputError, NoAnswerError
from lightloom.core.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Executor, Future

    from lightloom.bench.isolation import IsolatedJob
    from lightloom.bench.results import ResultsFile, Row


JobT = TypeVar("JobT", bound="IsolatedJob")

_AHEAD = 4
"""Jobs that wait at the workers for each that runs: no worker is idle."""
_ANSWER_S = 10.0
"""A scheduler that has not answered by then is not there."""
_SLACK_S = 2.0
"""How much longer than its own time-out a client may take to say so."""
_WORKERS_S = 60.0
"""Workers that have not come by then do not come."""
_PAUSE_S = 0.05
"""How long a thread is waited for before runs that began meanwhile are ended too."""


def pending(jobs: Iterable[JobT], rows: Iterable[Row]) -> tuple[JobT, ...]:
    """Return the jobs that have no row yet.

    A run that was lost with its workers has none: nothing is known of it.
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

    Jobs are handed out in this order; rows come back as they come in, one for each.
    `tell` is told of every row.

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


@dataclass(frozen=True)
class Workers:
    """Who runs jobs, `count` at a time."""

    executor: Executor
    count: int


def default_workers() -> int:
    """Return how many runs go on at a time on this machine: on half of its cores.

    A run and its solver take turns, but not always; a core is left to each.
    """
    return max(1, len(os.sched_getaffinity(0)) // 2)


@contextlib.contextmanager
def local_workers(count: int) -> Iterator[Workers]:
    """Yield workers on this machine; what still runs ends with the block."""
    if count < 1:
        what, allowed = "invalid number of workers", "at least 1"
        raise InputError(what, where="--workers", found=count, allowed=allowed)
    executor = ThreadPoolExecutor(count)
    try:
        yield Workers(executor, count)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        last = threading.Thread(target=executor.shutdown)
        last.start()
        while last.is_alive():  # a run may be about to begin
            end_runs()
            last.join(_PAUSE_S)


@contextlib.contextmanager
def connected(scheduler: str) -> Iterator[Workers]:
    """Yield the workers of a Dask cluster, which run this very code.

    `scheduler` is an address such as ``tcp://10.0.0.1:8786``. Raises `InputError` where
    Dask is not installed; the scheduler does not answer within ten
    seconds, has no workers, or its workers have another version of lightloom, Python or
    a solver.
    """
    require("distributed", "dask", "runs on a cluster")
    # A worker that is lost and found again is told by rows, not by log lines.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with _remote(scheduler) as client:
        _check_workers(client, scheduler)
        count = sum(client.nthreads().values())
        yield Workers(client.get_executor(pure=False), count)


def _remote(scheduler: str) -> Any:  # noqa: ANN401
    what = f"the scheduler does not answer within {_ANSWER_S:.0f} s"
    try:
        return _client_in_time(scheduler)
    except (OSError, queue.Empty):
        pass
    except (ValueError, TypeError):
        what = "invalid address of a scheduler"
    allowed = "an address as `dask scheduler` prints it, tcp://HOST:PORT"
    raise InputError(what, where="--scheduler", found=scheduler, allowed=allowed)


def _client_in_time(scheduler: str) -> Any:  # noqa: ANN401
    """Return a client of a scheduler.

    Its own time-out does not hold where something listens and says nothing, so it is
    made in a thread that may be left waiting.

    Raises `queue.Empty`: it was not made in time.
    """
    from distributed import Client

    made: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def make() -> None:
        try:
            made.put(Client(scheduler, timeout=_ANSWER_S))
        except Exception as problem:  # noqa: BLE001  (raised by who waits)
            made.put(problem)

    threading.Thread(target=make, daemon=True).start()
    found = made.get(timeout=_ANSWER_S + _SLACK_S)
    if isinstance(found, Exception):
        raise found
    return found


def _check_workers(client: Any, scheduler: str) -> None:  # noqa: ANN401
    """Raise unless there are workers, and they run what runs here."""
    try:
        client.wait_for_workers(1, timeout=_WORKERS_S)
    except TimeoutError:
        what, fix = "the scheduler has no workers", "start some: dask worker ADDRESS"
        raise InputError(what, where=scheduler, fix=fix) from None
    try:
        found = client.run(worker_versions)
    except (ImportError, AttributeError) as problem:
        what = f"a worker cannot import lightloom: {problem}"
        fix = "install the same version there"
        raise InputError(what, where=scheduler, fix=fix) from None
    here = worker_versions()
    for address, versions in sorted(found.items()):
        for name, version in here.items():
            if versions.get(name) != version:
                what = f"worker {address} has another version of {name}"
                raise InputError(
                    what,
                    where=scheduler,
                    found=versions.get(name),
                    allowed=str(version),
                    fix="install the same versions everywhere",
                )
