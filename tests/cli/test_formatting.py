"""Counts, values and answers as the program says them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from lightloom.cli.console import answer_text, counted, value_text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 steps"), (1, "1 step"), (2, "2 steps"), (9999, "9,999 steps")],
)
def test_one_is_singular(count: int, text: str) -> None:
    """One step, else steps; thousands are separated."""
    assert counted(count, "step") == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1, "rounds", "1 round"),
        ("12", "rounds", "12 rounds"),
        ("1", "paths on the most loaded edge", "1 path on the most loaded edge"),
        (Fraction(1, 8), "circuits per byte", "1/8 circuits per byte"),
        ("11000000", "ps", "11.000 us"),
        (11000000.0, "ps", "11.000 us"),
    ],
)
def test_answers_have_their_unit(
    value: float | Fraction | str, unit: str, text: str
) -> None:
    """Times are in microseconds, ratios exact, a single one singular."""
    assert answer_text(value, unit) == text


def test_values_are_plain_numbers() -> None:
    """A solver's float is shown without noise."""
    assert value_text(4.0, "rounds") == "4"
    assert value_text(2, "rounds") == "2"
