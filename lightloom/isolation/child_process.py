"""Child processes: a fresh Python that answers messages and cannot break this one.

`multiprocessing` would run the main module of the program again in each child, which
a script without ``if __name__ == "__main__"`` does not survive, and refuses to start
children in daemons, which workers of Dask are; so the interpreter is started plainly.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
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

from lightloom.core.errors import NoAnswerError
from lightloom.isolation.process_tree import end_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_MAIN = "from lightloom.isolation.child_process import main; main({!r})"
_MOST_LAST_WORDS = 400
"""Characters of what a child wrote last that are quoted."""


@dataclass(frozen=True)
class Gone:
    """The child has ended: no more messages will come."""


@dataclass(frozen=True)
class Interrupted:
    """A person pressed Ctrl-C."""


class ChildProcess:
    """A Python process of its own that serves messages.

    `serve`: what it runs, as ``module:function``: takes a `ParentChannel`, and returns
    or ends when receiving from it says that this process is gone. `log`: whether what
    it writes to stdout and stderr goes to our stderr; otherwise the end of it is kept
    for `how_it_ended`. `environment`: variables to set for it.
    """

    def __init__(
        self,
        serve: str,
        *,
        log: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        path = os.pathsep.join(filter(None, sys.path))
        self._words = None if log else tempfile.TemporaryFile()  # noqa: SIM115
        self._popen = subprocess.Popen(  # noqa: S603  (our own module)
            [sys.executable, "-P", "-c", _MAIN.format(serve)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            env={**os.environ, **(environment or {}), "PYTHONPATH": path},
            **_own_group(),
        )
        self._messages: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self.killed = False
        """Whether `kill` was called."""

    def _listen(self) -> None:
        """Queue what the child says, then that it is gone."""
        assert self._popen.stdout is not None
        try:
            while True:
                self._messages.put(pickle.load(self._popen.stdout))  # noqa: S301
        except (EOFError, OSError, pickle.UnpicklingError):
            pass  # it ended, perhaps within a message
        except Exception:  # noqa: BLE001  (a message that cannot be read here)
            self._popen.kill()
        self._messages.put(Gone())

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._popen.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._popen.poll() is None

    def send(self, message: object) -> None:
        """Send a message; a child that is gone is noticed by `receive`."""
        assert self._popen.stdin is not None
        packed = pickle.dumps(message)
        with contextlib.suppress(OSError, ValueError):
            self._popen.stdin.write(packed)
            self._popen.stdin.flush()

    def receive(self, timeout_s: float | None = None) -> object:
        """Return the next message, `Gone` if the child has ended.

        `timeout_s`: longest time to wait; ``None``: until there is one.

        Raises `queue.Empty`: there was no message within the time.
        """
        return self._messages.get(timeout=timeout_s)

    @contextlib.contextmanager
    def interrupts_as_messages(self) -> Iterator[None]:
        """Have Ctrl-C give an `Interrupted` message in the block: none is lost.

        Only in the main thread, and where Ctrl-C would otherwise raise.
        """
        main = threading.current_thread() is threading.main_thread()
        if (
            not main
            or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        ):
            yield
            return
        signal.signal(signal.SIGINT, lambda *_: self._messages.put(Interrupted()))
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def how_it_ended(self) -> str:
        """Return signal or exit code and last words of a child that is gone."""
        code = self._popen.wait()
        how = (
            f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
        )
        if self._words is None:
            return how
        self._words.seek(0)
        words = " ".join(self._words.read().decode(errors="replace").split())
        return f"{how}: ... {words[-_MOST_LAST_WORDS:]}" if words else how

    def kill(self) -> None:
        """End the child with all it has started, and release everything."""
        self.killed = True
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        if self.running:
            end_tree(self.pid)
        with contextlib.suppress(OSError):
            self._popen.stdin.close()
        self._popen.wait()
        self._listener.join()
        self._popen.stdout.close()
        if self._words is not None:
            self._words.close()


def _own_group() -> dict[str, Any]:
    """Return what keeps a terminal's Ctrl-C from reaching a child."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"process_group": 0}


class IdleProcesses:
    """Children that wait for their next work, by name; ended when the program ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[tuple[int, str], list[ChildProcess]] = {}
        atexit.register(self.end)

    def take(self, name: str) -> ChildProcess | None:
        """Return a waiting child that still runs.

        `name`: as it was kept. Children of the process that this one was forked from
        are not ours.
        """
        while True:
            with self._lock:
                waiting = self._waiting.get((os.getpid(), name))
                child = waiting.pop() if waiting else None
            if child is None or child.running:
                return child
            child.kill()

    def keep(self, name: str, child: ChildProcess) -> None:
        """Keep a child for the next work under a name."""
        with self._lock:
            self._waiting.setdefault((os.getpid(), name), []).append(child)

    def end(self) -> None:
        """End all waiting children that are ours."""
        with self._lock:
            ours = [key for key in self._waiting if key[0] == os.getpid()]
            children = [child for key in ours for child in self._waiting.pop(key)]
        for child in children:
            child.kill()


idle_processes = IdleProcesses()
"""Those of this program."""


_AGAIN_S = 1.0
"""The alarm rings again after this: where it rang first, in a destructor for example,
Python may have had to ignore it."""


class TimeIsOverError(NoAnswerError):
    """The time limit was over before the work was done."""


@contextlib.contextmanager
def deadline(left_s: float | None, work: str) -> Iterator[None]:
    """Raise in the block as soon as its time is over.

    `left_s`: seconds for the block; no limit where ``None``. `work`: what the block
    does, for the message: ``building the model``.

    Raises `TimeIsOverError`: in the block, between two steps of Python code. Outside
    the main thread, and where there is no timer (Windows), at the end of the block.
    """
    if left_s is None:
        yield
        return
    over = TimeIsOverError(f"the time limit was over while {work}")
    if left_s <= 0:
        raise over
    due = time.monotonic() + left_s
    main = threading.current_thread() is threading.main_thread()
    armed = main and hasattr(signal, "setitimer")

    def ring(*_: object) -> None:
        if armed:
            raise over

    if not armed:
        yield
    else:
        before = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, left_s, _AGAIN_S)
        try:
            yield
        finally:
            armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    if time.monotonic() > due:
        raise over


class ParentChannel:
    """Messages from and to the process that started this one.

    What this process writes to stdout goes to stderr, so that nothing can come
    between messages; a terminal's Ctrl-C is ignored here.
    """

    def __init__(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._out = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        self._lock = threading.Lock()

    def fileno(self) -> int:
        """Return a file that is readable when there is a message or nobody is left."""
        return sys.stdin.fileno()

    def receive(self) -> object:
        """Return the next message.

        Raises `EOFError`: the process that started this one is gone.
        """
        return pickle.load(sys.stdin.buffer)  # noqa: S301  (who started us)

    def send(self, message: object) -> None:
        """Send a message, from any thread; where nobody is left, this process ends."""
        packed = pickle.dumps(message)
        with self._lock:
            try:
                self._out.write(packed)
                self._out.flush()
            except OSError:
                os._exit(1)


def main(serve: str) -> None:
    """Run a function with a `ParentChannel`."""
    channel = ParentChannel()
    module, _, function = serve.partition(":")
    getattr(importlib.import_module(module), function)(channel)
