"""Progress: silent for a second, then rare, and never on stdout."""

from __future__ import annotations

import pytest

from lightloom.cli.console import progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return a clock that stands until it is moved."""
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def test_progress_waits_a_second_and_then_is_rare(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing at first, one line after a second, the next ten seconds later."""
    with progress("work") as tell:
        tell("early")
        clock[0] += 1.5
        tell("late")
        tell("too soon")
        clock[0] += 10.0
        tell("last")
    said = capsys.readouterr()
    assert said.err.splitlines() == ["lightloom: work: late", "lightloom: work: last"]
    assert said.out == ""
