"""What differs between two schedules."""

from __future__ import annotations

import io
import re

from rich.console import Console

from lightloom.replay.time_shares import PARTS
from lightloom.report.schedule_difference import difference_table, schedule_difference
from tests.programs.lowered import schedule_of
from tests.report.turns import in_turns

NAMES = (
    ("lightpath-8/all-reduce-64MiB", "ring"),
    ("lightpath-8/all-reduce-64MiB", "lumorph-2"),
)


def test_a_ring_and_halving() -> None:
    """Same data on the wire; a ring pays 14 fixed costs, halving and doubling six."""
    ring, halving = (schedule_of(*name) for name in NAMES[:2])
    found = schedule_difference(ring, halving)
    measures = {key: (a, b) for key, a, b in found.measures}
    assert measures["alpha_node_ps"] == (8 * 14 * 700_000, 8 * 6 * 700_000)
    assert measures["steps"] == (14, 6)
    assert ("algorithm", "ring", "lumorph-2") in found.settings
    assert not found.same
    assert found.like_steps == 0


def test_a_demand_in_turns_moves_data_nearly_all_the_time() -> None:
    """The parts of a node add up, and waiting is not what another one sends in."""
    one, other = in_turns(50_000_000), in_turns(40_000_000)
    found = schedule_difference(one, other)
    measures = {key: (a, b) for key, a, b in found.measures}
    for at in (0, 1):
        parts = {part: measures[f"{part}_node_ps"][at] for part in PARTS}
        whole = measures["nodes"][at] * measures["completion_time_ps"][at]
        assert sum(parts.values()) == whole
        assert parts["data"] > 0.8 * whole
        assert parts["reconfiguration"] < 0.1 * whole
    text = io.StringIO()
    Console(file=text, width=200).print(difference_table(found, ("a", "b")))
    (data,) = (
        line for line in text.getvalue().splitlines() if line.startswith("  data ")
    )
    assert data.endswith("-20.0 %")
    shown = re.findall(
        r"^  \w+ .*?([0-9]+) %.*?([0-9]+) %", text.getvalue(), re.MULTILINE
    )
    assert [sum(map(int, column)) for column in zip(*shown, strict=True)] == [100, 100]


def test_a_schedule_and_itself() -> None:
    """Nothing differs, and all steps and segments are alike."""
    schedule = schedule_of(*NAMES[0])
    found = schedule_difference(schedule, schedule)
    assert found.same
    assert (found.settings, found.like_steps, found.like_segments) == ((), 14, 1)


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
