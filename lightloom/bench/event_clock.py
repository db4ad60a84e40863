"""The clock of a run: what happened when, told as it happens."""

from __future__ import annotations

import contextlib
import os
import resource
import time
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from lightloom.bench.results import Finding, Point
from lightloom.isolation.process_tree import descendants

if TYPE_CHECKING:
    from collections.abc import Callable

_CPU_CLOCK = 2


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
    """Measures a run from here on, and tells how objective and bound go on.

    Parameters
    ----------
    tell
        Receives the events.
    """

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
        """Note an objective and a bound; what was told before is not told again.

        Parameters
        ----------
        objective
            Objective of the best answer so far; ``None`` before the first one.
        bound
            Best proven bound so far; ``None`` before the first one.
        """
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
    for process in descendants(os.getpid()):
        with contextlib.suppress(OSError):
            # The clock of a process, as clock_getcpuclockid(3) makes it.
            spent += time.clock_gettime(~process.pid << 3 | _CPU_CLOCK)
    return spent
