"""Reporters pass on every better point, and nothing too often."""

from __future__ import annotations

import numpy as np
import pytest

from lightloom.solvers import Progress
from lightloom.solvers.progress import Incumbent, Reporter


@pytest.mark.parametrize("maximise", [False, True])
def test_only_better_points(*, maximise: bool) -> None:
    """A point that is not better than all before is passed over."""
    told: list[Incumbent | Progress] = []
    reporter = Reporter(told.append, maximise=maximise)
    sign = -1 if maximise else 1
    for objective in (5, 6, 3, 3, 4, 2):
        reporter.incumbent(np.array([objective]), sign * objective)
    points = [item.values[0] for item in told if isinstance(item, Incumbent)]
    assert points == [5, 3, 2]


def test_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand bounds at once are told once; the next is told a second later."""
    now = [0.0]
    monkeypatch.setattr("lightloom.solvers.progress.time.monotonic", lambda: now[0])
    told: list[Incumbent | Progress] = []
    reporter = Reporter(told.append, maximise=False)
    for bound in range(1000):
        reporter.progress(bound)
    assert len(told) == 1
    now[0] += 1.0
    reporter.progress(1000)
    assert len(told) == 2


def test_infinite_bounds_are_none() -> None:
    """A solver's word for no bound is not told as one."""
    told: list[Incumbent | Progress] = []
    reporter = Reporter(told.append, maximise=False)
    reporter.progress(-1e30)
    reporter.progress(float("-inf"))
    assert told == []
    reporter.incumbent(np.zeros(1), 4.0)
    assert told[-1].bound is None


def test_stop_calls_once() -> None:
    """Whoever asked is called once, also when the stop came before."""
    reporter = Reporter(lambda _: None, maximise=False)
    calls: list[str] = []
    reporter.on_stop(lambda: calls.append("early"))
    assert not reporter.stopped
    reporter.stop()
    reporter.stop()
    reporter.on_stop(lambda: calls.append("late"))
    assert reporter.stopped
    assert calls == ["early", "late"]


@pytest.mark.parametrize(
    ("objective", "bound", "gap"),
    [
        (5, 4, 0.25),
        (3, 4, 0.25),
        (-4, -5, 0.2),
        (0, 0, 0),
        (0, 1, 1),
        (1, 0, None),
        (None, 1, None),
        (1, float("-inf"), None),
    ],
)
def test_gap(objective: float | None, bound: float | None, gap: float | None) -> None:
    """The gap is relative to the bound, and unknown without both."""
    assert Progress(objective, bound, 0.0).gap == gap
