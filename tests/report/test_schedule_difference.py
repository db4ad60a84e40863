"""What differs between two schedules."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from lightloom.replay import replay
from lightloom.replay.timeline import time_shares
from lightloom.report.schedule_difference import difference_table, schedule_difference
from lightloom.report.schedule_panels import paired_panels
from tests.programs.lowered import schedule_of

NAMES = (
    ("lightpath-8/all-reduce-64MiB", "ring"),
    ("lightpath-8/all-reduce-64MiB", "lumorph-2"),
    ("ideal-switch-8/all-to-all-1MiB", "direct"),
    ("sipac-16/all-to-all-1MiB", "auto"),
    ("ring-2d-16/all-reduce-1MiB", "auto"),
    ("torus-16/broadcast-1MiB", "auto"),
)


@pytest.mark.parametrize(("name", "algorithm"), NAMES)
def test_time_shares_add_up(name: str, algorithm: str) -> None:
    """To the completion time, to the picosecond; nothing is negative."""
    schedule = schedule_of(name, algorithm)
    timeline = replay(schedule)
    shares = time_shares(timeline, int(str(schedule.fabric["alpha_ps"])))
    assert sum(shares.record().values()) == timeline.completion_time_ps
    for each in (shares.waiting_ps, shares.fixed_ps, shares.data_ps):
        assert (each >= 0).all()
        assert len(each) == len(timeline.steps)


def test_a_ring_and_halving() -> None:
    """Same data on the wire; a ring pays 14 fixed costs, halving and doubling six."""
    ring, halving = (schedule_of(*name) for name in NAMES[:2])
    found = schedule_difference(ring, halving)
    measures = {key: (a, b) for key, a, b in found.measures}
    assert measures["fixed_ps"] == (14 * 700_000, 6 * 700_000)
    assert measures["steps"] == (14, 6)
    assert ("algorithm", "ring", "lumorph-2") in found.settings
    assert not found.same
    assert found.like_steps == 0


def test_a_schedule_and_itself() -> None:
    """Nothing differs, and all steps and segments are alike."""
    schedule = schedule_of(*NAMES[0])
    found = schedule_difference(schedule, schedule)
    assert found.same
    assert (found.settings, found.like_steps, found.like_segments) == ((), 14, 1)


def test_two_schedules_are_drawn_on_the_same_scales() -> None:
    """Two and two, named, time lines and bars with common ends."""
    both = (schedule_of(*NAMES[0]), schedule_of(*NAMES[1]))
    panels = paired_panels(both, ("a.jsonl", "b.jsonl"))
    assert len(panels) % 2 == 0
    for left, right in zip(panels[::2], panels[1::2], strict=True):
        assert left.title.startswith("a.jsonl: ")
        assert right.title.startswith("b.jsonl: ")
        assert (left.x_end, left.y_end) == (right.x_end, right.y_end)
    ends = [max(replay(one).steps[-1].end_ps for one in both) / 10**6]
    assert panels[0].x_end == pytest.approx(ends[0])


def test_settings_are_told_in_units() -> None:
    """Rates, times and sizes of a fabric read as people say them."""
    one, other = (
        schedule_of(f"{name}/all-gather-1MiB", "ring")
        for name in ("lightpath-16", "ring-16")
    )
    text = io.StringIO()
    table = difference_table(schedule_difference(one, other), ("a", "b"))
    Console(file=text, width=200).print(table)
    lines = (line.split() for line in text.getvalue().splitlines())
    rows = {words[0]: words[1:] for words in lines if words}
    rate = rows["fabric.bits_per_second_per_wavelength"]
    assert rate == ["150", "Gb/s", "25", "Gb/s"]
    assert rows["fabric.reconfiguration_ps"] == ["3.700", "us", "25.000", "us"]
