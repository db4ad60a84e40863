"""The shipped JSON Schema: current, and true of real lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings

from lightloom.formats.schedule_records import SCHEMA_PATH, schedule_schema, schema_text
from lightloom.formats.schedule_writer import schedule_lines
from tests.formats.random_schedules import schedules

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule

DATA = Path(__file__).parent / "data"
VALIDATOR = jsonschema.Draft202012Validator(schedule_schema())


def test_the_shipped_schema_is_current() -> None:
    """`python -m lightloom.formats.schedule_records` was run after the last change."""
    assert SCHEMA_PATH.read_text() == schema_text()


def test_the_schema_is_one() -> None:
    """It meets the meta-schema of its draft."""
    jsonschema.Draft202012Validator.check_schema(schedule_schema())


@pytest.mark.parametrize(
    "path", sorted(DATA.glob("*.jsonl")), ids=lambda path: path.name
)
def test_the_fixtures_meet_the_schema(path: Path) -> None:
    """Every line of every checked-in file is valid."""
    for line in path.read_text().splitlines():
        VALIDATOR.validate(json.loads(line))


@settings(max_examples=50, deadline=None)
@given(schedules())
def test_written_lines_meet_the_schema(schedule: Schedule) -> None:
    """Whatever the writer writes is valid."""
    for line in schedule_lines(schedule):
        VALIDATOR.validate(json.loads(line))


@pytest.mark.parametrize(
    ("line", "change"),
    [
        (0, {"version": 3}),
        (0, {"task": {}}),
        (0, {"surplus": 1}),
        (1, {"src": "0"}),
        (2, {"bytes": 5}),
        (2, {"plane": ...}),
        (2, {"op": ...}),
        (2, {"op": "add"}),
        (2, {"index": -1}),
        (-1, {"sha256": "0"}),
        (-1, {"certificate": ...}),
    ],
)
def test_the_schema_refuses(line: int, change: dict[str, Any]) -> None:
    """What the reader refuses on one line, the schema refuses too."""
    lines = (DATA / "all-gather-2x2.v1.jsonl").read_text().splitlines()
    table = json.loads(lines[line]) | change
    table = {key: value for key, value in table.items() if value is not ...}
    assert not VALIDATOR.is_valid(table)
