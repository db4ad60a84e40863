"""The checker that a tutorial shows accepts what is right, and finds what is broken."""

from __future__ import annotations

import runpy
import sys
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from lightloom.formats.schedule_writer import write_schedule
from lightloom.testing.strategies import broken_schedules, schedules
from tests.documentation.blocks import blocks_of
from tests.documentation.reader import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.core.schedule import Schedule
    from lightloom.testing.strategies import BrokenSchedule

PAGE = ROOT / "docs" / "tutorials" / "believe-a-schedule.md"
UNSEEN = {"fabric", "footer-counts", "segment-order", "task"}
"""Rules about header, counts and order of segments, which the page leaves out."""
FEW = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],  # examples are small, and shrinking them takes minutes
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(name="program", scope="module")
def _program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the program of the page, which is as short as the page says."""
    (block,) = [block for block in blocks_of(PAGE) if block.file == "check.py"]
    lines = [line for line in block.text.splitlines()[1:] if line]
    assert len(lines) <= 60
    assert "lightloom" not in block.text
    path = tmp_path_factory.mktemp("checker") / "check.py"
    path.write_text(block.text, encoding="utf-8")
    return path


def answer(program: Path, schedule: Schedule) -> str:
    """Return what the program says of a schedule."""
    path = program.with_name("schedule.jsonl")
    write_schedule(schedule, path)
    with patch.object(sys, "argv", ["check.py", str(path)]):
        try:
            runpy.run_path(str(program))
        except SystemExit as end:
            return str(end.code)
        except (KeyError, TypeError) as error:  # the file lacks what a row names
            return f"wrong: {error}"
    return "right"


@FEW
@given(schedule=schedules(kinds=["lightpath"], names=["all-reduce"]))
def test_it_accepts_what_is_right(program: Path, schedule: Schedule) -> None:
    """Data and times agree with ours on random schedules."""
    said = answer(program, schedule)
    assert said == "right" or "no file for this program" in said


@FEW
@given(broken=broken_schedules(kinds=["lightpath"], names=["all-reduce"]))
def test_it_finds_what_is_broken(program: Path, broken: BrokenSchedule) -> None:
    """One change that breaks a rule is found."""
    if broken.rule not in UNSEEN:
        said = answer(program, broken.schedule)
        assert said.startswith("wrong: "), (broken.rule, said)
