"""Solvers that misbehave, named in suites as ``tests.bench.faulty:NAME``."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from lightloom.problems import PROBLEMS, ProblemAnswer
from tests.hang_guard import HUNG_S

if TYPE_CHECKING:
    from lightloom.instances.instance import Instance

MARKER = "LIGHTLOOM_TEST_MARKER"
"""Environment variable that names a file: it is there once a worker was killed."""


def honest(instance: Instance, seed: int) -> ProblemAnswer:
    """Return our own answer."""
    solve = PROBLEMS["routing"].solve
    assert solve is not None
    return solve(instance, seed)


def tiny(instance: Instance, seed: int) -> ProblemAnswer:
    """Return something at once."""
    del instance
    return ProblemAnswer(seed + 1, 1, (), None)


def liar(instance: Instance, seed: int) -> ProblemAnswer:
    """Return our own schedule, and claim that it is better than it is."""
    answer = honest(instance, seed)
    value = answer.value - 1
    return ProblemAnswer(value, value, answer.detail, answer.schedule)


def braggart(instance: Instance, seed: int) -> ProblemAnswer:
    """Claim an answer that nobody can look into, better than is possible."""
    del instance, seed
    return ProblemAnswer(0, 0, (), None)


def abort(instance: Instance, seed: int) -> ProblemAnswer:
    """Die of a signal."""
    del instance, seed
    os.abort()


def segfault(instance: Instance, seed: int) -> ProblemAnswer:
    """Read where nothing is."""
    del instance, seed
    ctypes.string_at(0)
    raise AssertionError


def leave(instance: Instance, seed: int) -> ProblemAnswer:
    """End the process, with last words."""
    del instance, seed
    print("these are my last words", flush=True)  # noqa: T201
    os._exit(3)


def raises(instance: Instance, seed: int) -> ProblemAnswer:
    """Raise what nobody expects."""
    del instance, seed
    message = "nobody expects this"
    raise LookupError(message)


def hog(instance: Instance, seed: int) -> ProblemAnswer:
    """Take 600 MiB and keep it."""
    del instance, seed
    held = [bytearray(os.urandom(2**20)) * 600]
    time.sleep(HUNG_S)
    raise AssertionError(held)


def sleeper(instance: Instance, seed: int) -> ProblemAnswer:
    """Take all the time there is."""
    del instance, seed
    time.sleep(3600)
    raise AssertionError


def chatty(instance: Instance, seed: int) -> ProblemAnswer:
    """Print more than any pipe holds, then answer."""
    print("x" * 2**21)  # noqa: T201
    return tiny(instance, seed)


def parent(instance: Instance, seed: int) -> ProblemAnswer:
    """Leave a process behind, in a group of its own, and tell its number."""
    del instance, seed
    sleep = [sys.executable, "-c", f"import time; time.sleep({HUNG_S})"]
    child = subprocess.Popen(sleep, process_group=0)
    return ProblemAnswer(1, None, (str(child.pid),), None)


def kills_its_worker(instance: Instance, seed: int) -> ProblemAnswer:
    """Kill the worker that this run belongs to, every time."""
    del instance, seed
    _kill_worker()
    time.sleep(3600)
    raise AssertionError


def kills_a_worker_once(instance: Instance, seed: int) -> ProblemAnswer:
    """Kill the worker that this run belongs to, unless that was done already."""
    marker = Path(os.environ[MARKER])
    if seed == 0 and not marker.exists():
        marker.touch()
        return kills_its_worker(instance, seed)
    return tiny(instance, seed)


def _kill_worker() -> None:
    """Kill the parent of the fork server, which is our parent."""
    status = Path(f"/proc/{os.getppid()}/status").read_text(encoding="ascii")
    worker = next(line for line in status.splitlines() if line.startswith("PPid:"))
    os.kill(int(worker.split()[1]), signal.SIGKILL)
