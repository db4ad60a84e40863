"""What a verdict says beyond single rules: keys of the fabric, and counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

import lightloom as ll


@pytest.fixture
def schedule() -> ll.Schedule:
    """Return a schedule that obeys every rule."""
    return ll.synthesise("lightpath-4/all-gather-1KiB", "direct").schedule


def test_a_fabric_says_every_key(schedule: ll.Schedule) -> None:
    """No time rests on a default of ours that the file does not state."""
    for key in schedule.fabric:
        table = {name: value for name, value in schedule.fabric.items() if name != key}
        verdict = ll.verify(replace(schedule, fabric=table))
        assert not verdict.valid
        assert {one.rule for one in verdict.violations} == {"fabric"}
        assert key in verdict.violations[0].message + verdict.violations[0].resource


def test_left_out_violations_are_counted() -> None:
    """Of 2,256 pairs without circuits 1,000 are listed, and all are counted."""
    matrix = [[int(src != dst) for dst in range(48)] for src in range(48)]
    instance = ll.Instance(
        ll.fabrics.IdealSwitch(nodes=48), ll.Demand.from_matrix(matrix)
    )
    made = ll.synthesise(instance).schedule
    verdict = ll.verify(replace(made, parts=()))
    served = verdict.counts["demand-bytes"]
    assert served == 48 * 47
    assert verdict.violation_count == sum(verdict.counts.values())
    listed = [one for one in verdict.violations if one.rule == "demand-bytes"]
    assert len(listed) == 1001
