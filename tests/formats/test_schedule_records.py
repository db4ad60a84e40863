"""Certificates in files: numbers keep their form, and every place is one's own."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lightloom.core.certificate import COMPLETION_TIME, Certificate, stored
from lightloom.core.errors import FormatError, InputError
from lightloom.formats.schedule_reader import read_schedule, read_schedule_stream
from lightloom.formats.schedule_records import exact
from lightloom.formats.schedule_writer import schedule_lines

if TYPE_CHECKING:
    from lightloom.core.schedule import SealedSchedule

PAIR = Path(__file__).parent / "data" / "all-reduce-pair.v2.jsonl"


def claiming(**fields: object) -> SealedSchedule:
    """Return the pair, read with fields of its objective's certificate changed."""
    *lines, last = PAIR.read_bytes().splitlines(keepends=True)
    footer = json.loads(last)
    footer["objectives"][0].update(fields)
    footer["sha256"] = sha256(b"".join(lines)).hexdigest()
    data = b"".join([*lines, json.dumps(footer).encode() + b"\n"])
    return read_schedule_stream(BytesIO(data), "pair")


@pytest.mark.parametrize("value", [0, 7, Fraction(2), Fraction(3, 7)])
def test_numbers_survive_storage(value: int | Fraction) -> None:
    """Whole numbers stay whole, fractions stay fractions."""
    assert exact(stored(value), "here") == value
    assert type(exact(stored(value), "here")) is type(value)


@pytest.mark.parametrize("value", [(2, 4), (1, 0), (1, -2), (0, 3)])
def test_fractions_have_one_form(value: tuple[int, int]) -> None:
    """Not in lowest terms, or of nothing: no number."""
    with pytest.raises(FormatError, match="here: invalid fraction"):
        exact(value, "here")


@pytest.mark.parametrize(
    ("key", "value"),
    [("bound", [2, 2000]), ("bound", [1, 0]), ("value", [2, 2000])],
)
def test_other_fractions_are_refused_by_their_place(key: str, value: object) -> None:
    """A file that holds one is damaged, and the message says where."""
    with pytest.raises(FormatError, match=rf"footer: objectives\[0\].{key}"):
        claiming(**{key: value})


def test_the_completion_time_has_a_place_of_its_own() -> None:
    """It is no entry of the list of other objectives."""
    assert claiming().footer.certificates[0].objective == "rounds"
    with pytest.raises(FormatError, match="state its bound under certificate"):
        claiming(objective=COMPLETION_TIME)


def test_one_certificate_of_the_completion_time_can_be_written() -> None:
    """Two have no place in a file, so none is lost in silence."""
    schedule = read_schedule(PAIR)
    claim = Certificate(COMPLETION_TIME, "volume", 1)
    footer = replace(schedule.footer, certificates=(claim, claim))
    with pytest.raises(InputError, match="a second certificate"):
        list(schedule_lines(replace(schedule, footer=footer)))
