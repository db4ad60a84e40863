"""The solver's process: reads jobs from stdin, writes what happens to a pipe.

`main` is run by `lightloom.solvers.child`. Pickles go
both ways, between a process and the child that it started itself. What a solver
writes to stdout goes to stderr.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from lightloom.solvers.progress import Reporter

if TYPE_CHECKING:
    from lightloom.solvers.adapter import Adapter, Answer
    from lightloom.solvers.options import SolveOptions
    from lightloom.solvers.standard_form import StandardForm


@dataclass(frozen=True, eq=False)
class Job:
    """A model for a solver."""

    adapter: Adapter
    form: StandardForm
    options: SolveOptions


@dataclass(frozen=True)
class Stop:
    """The solver should stop now and hand over its best point."""


@dataclass(frozen=True)
class Started:
    """The solver has the model; its time counts from now."""


@dataclass(frozen=True, eq=False)
class Done:
    """The solver has answered."""

    answer: Answer


@dataclass(frozen=True, eq=False)
class Broken:
    """The adapter raised an error."""

    error: BaseException


def main() -> None:
    """Serve jobs until the parent closes its end."""
    with contextlib.suppress(OSError, ValueError):  # a terminal's Ctrl-C is not ours
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    _die_first()
    jobs: queue.SimpleQueue[tuple[Job, Reporter]] = queue.SimpleQueue()
    voice = _Voice(channel)
    reader = threading.Thread(target=_read, args=(jobs, voice), daemon=True)
    reader.start()
    while True:
        job, reporter = jobs.get()
        voice.say(_serve(job, reporter, voice))


def _serve(job: Job, reporter: Reporter, voice: _Voice) -> Done | Broken:
    """Run a job; every error of the adapter becomes a message."""
    limit = job.options.memory_limit_bytes
    try:
        if limit is not None:
            _warm_up(job)
            _hold_to(limit)
        voice.say(Started())
        return Done(job.adapter.solve(job.form, job.options, reporter))
    except Exception as problem:  # noqa: BLE001  (told to the parent)
        return Broken(problem)


class _Voice:
    """Writes whole messages to the parent, from any thread."""

    def __init__(self, channel: BinaryIO) -> None:
        self._channel = channel
        self._lock = threading.Lock()

    def say(self, message: object) -> None:
        """Write a message; a parent that went away ends the process."""
        with self._lock:
            try:
                pickle.dump(message, self._channel)
                self._channel.flush()
            except OSError:
                os._exit(1)


def _read(jobs: queue.SimpleQueue[tuple[Job, Reporter]], voice: _Voice) -> None:
    """Take messages from the parent until it goes away, and the process with it."""
    reporter: Reporter | None = None
    while True:
        try:
            message: Any = pickle.load(sys.stdin.buffer)  # noqa: S301  (our parent)
        except (EOFError, OSError, pickle.UnpicklingError):
            os._exit(0)
        except Exception as problem:  # noqa: BLE001  (an adapter we cannot import)
            voice.say(Broken(problem))
            continue
        if isinstance(message, Job):
            reporter = Reporter(voice.say, maximise=message.form.maximise)
            jobs.put((message, reporter))
        elif reporter is not None:
            reporter.stop()


def _warm_up(job: Job) -> None:
    """Solve a tiny model, so that the solver's libraries are loaded."""
    from dataclasses import replace

    import numpy as np

    one, start = np.ones(1), np.array([0, 1], dtype=np.int32)
    tiny = replace(
        job.form,
        cost=one,
        column_lower=0 * one,
        column_upper=one,
        integral=np.array([job.adapter.capabilities.integer]),
        row_start=start,
        row_column=start[:1],
        row_value=one,
        row_lower=0 * one,
        row_upper=one,
    )
    options = replace(job.options, memory_limit_bytes=None, log=False)
    job.adapter.solve(tiny, options, Reporter(lambda _: None, maximise=False))


def _hold_to(limit_bytes: int) -> None:
    """Allow this process so many bytes of address space beyond what it has."""
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
        pages = int(file.read().split()[0])
    total = pages * resource.getpagesize() + limit_bytes
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        total = min(total, hard)
    resource.setrlimit(resource.RLIMIT_AS, (total, hard))


def _die_first() -> None:
    """Ask Linux to end this process, not its parent, when memory runs out."""
    with (
        contextlib.suppress(OSError),
        open(  # noqa: PTH123
            "/proc/self/oom_score_adj", "w", encoding="ascii"
        ) as file,
    ):
        file.write("800")
