"""Runs solvers in child processes, so that their crashes stay there.

Every solver runs in a process of its own: a crash, a kill or a lack of memory is an
answer; a time limit holds whatever the solver does; Ctrl-C reaches us and not the
solver; and libraries that cannot share a process need not. Processes that ended a
small job well are kept for the next: measured 0.4 s for the first, then under 5 ms.
"""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import psutil

from lightloom.core.errors import InputError
from lightloom.core.outcome import Limit
from lightloom.isolation.child_process import (
    ChildProcess,
    Gone,
    Interrupted,
    idle_processes,
)
from lightloom.isolation.process_tree import die_first
from lightloom.solvers.adapter import Answer, SolverClaim, smallest_model
from lightloom.solvers.progress import Incumbent, Progress, Reporter

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.columns import FloatArray
    from lightloom.isolation.child_process import ParentChannel
    from lightloom.solvers.adapter import Adapter
    from lightloom.solvers.options import SolveOptions
    from lightloom.solvers.standard_form import StandardForm


_OVERRUN_S = 1.0
"""A solver is told to stop this long after its time limit ..."""
_GRACE_S = 2.0
"""... and killed if it has not stopped this much later."""
_MOST_NONZEROS_KEPT = 500_000
"""Entries of a model whose process is kept: a larger one leaves memory behind."""
_WITHOUT_MEMORY = ("SIGABRT", "SIGBUS", "SIGSEGV")
"""How solvers end that do not look whether they were given memory; read so only under
a memory limit."""
_OUT_OF_MEMORY = ("bad_alloc", "out of memory", "MemoryError", "insufficient memory")


def solve_in_child(
    adapter: Adapter,
    form: StandardForm,
    options: SolveOptions,
    progress: Callable[[Progress], None] | None = None,
) -> Answer:
    """Run a solver on a model in a process of its own.

    Returns the solver's answer. A process that ended without one is ``FAILED``, or
    stopped by memory where that is what it said; its last point is kept.

    Raises `InputError`: a memory limit where there is no way to hold a process to it;
    `Exception`: whatever the adapter raised.

    A first Ctrl-C tells the solver to stop, a second one kills it.
    """
    if options.memory_limit_bytes is not None and sys.platform != "linux":
        what, fix = "memory limits need Linux", "leave the memory limit out"
        raise InputError(what, where="options.memory_limit_bytes", fix=fix)
    reusable = not options.log and options.memory_limit_bytes is None
    process = (idle_processes.take(adapter.name) if reusable else None) or ChildProcess(
        "lightloom.solvers.child:serve", log=options.log
    )
    watch = _Watch(process, options, progress)
    try:
        with process.interrupts_as_messages():
            process.send(SolverJob(adapter, form, options))
            return watch.answer()
    finally:
        if watch.orderly and reusable and form.nonzeros < _MOST_NONZEROS_KEPT:
            idle_processes.keep(adapter.name, process)
        else:
            process.kill()


class _Watch:
    """Listens to a process until it answers, is killed, or dies."""

    def __init__(
        self,
        process: ChildProcess,
        options: SolveOptions,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._process = process
        self._time_limit_s = options.time_limit_s
        self._signs: tuple[str, ...] = _OUT_OF_MEMORY
        if options.memory_limit_bytes is not None:
            self._signs += _WITHOUT_MEMORY
        self._progress = progress
        self._values: FloatArray | None = None
        self._bound: float | None = None
        self._due: float | None = None
        self._told: Limit | None = None
        self.orderly = False

    def answer(self) -> Answer:
        """Return the answer, whatever happens to the process."""
        while True:
            try:
                message = self._process.receive(self._patience_s())
            except queue.Empty:
                limit = Limit.TIME
            else:
                answer = self._hear(message)
                if answer is not None:
                    return answer
                if not isinstance(message, Interrupted):
                    continue
                limit = Limit.INTERRUPT
            if self._told is not None:
                what = "the solver was killed: it did not stop when it was told to"
                return self._stopped(what)
            self._told = limit
            self._due = time.monotonic() + _GRACE_S
            self._process.send(Stop())

    def _patience_s(self) -> float | None:
        """Return how long to wait for the next message."""
        return None if self._due is None else max(0.0, self._due - time.monotonic())

    def _hear(self, message: object) -> Answer | None:
        """Take a message; returns the answer if this was the last one."""
        if isinstance(message, Gone):
            return self._died(self._process.how_it_ended())
        if isinstance(message, Answer):
            self.orderly = True
            return self._with_reason(message)
        if isinstance(message, Raised):
            if isinstance(message.error, MemoryError):
                return self._stopped("out of memory", Limit.MEMORY)
            raise message.error
        if isinstance(message, Started) and self._time_limit_s is not None:
            if self._told is None:
                self._due = time.monotonic() + self._time_limit_s + _OVERRUN_S
        elif isinstance(message, Incumbent):
            self._values = message.values
        elif isinstance(message, Progress):
            self._bound = message.bound
            if self._progress is not None:
                self._progress(message)
        return None

    def _with_reason(self, answer: Answer) -> Answer:
        """Return an answer; one that we stopped was stopped for our reason."""
        if answer.limit is not Limit.INTERRUPT or self._told is None:
            return answer
        return replace(answer, limit=self._told)

    def _stopped(self, detail: str, limit: Limit | None = None) -> Answer:
        limit = limit or self._told
        return Answer(SolverClaim.STOPPED, limit, self._values, self._bound, detail)

    def _died(self, how: str) -> Answer:
        """Return the answer of a process that is gone."""
        if any(words in how for words in self._signs):
            return self._stopped(f"the solver ran out of memory, {how}", Limit.MEMORY)
        detail = f"the solver's process ended by {how}"
        return Answer(SolverClaim.FAILED, None, self._values, self._bound, detail)


@dataclass(frozen=True, eq=False)
class SolverJob:
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
class Raised:
    """The adapter raised an error."""

    error: BaseException


def serve(parent: ParentChannel) -> None:
    """Serve jobs until nobody is left who asks.

    `parent`: sends `SolverJob` and `Stop`; is sent `Started`, `Incumbent`, `Progress`,
    and then an `Answer` or `Raised`.
    """
    die_first()
    jobs: queue.SimpleQueue[tuple[SolverJob, Reporter]] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(jobs, parent), daemon=True).start()
    while True:
        job, reporter = jobs.get()
        try:
            limit = job.options.memory_limit_bytes
            if limit is not None:
                _warm_up(job)
                _hold_to(limit)
            parent.send(Started())
            parent.send(job.adapter.solve(job.form, job.options, reporter))
        except Exception as problem:  # noqa: BLE001  (told to the parent)
            parent.send(Raised(problem))


def _read(
    jobs: queue.SimpleQueue[tuple[SolverJob, Reporter]], parent: ParentChannel
) -> None:
    """Take messages from the parent until it goes away, and the process with it."""
    reporter: Reporter | None = None
    while True:
        try:
            message = parent.receive()
        except (EOFError, OSError, pickle.UnpicklingError):
            os._exit(0)
        except Exception as problem:  # noqa: BLE001  (an adapter we cannot import)
            parent.send(Raised(problem))
            continue
        if isinstance(message, SolverJob):
            reporter = Reporter(parent.send, maximise=message.form.maximise)
            jobs.put((message, reporter))
        elif reporter is not None:
            reporter.stop()


def _warm_up(job: SolverJob) -> None:
    """Have the solver's libraries loaded."""
    options = replace(job.options, memory_limit_bytes=None, log=False)
    reporter = Reporter(lambda _: None, maximise=False)
    job.adapter.solve(smallest_model(job.adapter), options, reporter)


def _hold_to(limit_bytes: int) -> None:
    """Allow this process so many bytes of address space beyond what it has (Linux)."""
    process = psutil.Process()
    _, hard = process.rlimit(psutil.RLIMIT_AS)
    total = process.memory_info().vms + limit_bytes
    if hard != psutil.RLIM_INFINITY:
        total = min(total, hard)
    process.rlimit(psutil.RLIMIT_AS, (total, hard))
