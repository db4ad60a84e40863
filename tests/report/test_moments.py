"""Moments: every configuration of a schedule is in one, in order of time."""

from __future__ import annotations

import itertools

import pytest

from lightloom.replay import replay
from lightloom.report.moments import moment_rows, moments
from tests.programs.lowered import schedule_of
from tests.report.turns import in_turns

_NAMES = (
    "lightpath-16/all-reduce-1MiB",
    "ocs-16/all-reduce-1MiB",
    "ocs-8/groups-3MB",
    "sipac-16/hybrid-parallel-100MB",
    "torus-16/all-reduce-64KiB",
)


@pytest.mark.parametrize("times", [True, False])
@pytest.mark.parametrize("name", [*_NAMES, "ring-5", "ramp-8"])
def test_every_circuit_is_in_a_moment(name: str, *, times: bool) -> None:
    """Of a demand in several configurations too, with times or without."""
    schedule = schedule_of(name) if "/" in name else in_turns(50_000_000, name)
    parts = moments(schedule, replay(schedule) if times else None)
    shown = [segment for part in parts for segment in part.begins]
    assert sorted(shown) == list(range(len(schedule.segments)))
    assert {part.step for part in parts} == {part.index for part in schedule.parts}
    for before, after in itertools.pairwise(parts):
        assert before.start_ps < before.end_ps == after.start_ps


@pytest.mark.parametrize("name", ["ocs-8/groups-3MB", "ring-5"])
def test_pairs_send_on_what_is_held(name: str) -> None:
    """Each pair sends in a moment, and its plane holds its segment then."""
    schedule = schedule_of(name) if "/" in name else in_turns(50_000_000, name)
    pairs = replay(schedule).pairs
    held: dict[int, int] = {}
    seen: set[int] = set()
    for moment in moments(schedule, replay(schedule)):
        for at in moment.begins:
            held[schedule.segments[at].plane] = schedule.segments[at].index
        for row in moment_rows(pairs, moment).tolist():
            assert held[int(pairs.plane[row])] == pairs.segment[row]
            seen.add(row)
    assert seen == set(range(len(pairs)))
