"""Isolation: a job in, a row out, and nothing that a run does reaches us.

A fork server is a process with everything imported, that forks one for each run. It is
sent jobs and sends a `Report` for each. A run's process starts in milliseconds, and
what happens to it happens to it alone. The server itself computes nothing: it watches,
and ends a run with all its processes when that is due, or when whoever started the
server goes away.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pkgutil
import resource
import signal
import sys
import tempfile
import time
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeAlias, cast

import msgspec

from lightloom.bench.results import Ending, Finding, Measured, Point, this_machine
from lightloom.core.errors import InfeasibleError, InputError, NoAnswerError
from lightloom.isolation import process_tree
from lightloom.isolation.child_process import ChildProcess, idle_processes

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from lightloom.bench.results import Row
    from lightloom.isolation.child_process import ParentChannel


_SERVER = "lightloom.bench.isolation:serve"
_ONE_THREAD = {
    f"{library}_NUM_THREADS": "1"
    for library in ("MKL", "NUMEXPR", "OMP", "OPENBLAS", "VECLIB_MAXIMUM")
}
_TRIES = 2
"""A fork server that somebody ended is replaced once."""
_busy: set[ChildProcess] = set()
"""Fork servers that have a run."""
_ROOMS = ("instances", "models", "replay", "solvers", "synth", "validate")
_LIBRARIES = (
    "lightloom.bench.job",
    "networkx",
    "scipy.optimize",
    "scipy.sparse.csgraph",
    "scipy.stats",
)
"""What rooms and their libraries import where they use it."""
_SOON_S, _LATE_S = 0.002, 0.05
"""How often memory is looked at: often in young runs, less so later."""
_START_UP_S = 60.0
"""A run that has not begun by then is stuck."""
_VERIFY_S = 600.0
"""Verification is not in the time limit, but it ends too."""
_TAIL_BYTES = 400
"""How much of a dead run's last words is quoted."""
_CPU_CLOCK = 2
"""Of clock_getcpuclockid(3)."""


def run_isolated(job: IsolatedJob) -> Row:
    """Run a job in a process of its own and return its row; Linux only.

    From any thread. Fork servers are kept for the next jobs; runs have one thread
    each.

    Raises `InputError` if this is not Linux; `CancelledError`: `end_runs` was called
    meanwhile.
    """
    if sys.platform != "linux":
        what, fix = "benchmarks isolate their runs by means of Linux", "run them there"
        raise InputError(what, found=sys.platform, fix=fix)
    started = datetime.now(UTC).isoformat(timespec="seconds")
    machine = this_machine()
    start = time.perf_counter()
    report = _reported(job)
    wall_s = time.perf_counter() - start
    measured = Measured(report.peak_bytes, wall_s, started, machine)
    return job.row(report.finding, measured)


def _reported(job: IsolatedJob) -> Report:
    """Return what a fork server says of a job."""
    how = ""
    for _ in range(_TRIES):
        server = idle_processes.take(_SERVER)
        server = server or ChildProcess(_SERVER, environment=_ONE_THREAD)
        _busy.add(server)
        server.send(job)
        report = server.receive()
        _busy.discard(server)
        if isinstance(report, Report):
            idle_processes.keep(_SERVER, server)
            return report
        if server.killed:
            raise CancelledError
        how = server.how_it_ended()
        server.kill()
    detail = f"the process that starts runs ended, twice: {how}"
    return Report(Finding(ending=Ending.CRASHED, detail=detail), None)


def end_runs() -> None:
    """End all runs that go on, and their fork servers."""
    while _busy:
        _busy.pop().kill()


class IsolatedJob(Protocol):
    """Work for a process of its own, which can be pickled; read only.

    `lightloom.bench.job.BenchJob` is one.
    """

    @property
    def key(self) -> str:
        """The hash of what decides the outcome."""

    @property
    def memory_limit_bytes(self) -> int | None:
        """Memory at which the run is ended."""

    @property
    def search_limit_s(self) -> float:
        """Seconds after which the run is ended, without start-up and verification."""

    def find(self, tell: Callable[[Event], None]) -> Finding:
        """Do the work; what it raises becomes a finding.

        Parameters
        ----------
        tell
            Receives events: the start, the trace as it grows, the answer.
        """

    def row(self, finding: Finding, measured: Measured) -> Row:
        """Return the row of this job.

        Parameters
        ----------
        finding
            What came of it.
        measured
            How the run went.
        """


class RunPhase(StrEnum):
    """What a run is at; told when it begins."""

    START_UP = "start-up"
    """What is not timed."""
    SEARCH = "the search"
    """The time of the run."""
    VERIFICATION = "verification"
    """The answer is there."""


Event: TypeAlias = RunPhase | Point | Finding
"""What a run tells: a phase, progress of objective or bound, at last what it found."""


class EventClock:
    """Measures a run from here on, and tells how objective and bound go on."""

    def __init__(self, tell: Callable[[Event], None]) -> None:
        self._tell = tell
        tell(RunPhase.SEARCH)
        self._start = time.perf_counter()
        self._cpu_start = _cpu_seconds()
        self.points: list[Point] = []
        self.build_s: float | None = None
        self.solve_s = 0.0
        self.cpu_s = 0.0

    def elapsed_s(self) -> float:
        """Return the seconds since the start."""
        return time.perf_counter() - self._start

    def built(self) -> None:
        """Note that the model is stated."""
        self.build_s = self.elapsed_s()

    def progress(self, objective: float | None, bound: float | None) -> None:
        """Note the best objective and bound so far; told again only if they change."""
        if self.points and self.points[-1][1:] == (objective, bound):
            return
        self.points.append((self.elapsed_s(), objective, bound))
        self._tell(self.points[-1])

    def stop(self) -> None:
        """Note that the answer is there; verification is not timed."""
        self.solve_s = self.elapsed_s()
        self.cpu_s = _cpu_seconds() - self._cpu_start
        self._tell(RunPhase.VERIFICATION)

    def since_stop_s(self) -> float:
        """Return the seconds since the answer was there."""
        return self.elapsed_s() - self.solve_s

    def first_answer_s(self) -> float | None:
        """Return when the first objective was told, ``None`` if none was."""
        return next((at for at, value, _ in self.points if value is not None), None)


def _cpu_seconds() -> float:
    """Return the processor time of this process and its descendants.

    Of those that still run by their clocks, of those that ended once they were
    waited for. Nanoseconds.
    """
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = time.process_time() + ended.ru_utime + ended.ru_stime
    for process in process_tree.descendants(os.getpid()):
        with contextlib.suppress(OSError):
            # The clock of a process, as clock_getcpuclockid(3) makes it.
            spent += time.clock_gettime(~process.pid << 3 | _CPU_CLOCK)
    return spent


@dataclass(frozen=True)
class Report:
    """What became of a run; `peak_bytes` is ``None`` where nobody looked."""

    finding: Finding
    peak_bytes: int | None


def serve(parent: ParentChannel) -> None:
    """Serve jobs until nobody is left who asks."""
    sys.path.insert(0, os.getcwd())  # noqa: PTH109  (sys.path has strings)
    process_tree.adopt_orphans()
    _preload()
    while True:
        try:
            job = cast("IsolatedJob", parent.receive())
        except EOFError:
            return
        with tempfile.TemporaryFile() as words:
            run = process_tree.ForkedProcess(partial(_live, job), words.fileno())
            parent.send(_Watch(job, run, words, parent).report())


def _live(job: IsolatedJob, told: Connection) -> None:
    """Be the run."""
    process_tree.end_with_parent()
    process_tree.die_first()
    told.send(execute(job, told.send))


def execute(job: IsolatedJob, tell: Callable[[Event], None]) -> Finding:
    """Return what a job finds; whatever it raises is a finding too."""
    try:
        return job.find(tell)
    except InfeasibleError as problem:
        return Finding(ending=Ending.INFEASIBLE, detail=str(problem))
    except NoAnswerError as problem:
        return Finding(ending=Ending.NO_ANSWER, detail=str(problem))
    except InputError as problem:
        return Finding(ending=Ending.REFUSED, detail=str(problem))
    except MemoryError:
        return Finding(ending=Ending.OUT_OF_MEMORY, detail="memory was refused")
    except Exception as problem:  # noqa: BLE001  (a row, whatever it is)
        detail = f"{type(problem).__name__}: {problem}"
        return Finding(ending=Ending.FAILED, detail=" ".join(detail.split()))


def _preload() -> None:
    """Import what runs need; the collector leaves it alone, so that it stays shared.

    What cannot be imported, for want of an optional package, is left to its users.
    """
    for room in _ROOMS:
        package = importlib.import_module(f"lightloom.{room}")
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            with contextlib.suppress(ImportError):
                importlib.import_module(info.name)
    for name in _LIBRARIES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


@dataclass
class _Watch:
    """Watches a run that was just forked.

    `words`: what it writes to stdout and stderr. `parent`: where the report goes. If
    nobody is left there, the run is ended, and this process with it.
    """

    job: IsolatedJob
    run: process_tree.ForkedProcess
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
