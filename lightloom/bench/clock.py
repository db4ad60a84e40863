"""The clock of a run: what happened when, told as it happens."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from lightloom.bench.events import Answered, Progressed, Started
from lightloom.bench.session import cpu_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.bench.events import Event
    from lightloom.bench.row import Point


class Clock:
    """Measures a run from here on, and tells how objective and bound go on.

    Parameters
    ----------
    tell
        Receives the events.
    """

    def __init__(self, tell: Callable[[Event], None]) -> None:
        self._tell = tell
        tell(Started())
        self._start = time.perf_counter()
        self._cpu_start = cpu_seconds()
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
        """Note an objective and a bound; what was told before is not told again."""
        if self.points and self.points[-1][1:] == (objective, bound):
            return
        self.points.append((self.elapsed_s(), objective, bound))
        self._tell(Progressed(self.points[-1]))

    def stop(self) -> None:
        """Note that the answer is there; verification is not timed."""
        self.solve_s = self.elapsed_s()
        self.cpu_s = cpu_seconds() - self._cpu_start
        self._tell(Answered())

    def first_answer_s(self) -> float | None:
        """Return when the first objective was told, ``None`` if none was."""
        return next((at for at, value, _ in self.points if value is not None), None)
