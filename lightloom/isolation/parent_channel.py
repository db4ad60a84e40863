"""The child's side of a `ChildProcess`: its way to whoever started it."""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import signal
import sys
import threading


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
