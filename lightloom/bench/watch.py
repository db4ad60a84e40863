"""Watching a run: its events, its memory, its time, and how it ended."""

from __future__ import annotations

import os
import pickle
import select
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from lightloom.bench import session
from lightloom.bench.events import Answered, Found, Progressed, Started
from lightloom.bench.participants import COMPLETION_TIME, OWN, is_callable
from lightloom.bench.row import Ending, Finding

if TYPE_CHECKING:
    from lightloom.bench.job import Job
    from lightloom.bench.row import Point

__all__ = ["Report", "Watch"]

_SOON_S, _LATE_S = 0.002, 0.05
"""How often memory is looked at: often in young runs, less so later."""
_START_UP_S = 60.0
"""A run that has not begun by then is stuck."""
_GRACE_S = 8.0
"""A solver is told its time limit, and given this much more to stop by itself."""
_VERIFY_S = 600.0
"""Verification is not in the time limit, but it ends too."""
_TAIL_BYTES = 400
"""How much of a dead run's last words is quoted."""
_READ_BYTES = 2**16


@dataclass(frozen=True)
class Report:
    """What became of a run.

    Attributes
    ----------
    finding
        What it found, or how it ended.
    peak_bytes
        Most memory that its processes held together, ``None`` where nobody looked.
    """

    finding: Finding
    peak_bytes: int | None


@dataclass
class Watch:
    """Watches a run that was just forked.

    Parameters
    ----------
    job
        What it is doing.
    pid
        Its process: leader of a session, or about to be.
    events
        Where it tells its events; closed here.
    words
        What it writes to stdout and stderr.
    """

    job: Job
    pid: int
    events: int
    words: BinaryIO
    _finding: Finding | None = None
    _trace: list[Point] = field(default_factory=list)
    _heard: bytes = b""
    _peak_bytes: int = 0
    _due: float = 0.0
    _phase: str = "start-up"

    def report(self, alarm: int) -> Report:
        """Return what became of the run, when all its processes are gone.

        Parameters
        ----------
        alarm
            A file that becomes readable when nobody waits for the report any more:
            the run is then ended, and this process with it.
        """
        self._due = time.monotonic() + _START_UP_S
        kills = _out_of_memory_kills()
        handle = os.pidfd_open(self.pid)
        try:
            why = self._watch(handle, alarm)
        finally:
            session.kill(self.pid)
        _, status, usage = os.wait4(self.pid, 0)
        self._hear()
        os.close(handle)
        os.close(self.events)
        session.reap()
        peak_bytes = max(self._peak_bytes, usage.ru_maxrss * 1024)
        if self._finding is None:
            if why is None:
                why = self._died(status, memory=_out_of_memory_kills() > kills)
            self._finding = msgspec.structs.replace(why, trace=tuple(self._trace))
        return Report(self._finding, peak_bytes)

    def _watch(self, handle: int, alarm: int) -> Finding | None:
        """Wait until the run ends; return why it has to be ended, if it has."""
        limit, pause_s = self.job.memory_limit_bytes, _SOON_S
        while True:
            ready, _, _ = select.select([self.events, handle, alarm], [], [], pause_s)
            if alarm in ready:
                session.kill(self.pid)
                os._exit(1)
            if self.events in ready:
                self._hear()
            held = session.resident_bytes(session.members(self.pid))
            self._peak_bytes = max(self._peak_bytes, held)
            if self._finding is not None or handle in ready:
                return None
            if limit is not None and held > limit:
                detail = f"held {held:,} bytes, allowed {limit:,}; killed"
                return Finding(ending=Ending.OUT_OF_MEMORY, detail=detail)
            if time.monotonic() > self._due:
                detail = f"killed during {self._phase}"
                return Finding(ending=Ending.TIMED_OUT, detail=detail)
            pause_s = min(_LATE_S, pause_s * 1.2)

    def _hear(self) -> None:
        """Take in the events that have been told, as far as they are complete."""
        while select.select([self.events], [], [], 0)[0]:
            told = os.read(self.events, _READ_BYTES)
            if not told:
                break
            self._heard += told
        while len(self._heard) >= 8:
            end = 8 + int.from_bytes(self._heard[:8], "big")
            if len(self._heard) < end:
                return
            event = pickle.loads(self._heard[8:end])  # noqa: S301  (our own child)
            self._heard = self._heard[end:]
            self._take(event)

    def _take(self, event: object) -> None:
        if isinstance(event, Started):
            told = self.job.solver != OWN and not is_callable(self.job.solver)
            grace_s = _GRACE_S if told and self.job.problem != COMPLETION_TIME else 0.0
            self._due = time.monotonic() + self.job.time_limit_s + grace_s
            self._phase = "the search"
        elif isinstance(event, Progressed):
            self._trace.append(event.point)
        elif isinstance(event, Answered):
            self._due = time.monotonic() + _VERIFY_S
            self._phase = "verification"
        elif isinstance(event, Found):
            self._finding = event.finding

    def _died(self, status: int, *, memory: bool) -> Finding:
        """Return the finding of a process that ended by itself."""
        code = os.waitstatus_to_exitcode(status)
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        self.words.seek(0, os.SEEK_END)
        self.words.seek(max(0, self.words.tell() - _TAIL_BYTES))
        last = " ".join(self.words.read().decode(errors="replace").split())
        detail = f"{how} during {self._phase}" + (f": ... {last}" if last else "")
        if memory and code == -signal.SIGKILL:
            return Finding(ending=Ending.OUT_OF_MEMORY, detail=f"{detail}, by Linux")
        return Finding(ending=Ending.CRASHED, detail=detail)


def _out_of_memory_kills() -> int:
    """Return how many processes Linux has ended for want of memory since it booted."""
    text = Path("/proc/vmstat").read_text(encoding="ascii")
    counts = (line.split() for line in text.splitlines())
    return next((int(count) for name, count in counts if name == "oom_kill"), 0)
