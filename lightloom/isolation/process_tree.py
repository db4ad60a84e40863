"""Process trees: the descendants of a process, found, weighed and ended together."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from pathlib import Path

import psutil

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PAUSE_S = 0.001


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
