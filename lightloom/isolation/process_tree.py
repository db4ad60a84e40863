"""Process trees: forks of this process, and descendants, found and ended together."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
import warnings
from multiprocessing import Pipe
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection


_PR_SET_PDEATHSIG = 1
"""Of prctl(2)."""
_PR_SET_CHILD_SUBREAPER = 36
"""Of prctl(2)."""
_PAUSE_S = 0.001
"""Seconds between two looks at processes that are being killed."""


def descendants(pid: int) -> list[psutil.Process]:
    """Return the descendants of a process that have not ended.

    `pid`: the process. What its descendants leave behind is found too if it has called
    `adopt_orphans`.
    """
    found = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for process in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
    return found


def resident_bytes(pid: int) -> int:
    """Return the memory that the descendants of a process hold together.

    `pid`: the process. Memory that several share counts for each.
    """
    total = 0
    for process in descendants(pid):
        with contextlib.suppress(psutil.Error):
            total += process.memory_info().rss
    return total


def end_descendants(pid: int) -> None:
    """End all descendants of a process, also those that are being started."""
    while living := descendants(pid):
        for process in living:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        time.sleep(_PAUSE_S)


def end_tree(pid: int) -> None:
    """End a process and all its descendants."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        process.suspend()  # it starts no more, and adopts what its children leave
        end_descendants(pid)
        process.kill()


def adopt_orphans() -> None:
    """Become the parent of what the children of this process leave behind (Linux)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent() -> None:
    """Have the kernel end this process when its parent ends (Linux)."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def die_first() -> None:
    """Ask the kernel to end this process first when memory runs out (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("900", encoding="ascii")


def _prctl(option: int, value: int) -> None:
    """Call prctl(2) where there is one."""
    if os.path.exists("/proc/self"):  # noqa: PTH110
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


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
        end_tree(self.pid)
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
        adopt_orphans()
        with open(os.devnull, "rb") as nothing:  # noqa: PTH123
            os.dup2(nothing.fileno(), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        work(connection)
        sys.stdout.flush()
        code = 0
    finally:
        os._exit(code)
