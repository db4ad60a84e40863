"""Isolation: a job in, a row out, and nothing that a run does reaches us."""

from __future__ import annotations

import sys
import time
from concurrent.futures import CancelledError
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lightloom.bench.results import Ending, Finding, Measured, this_machine
from lightloom.bench.run_monitor import Report
from lightloom.core.errors import InputError
from lightloom.isolation.child_process import ChildProcess, idle_processes

if TYPE_CHECKING:
    from lightloom.bench.isolated_job import IsolatedJob
    from lightloom.bench.results import Row

_SERVER = "lightloom.bench.fork_server:serve"
_ONE_THREAD = {
    f"{library}_NUM_THREADS": "1"
    for library in ("MKL", "NUMEXPR", "OMP", "OPENBLAS", "VECLIB_MAXIMUM")
}
_TRIES = 2
"""A fork server that somebody ended is replaced once."""
_busy: set[ChildProcess] = set()
"""Fork servers that have a run."""


def run_isolated(job: IsolatedJob) -> Row:
    """Run a job in a process of its own and return its row; Linux only.

    From any thread. Fork servers are kept for the next jobs; runs have one thread
    each.

    Raises
    ------
    InputError
        If this is not Linux.
    CancelledError
        `end_runs` was called meanwhile.
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
