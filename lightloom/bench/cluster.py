"""Workers: threads of this program with a fork server each, or a Dask cluster."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lightloom.bench.isolation import end_runs
from lightloom.bench.results import worker_versions
from lightloom.core.errors import InputError
from lightloom.core.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor

_ANSWER_S = 10.0
"""A scheduler that has not answered by then is not there."""
_SLACK_S = 2.0
"""How much longer than its own time-out a client may take to say so."""
_WORKERS_S = 60.0
"""Workers that have not come by then do not come."""

_PAUSE_S = 0.05


@dataclass(frozen=True)
class Workers:
    """Who runs jobs.

    Attributes
    ----------
    executor
        Takes jobs.
    count
        How many runs go on at a time.
    """

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

    Parameters
    ----------
    scheduler
        Address of a scheduler, for example ``tcp://10.0.0.1:8786``.

    Raises
    ------
    InputError
        Dask is not installed; the scheduler does not answer within ten seconds, has
        no workers, or its workers have another version of lightloom, Python or a
        solver.
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

    Raises
    ------
    queue.Empty
        It was not made in time.
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
