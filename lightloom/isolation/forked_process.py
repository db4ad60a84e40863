"""Forked processes: they start in milliseconds with all that this process holds."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import warnings
from multiprocessing import Pipe
from typing import TYPE_CHECKING, NoReturn

from lightloom.isolation import process_tree

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection


class ForkedProcess:
    """A fork of this process, alone in a session (not on Windows).

    Its stdin is empty; it ends with `work`, exit code 0, or 1 where that raised.

    `work`: what it does, with a connection to `messages`. `output`: descriptor of the
    file that its stdout and stderr go to.
    """

    def __init__(self, work: Callable[[Connection], None], output: int = 2) -> None:
        self.messages, theirs = Pipe()
        """Connection to the process: its end of file is the end of the process."""
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            # Idle threads of numerical libraries: they have handlers for forks.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if not self.pid:
            self.messages.close()
            _live(work, theirs, output)
        theirs.close()

    @property
    def ended(self) -> bool:
        """Whether it has ended; its exit code is kept for `end` (Linux)."""
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.pid, options) is not None

    def end(self) -> tuple[int, int]:
        """End it with all it has started. What it said before can still be received.

        Returns its exit code, or the negative number of the signal that ended it; and
        the most memory that it held, in bytes.
        """
        process_tree.end_tree(self.pid)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # those that it has left behind
        _, status, usage = os.wait4(self.pid, 0)
        unit_bytes = 1 if sys.platform == "darwin" else 1024
        return os.waitstatus_to_exitcode(status), usage.ru_maxrss * unit_bytes


def _live(
    work: Callable[[Connection], None],
    connection: Connection,
    output: int,
) -> NoReturn:
    """Be the process."""
    code = 1
    try:
        os.setsid()
        process_tree.adopt_orphans()
        with open(os.devnull, "rb") as nothing:  # noqa: PTH123
            os.dup2(nothing.fileno(), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        work(connection)
        sys.stdout.flush()
        code = 0
    finally:
        os._exit(code)
