"""Sessions: all processes of one run, found, weighed and ended together (Linux).

A run is the leader of a session of its own. Whatever it starts is in that session
too, also where it has a process group of its own or has lost its parent.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import time
from pathlib import Path

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_SESSION_FIELD = 3
"""Place of the session among the fields of /proc/PID/stat after the command."""
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CPU_CLOCK = 2


def members(session: int) -> list[int]:
    """Return the processes of a session, sorted; dead ones not yet reaped left out."""
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208  (names alone, and often)
        if name.isdigit():
            fields = _stat(int(name))
            if fields and fields[0] != "Z" and int(fields[_SESSION_FIELD]) == session:
                found.append(int(name))
    return sorted(found)


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on; none if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def resident_bytes(pids: list[int]) -> int:
    """Return the memory that processes hold, each counted as if it were alone."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{pid}/statm").read_text(encoding="ascii")
            total += int(text.split()[1]) * _PAGE_BYTES
    return total


def kill(session: int) -> None:
    """End every process of a session, those that are just being born included.

    The leader, a child of this process, is ended too if it leads no session yet. It
    is left to be waited for.
    """
    doomed = [session, *members(session)]
    while doomed:
        for pid in doomed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)
        doomed = members(session)


def reap() -> None:
    """Take leave of all children that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def cpu_seconds() -> float:
    """Return the processor time of this session: this process and all it started.

    Of those that still run by their clocks, of those that ended once they were
    waited for. Nanoseconds.
    """
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = time.process_time() + ended.ru_utime + ended.ru_stime
    for pid in members(os.getsid(0)):
        if pid != os.getpid():
            with contextlib.suppress(OSError):
                # The clock of a process, as clock_getcpuclockid(3) makes it.
                spent += time.clock_gettime(~pid << 3 | _CPU_CLOCK)
    return spent


def adopt_orphans() -> None:
    """Become the parent of whatever the children of this process leave behind."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent() -> None:
    """Have the kernel end this process when the thread that forked it ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def die_first() -> None:
    """Ask the kernel to end this process first when memory runs out."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("900", encoding="ascii")


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
