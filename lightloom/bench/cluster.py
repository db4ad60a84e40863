"""Workers: processes of this machine, or a Dask cluster that is there already."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import signal
import threading
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

from lightloom.bench.versions import worker_versions
from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["connected", "default_workers"]

_ANSWER_S = 10.0
"""A scheduler that has not answered by then is not there."""
_SLACK_S = 2.0
"""How much longer than its own time-out a client may take to say so."""
_WORKERS_S = 60.0
"""Workers that have not come by then do not come."""


def default_workers() -> int:
    """Return how many runs go on at a time on this machine: on half of its cores.

    A run and its solver take turns, but not always; a core is left to each.
    """
    return max(1, len(os.sched_getaffinity(0)) // 2)


@contextlib.contextmanager
def connected(scheduler: str | None = None, workers: int = 1) -> Iterator[Any]:
    """Yield a ``distributed.Client`` whose workers run this very code.

    Parameters
    ----------
    scheduler
        Address of a scheduler, for example ``tcp://10.0.0.1:8786``; ``None``: a
        cluster of processes of this machine, which ends with the block.
    workers
        Processes of a local cluster, one run at a time each.

    Raises
    ------
    InputError
        The scheduler does not answer within ten seconds, has no workers, or its
        workers have another version of lightloom, Python or a solver.
    """
    # A worker that is lost and found again is told by rows, not by log lines.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with contextlib.ExitStack() as stack:
        if scheduler is None:
            client = _local(stack, workers)
        else:
            client = _remote(stack, scheduler)
            _check_workers(client, scheduler)
        yield client


def _local(stack: contextlib.ExitStack, workers: int) -> Any:  # noqa: ANN401
    from distributed import Client, LocalCluster
    from distributed.utils import LoopRunner

    if workers < 1:
        allowed = "at least 1"
        raise InputError(
            "no workers", where="--workers", found=workers, allowed=allowed
        )
    with _deaf():
        runner = LoopRunner(asynchronous=False)
        runner.start()
    stack.callback(runner.stop)
    cluster = stack.enter_context(
        LocalCluster(
            loop=runner.loop,
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # any port; the default may be taken
            scheduler_kwargs={"dashboard": False},
            memory_limit=0,  # runs have limits of their own
            silence_logs=logging.CRITICAL,
        )
    )
    return stack.enter_context(Client(cluster))


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Have threads that start in the block, and their processes, not hear Ctrl-C.

    It is for this thread to end the workers; left to themselves each would end with a
    traceback.
    """
    # Its start, which the first process brings about, would undo what is done here.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _remote(stack: contextlib.ExitStack, scheduler: str) -> Any:  # noqa: ANN401
    what = f"the scheduler does not answer within {_ANSWER_S:.0f} s"
    try:
        return stack.enter_context(_client_in_time(scheduler))
    except (OSError, queue.Empty):
        pass
    except (ValueError, TypeError):
        what = "not the address of a scheduler"
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
