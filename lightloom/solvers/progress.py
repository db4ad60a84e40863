"""What a solver reports while it runs, and how it is told to stop."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.certificate import gap

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.columns import FloatArray


_INTERVAL_S = 0.2
"""Progress is not told more often than this."""


@dataclass(frozen=True)
class Progress:
    """How far a solver has come.

    `objective`: value of the best point so far, or ``None``. `bound`: best bound so
    far, or ``None``. `wall_s`: seconds since the solver started.
    """

    objective: float | None
    bound: float | None
    wall_s: float

    @property
    def gap(self) -> float | None:
        """See `lightloom.core.certificate.gap`."""
        return gap(self.objective, self.bound)


@dataclass(frozen=True, eq=False)
class Incumbent:
    """A point better than all before it: the values of all columns."""

    values: FloatArray


class Reporter:
    """Takes what a solver has to tell, and tells it when to stop.

    `send`: receives `Incumbent` (every better point) and `Progress` (at most five times
    a second). `maximise`: whether a larger objective is better.
    """

    def __init__(
        self, send: Callable[[Incumbent | Progress], None], *, maximise: bool
    ) -> None:
        self._send = send
        self._sign = -1.0 if maximise else 1.0
        self._best: float | None = None
        self._bound: float | None = None
        self._start = time.monotonic()
        self._due = self._start
        self._stop = threading.Event()
        self._on_stop: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    @property
    def stopped(self) -> bool:
        """Whether the solver should stop now."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Tell the solver to stop; from any thread."""
        with self._lock:
            self._stop.set()
            calls, self._on_stop = self._on_stop, []
        for call in calls:
            call()

    def on_stop(self, call: Callable[[], object]) -> None:
        """Have `call` called once, when the solver is told to stop."""
        with self._lock:
            if not self.stopped:
                self._on_stop.append(call)
                return
        call()

    def improves(self, objective: float) -> bool:
        """Return whether a point of this objective is better than all before."""
        return self._best is None or self._sign * (objective - self._best) < 0

    def incumbent(self, values: FloatArray, objective: float) -> None:
        """Tell of a point; one that is not better than all before is passed over."""
        if not self.improves(objective):
            return
        self._best = float(objective)
        self._send(Incumbent(np.array(values, dtype=np.float64)))
        self.progress()

    def progress(self, bound: float | None = None) -> None:
        """Tell of a bound, if any is known and it is time to tell again.

        `bound`: on the objective; ``None`` where there is no new one.
        """
        if bound is not None and abs(bound) < 1e20:
            self._bound = float(bound)
        now = time.monotonic()
        if now < self._due or (self._best is None and self._bound is None):
            return
        self._due = now + _INTERVAL_S
        self._send(Progress(self._best, self._bound, now - self._start))
