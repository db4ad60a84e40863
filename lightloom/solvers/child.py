"""Solvers run in child processes: what breaks there does not break us.

Every solver runs in a process of its own, always: a crash, a kill or a lack of memory
is an answer; a time limit holds whatever the solver does; Ctrl-C reaches us and not
the solver; and libraries that cannot share a process need not. Processes that ended a
small job well are kept for the next: measured 0.4 s for the first, then under 5 ms.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lightloom.core.errors import InputError
from lightloom.core.outcome import Limit
from lightloom.solvers.adapter import Answer, Verdict
from lightloom.solvers.progress import Incumbent, Progress
from lightloom.solvers.worker import Broken, Done, Job, Started, Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.solvers.adapter import Adapter
    from lightloom.solvers.options import SolveOptions
    from lightloom.solvers.standard_form import FloatArray, StandardForm

_MAIN = "from lightloom.solvers.worker import main; main()"
_OVERRUN_S = 1.0
"""A solver is told to stop this long after its time limit ..."""
_GRACE_S = 2.0
"""... and killed if it has not stopped this much later."""
_SMALL = 500_000
"""Entries of a model whose process is kept: a larger one leaves memory behind."""
_TAIL = 400
"""Characters of a dead solver's last words that are quoted."""
_WITHOUT_MEMORY = ("SIGABRT", "SIGBUS", "SIGSEGV")
"""How solvers end that do not look whether they were given memory; read so only under
a memory limit."""
_OUT_OF_MEMORY = ("bad_alloc", "out of memory", "MemoryError", "insufficient memory")


@dataclass(frozen=True)
class _Interrupt:
    """A person pressed Ctrl-C."""


class _Process:
    """A running ``lightloom.solvers.worker``."""

    def __init__(self, *, log: bool) -> None:
        self._words = None if log else tempfile.TemporaryFile()  # noqa: SIM115
        self._popen = subprocess.Popen(  # noqa: S603  (our own module)
            [sys.executable, "-P", "-c", _MAIN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            **_own_group(),
        )
        self._messages: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        """Queue what the child says, and ``None`` when it is gone."""
        assert self._popen.stdout is not None
        while True:
            try:
                message = pickle.load(self._popen.stdout)  # noqa: S301  (our child)
            except Exception:  # noqa: BLE001  (cut off in the middle of a message)
                self._messages.put(None)
                return
            self._messages.put(message)

    def send(self, message: object) -> None:
        """Send a message; a child that is gone is noticed by `receive`."""
        assert self._popen.stdin is not None
        with contextlib.suppress(OSError):
            pickle.dump(message, self._popen.stdin)
            self._popen.stdin.flush()

    def receive(self, timeout_s: float | None) -> Any:  # noqa: ANN401
        """Return the next message, ``None`` if the child is gone.

        Raises
        ------
        queue.Empty
            Nothing was said within the time.
        """
        return self._messages.get(timeout=timeout_s)

    def interrupt(self) -> None:
        """Have `receive` return an `_Interrupt` after what was said so far."""
        self._messages.put(_Interrupt())

    def alive(self) -> bool:
        """Return whether the child still runs."""
        return self._popen.poll() is None

    def kill(self) -> None:
        """End the child at once, and release everything."""
        self._popen.kill()
        self.close()

    def close(self) -> None:
        """Have the child end, and release everything."""
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        with contextlib.suppress(OSError):
            self._popen.stdin.close()
        self._popen.wait()
        self._listener.join()
        self._popen.stdout.close()
        if self._words is not None:
            self._words.close()

    def autopsy(self) -> str:
        """Return how the child ended and its last words; call when it is gone."""
        code = self._popen.wait()
        how = f"exit code {code}"
        if code < 0:
            how = f"signal {signal.Signals(-code).name}"
        if self._words is None:
            return how
        self._words.seek(0)
        words = " ".join(self._words.read().decode(errors="replace").split())
        return f"{how}: ... {words[-_TAIL:]}" if words else how


@contextlib.contextmanager
def _interrupts(process: _Process) -> Iterator[None]:
    """Have Ctrl-C queue a message, where it would raise: no message is lost."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: process.interrupt())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _own_group() -> dict[str, Any]:
    """Return what keeps a terminal's Ctrl-C from reaching the child."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"process_group": 0}


class _Idle:
    """Processes that wait for their next job, by adapter."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[tuple[int, str], _Process] = {}

    def take(self, name: str) -> _Process | None:
        """Return a waiting process of this adapter that is still alive."""
        with self._lock:
            process = self._waiting.pop((os.getpid(), name), None)
        if process is not None and not process.alive():
            process.close()
            return None
        return process

    def keep(self, name: str, process: _Process) -> None:
        """Keep a process for the next job, or end it if one waits already."""
        with self._lock:
            spare = self._waiting.setdefault((os.getpid(), name), process)
        if spare is not process:
            process.close()

    def end(self) -> None:
        """End all waiting processes that are ours."""
        with self._lock:
            ours = [key for key in self._waiting if key[0] == os.getpid()]
            processes = [self._waiting.pop(key) for key in ours]
        for process in processes:
            process.kill()


_idle = _Idle()
atexit.register(_idle.end)


def solve_in_child(
    adapter: Adapter,
    form: StandardForm,
    options: SolveOptions,
    progress: Callable[[Progress], None] | None = None,
) -> Answer:
    """Run a solver on a model in a process of its own.

    Parameters
    ----------
    adapter
        The solver.
    form
        The model.
    options
        Limits, seed and threads.
    progress
        Told of better points and bounds, in this thread.

    Returns
    -------
    The solver's answer. A process that ended without one is ``FAILED``, or stopped by
    memory where that is what it said; its last point is kept.

    Raises
    ------
    InputError
        A memory limit where there is no way to hold a process to it.
    Exception
        Whatever the adapter raised.

    Notes
    -----
    A first Ctrl-C tells the solver to stop, a second one kills it.
    """
    if options.memory_limit_bytes is not None and sys.platform != "linux":
        what, fix = "memory limits need Linux", "leave the memory limit out"
        raise InputError(what, where="options.memory_limit_bytes", fix=fix)
    reusable = not options.log and options.memory_limit_bytes is None
    process = (_idle.take(adapter.name) if reusable else None) or _Process(
        log=options.log
    )
    watch = _Watch(process, options, progress)
    finished = False
    try:
        with _interrupts(process):
            process.send(Job(adapter, form, options))
            answer = watch.answer()
        finished = watch.orderly
    finally:
        if finished and reusable and form.nonzeros < _SMALL:
            _idle.keep(adapter.name, process)
        else:
            process.kill()
    return answer


class _Watch:
    """Listens to a process until it answers, is killed, or dies."""

    def __init__(
        self,
        process: _Process,
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
                if not isinstance(message, _Interrupt):
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
        if message is None:
            return self._died(self._process.autopsy())
        if isinstance(message, Done):
            self.orderly = True
            return self._with_reason(message.answer)
        if isinstance(message, Broken):
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
        return Answer(
            answer.verdict, self._told, answer.values, answer.bound, answer.detail
        )

    def _stopped(self, detail: str, limit: Limit | None = None) -> Answer:
        limit = limit or self._told
        return Answer(Verdict.STOPPED, limit, self._values, self._bound, detail)

    def _died(self, how: str) -> Answer:
        """Return the answer of a process that is gone."""
        if any(words in how for words in self._signs):
            return self._stopped(f"the solver ran out of memory, {how}", Limit.MEMORY)
        detail = f"the solver's process ended by {how}"
        return Answer(Verdict.FAILED, None, self._values, self._bound, detail)
