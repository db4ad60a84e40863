"""Values as people say them: counts with their nouns, answers with their units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.units import format_ps

if TYPE_CHECKING:
    from fractions import Fraction

_PICOSECONDS = "ps"


def counted(count: int, noun: str) -> str:
    """Return a count and its noun, which takes an s where it is not one."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def value_text(value: float | Fraction | str, unit: str) -> str:
    """Return a value of a problem's unit: times in microseconds, numbers plain.

    `value`: a number, or the text of an exact one. `unit`: the problem's unit, in the
    plural.
    """
    if unit == _PICOSECONDS:
        return format_ps(round(float(value)))
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def answer_text(value: float | Fraction | str, unit: str) -> str:
    """Return a value with its unit, for example ``1 round`` or ``11.000 us``.

    `value`: a number, or the text of an exact one. `unit`: the problem's unit, in the
    plural, for example ``rounds``; ``ps`` for times.
    """
    text = value_text(value, unit)
    if unit == _PICOSECONDS:
        return text
    noun, *rest = unit.split(" ")
    if text == "1":
        noun = noun.removesuffix("s")
    return " ".join([text, noun, *rest])
