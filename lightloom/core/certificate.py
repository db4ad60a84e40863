"""Certificates: bounds with a witness that arithmetic alone can check."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import TypeAlias

COMPLETION_TIME = "completion-time"
"""The objective that every schedule has: its completion time in picoseconds."""

Number: TypeAlias = int | Fraction
"""An exact value."""
Witness: TypeAlias = Mapping[str, int | str | Sequence[int | Sequence[int]]]
"""What an argument is about: numbers, words, and lists or rows of numbers, by name."""


class CertificateStatus(StrEnum):
    """How good a schedule is known to be."""

    OPTIMAL = "optimal"
    """The bound equals the value, and the witness was checked."""
    GAP = "gap"
    """The value is worse than the bound, and the witness was checked."""
    NO_BOUND = "no bound"
    """The file carries no certificate."""
    REFUSED = "refused"
    """The witness does not prove the bound, or the value is not the schedule's."""


@dataclass(frozen=True)
class Certificate:
    """A bound on what a schedule may have of an objective, with its witness.

    Attributes
    ----------
    objective
        What is bounded: `COMPLETION_TIME`, in picoseconds, or another objective of
        ``docs/spec/certificates.md``, for example ``rounds``.
    kind
        Kind of argument, for example ``cut``.
    bound
        No schedule does better: has less of the objective, or more where more is
        better.
    value
        What the schedule that carries it has; ``None`` where the bound stands by
        itself.
    witness
        What the argument is about: a node set (cut), a node (receive, send), ...
    """

    objective: str
    kind: str
    bound: Number
    value: Number | None = None
    witness: Witness = field(default_factory=dict)


def stored(value: Number) -> int | tuple[int, int]:
    """Return an exact value as files and JSON hold it.

    Parameters
    ----------
    value
        Of any sign.

    Returns
    -------
    An integer as it is, a `Fraction` as numerator and denominator in lowest terms.
    """
    if isinstance(value, int):
        return value
    return value.numerator, value.denominator


def gap(value: float | Fraction | None, bound: float | Fraction | None) -> float | None:
    """Return how far a value is from a bound, relative to the bound.

    ``value / bound - 1`` where less is better, ``1 - value / bound`` where more is.

    Parameters
    ----------
    value
        What an answer has of an objective; ``None`` without an answer.
    bound
        What no answer can beat, in the same unit; ``None`` or infinite without one.

    Returns
    -------
    A fraction, 0 or more; ``None`` without value or bound, and where only the bound
    is 0.

    Examples
    --------
    >>> gap(125, 100)
    0.25
    >>> gap(0, 0)
    0.0
    """
    if value is None or bound is None or not math.isfinite(bound):
        return None
    if value == bound:
        return 0.0
    return float(abs(Fraction(value) / Fraction(bound) - 1)) if bound else None
