"""Watching a run: its events, its memory, its time, and how it ended."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from lightloom.bench.event_clock import RunPhase
from lightloom.bench.result_row import Ending, Finding
from lightloom.isolation import process_tree

if TYPE_CHECKING:
    from lightloom.bench.event_clock import Event
    from lightloom.bench.isolated_job import IsolatedJob
    from lightloom.bench.result_row import Point
    from lightloom.isolation.child_process import ParentChannel
    from lightloom.isolation.forked_process import ForkedProcess

_SOON_S, _LATE_S = 0.002, 0.05
"""How often memory is looked at: often in young runs, less so later."""
_START_UP_S = 60.0
"""A run that has not begun by then is stuck."""
_VERIFY_S = 600.0
"""Verification is not in the time limit, but it ends too."""
_TAIL_BYTES = 400
"""How much of a dead run's last words is quoted."""


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
    run
        Its process.
    words
        What it writes to stdout and stderr.
    parent
        Where the report goes. If nobody is left there, the run is ended, and this
        process with it.
    """

    job: IsolatedJob
    run: ForkedProcess
    words: BinaryIO
    parent: ParentChannel
    _finding: Finding | None = None
    _trace: list[Point] = field(default_factory=list)
    _peak_bytes: int = 0
    _due: float = 0.0
    _phase: RunPhase = RunPhase.START_UP

    def report(self) -> Report:
        """Return what became of the run, when all its processes are gone."""
        self._due = time.monotonic() + _START_UP_S
        kills = _out_of_memory_kills()
        try:
            why = self._watch()
        finally:
            process_tree.end_descendants(os.getpid())
            code, peak_bytes = self.run.end()
        self._hear()
        self.run.messages.close()
        _reap()
        if self._finding is None:
            if why is None:
                why = self._died(code, memory=_out_of_memory_kills() > kills)
            self._finding = msgspec.structs.replace(why, trace=tuple(self._trace))
        return Report(self._finding, max(self._peak_bytes, peak_bytes))

    def _watch(self) -> Finding | None:
        """Wait until the run ends; return why it has to be ended, if it has."""
        limit, pause_s = self.job.memory_limit_bytes, _SOON_S
        parent = self.parent.fileno()
        while True:
            if parent in wait([self.run.messages, parent], pause_s):
                process_tree.end_descendants(os.getpid())
                os._exit(1)
            gone = not self._hear() or self.run.ended
            held = process_tree.resident_bytes(os.getpid())
            self._peak_bytes = max(self._peak_bytes, held)
            if self._finding is not None or gone:
                return None
            if limit is not None and held > limit:
                detail = f"held {held:,} bytes, allowed {limit:,}; killed"
                return Finding(ending=Ending.OUT_OF_MEMORY, detail=detail)
            if time.monotonic() > self._due:
                detail = f"killed during {self._phase}"
                return Finding(ending=Ending.TIMED_OUT, detail=detail)
            pause_s = min(_LATE_S, pause_s * 1.2)

    def _hear(self) -> bool:
        """Take in what has been told; return whether more may come."""
        try:
            while self.run.messages.poll():
                self._take(self.run.messages.recv())
        except (EOFError, OSError):
            return False
        return True

    def _take(self, event: Event) -> None:
        if isinstance(event, Finding):
            self._finding = event
        elif not isinstance(event, RunPhase):
            self._trace.append(event)
        else:
            self._phase = event
            limit_s = _VERIFY_S
            if event is RunPhase.SEARCH:
                limit_s = self.job.search_limit_s
            self._due = time.monotonic() + limit_s

    def _died(self, code: int, *, memory: bool) -> Finding:
        """Return the finding of a process that ended by itself."""
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        self.words.seek(0, os.SEEK_END)
        self.words.seek(max(0, self.words.tell() - _TAIL_BYTES))
        last = " ".join(self.words.read().decode(errors="replace").split())
        detail = f"{how} during {self._phase}" + (f": ... {last}" if last else "")
        if memory and code == -signal.SIGKILL:
            return Finding(ending=Ending.OUT_OF_MEMORY, detail=f"{detail}, by Linux")
        return Finding(ending=Ending.CRASHED, detail=detail)


def _reap() -> None:
    """Take leave of the orphans of a run."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _out_of_memory_kills() -> int:
    """Return how many processes Linux has ended for want of memory since it booted."""
    text = Path("/proc/vmstat").read_text(encoding="ascii")
    counts = (line.split() for line in text.splitlines())
    return next((int(count) for name, count in counts if name == "oom_kill"), 0)
