"""Runs solvers in child processes, so that their crashes stay there.

Every solver runs in a process of its own: a crash, a kill or a lack of memory is an
answer; a time limit holds whatever the solver does; Ctrl-C reaches us and not the
solver; and libraries that cannot share a process need not. Processes that ended a
small job well are kept for the next: measured 0.4 s for the first, then under 5 ms.
"""

from __future__ import annotations

import queue
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.core.outcome import Limit
from lightloom.isolation.child_process import (
    ChildProcess,
    Gone,
    Interrupted,
    idle_processes,
)
from lightloom.solvers.adapter import Answer, SolverClaim
from lightloom.solvers.progress import Incumbent, Progress
from lightloom.solvers.worker import Raised, SolverJob, Started, Stop

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.columns import FloatArray
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
        "lightloom.solvers.worker:serve", log=options.log
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
