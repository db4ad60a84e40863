"""Isolation: a job in, a row out, and nothing that a run does reaches us."""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from lightloom.bench.machine import this_machine
from lightloom.bench.row import Ending, Finding
from lightloom.bench.watch import Report
from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from lightloom.bench.job import Job
    from lightloom.bench.row import Row

__all__ = ["run_isolated"]

_MAIN = "from lightloom.bench.fork_server import main; main()"
_ONE_THREAD = {
    f"{library}_NUM_THREADS": "1"
    for library in ("MKL", "NUMEXPR", "OMP", "OPENBLAS", "VECLIB_MAXIMUM")
}
_TRIES = 2
"""A nursery that somebody ended is replaced once."""
_TAIL = 400
"""Characters of a dead nursery's last words that are quoted."""
_local = threading.local()


def run_isolated(job: Job) -> Row:
    """Run a job in a process of its own and return its row; Linux only.

    Each thread keeps a nursery, which is started by its first job. Runs have one
    thread each.

    Raises
    ------
    InputError
        If this is not Linux.
    """
    if sys.platform != "linux":
        what, fix = "benchmarks isolate their runs by means of Linux", "run them there"
        raise InputError(what, found=sys.platform, fix=fix)
    started = datetime.now(UTC).isoformat(timespec="seconds")
    machine = this_machine()
    start = time.perf_counter()
    for _ in range(_TRIES):
        nursery = _nursery()
        report = nursery.run(job)
        if report is not None:
            break
        words = nursery.close()
    if report is None:
        detail = f"the process that starts runs ended, twice: ... {words}"
        report = Report(Finding(ending=Ending.CRASHED, detail=detail), None)
    return job.row(
        report.finding,
        peak_bytes=report.peak_bytes,
        wall_s=time.perf_counter() - start,
        started=started,
        machine=machine,
    )


class _Nursery:
    """A running `lightloom.bench.fork_server`."""

    def __init__(self) -> None:
        self._words = tempfile.TemporaryFile()  # noqa: SIM115  (closed with it)
        path = os.pathsep.join(filter(None, [str(Path.cwd()), *sys.path]))
        self._process = subprocess.Popen(  # noqa: S603  (our own module)
            [sys.executable, "-P", "-c", _MAIN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            env={**os.environ, **_ONE_THREAD, "PYTHONPATH": path},
            process_group=0,
        )

    def alive(self) -> bool:
        """Return whether it can take a job."""
        return self._process.poll() is None

    def run(self, job: Job) -> Report | None:
        """Return what became of a job; ``None`` if the nursery itself ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            pickle.dump(job, self._process.stdin)
            self._process.stdin.flush()
            report: Report = pickle.load(self._process.stdout)  # noqa: S301  (ours)
        except (OSError, EOFError, pickle.UnpicklingError):
            return None
        return report

    def close(self) -> str:
        """End it, and whatever it runs; return its last words."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        self._process.wait()
        self._words.seek(0)
        words = " ".join(self._words.read().decode(errors="replace").split())
        self._words.close()
        return words[-_TAIL:]


def _nursery() -> _Nursery:
    """Return the nursery of this thread, a new one where there is none alive."""
    kept: _Nursery | None = getattr(_local, "nursery", None)
    if kept is None or not kept.alive():
        kept = _local.nursery = _Nursery()
    return kept
