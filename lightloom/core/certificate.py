"""Certificates: bounds with a witness that arithmetic alone can check."""

from __future__ import annotations

import math
from enum import StrEnum
from fractions import Fraction
from typing import TypeAlias

import msgspec

Number: TypeAlias = int | Fraction
"""An exact value."""
StoredNumber: TypeAlias = int | tuple[int, int]
"""An exact value as files hold it: a fraction by numerator and denominator."""
StoredWitness: TypeAlias = dict[str, int | str | list[int | list[int]]]
"""A witness as files hold it: numbers, words, and lists or rows of numbers."""


class CertificateStatus(StrEnum):
    """How good a schedule is known to be."""

    OPTIMAL = "optimal"
    """The bound equals the value, and the witness was checked."""
    GAP = "gap"
    """The bound is below the value, and the witness was checked."""
    NO_BOUND = "no bound"
    """The file carries no certificate."""
    REFUSED = "refused"
    """The witness does not prove the bound, or the value is not the schedule's."""


class Certificate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A lower bound on the completion time, with its witness.

    Attributes
    ----------
    kind
        Kind of argument, for example ``cut``; see ``docs/spec/certificates.md``.
    bound
        No schedule of this task on this fabric ends before, in picoseconds.
    value
        Completion time of the schedule that carries it, in picoseconds; ``None``
        where the bound stands by itself.
    witness
        What the argument is about: a node set (cut), a node (receive, send), ...
    """

    kind: str
    bound: int
    value: int | None = None
    witness: dict[str, int | list[int]] = msgspec.field(default_factory=dict)


class ObjectiveCertificate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A bound on something other than the completion time, with its witness.

    Attributes
    ----------
    objective
        What is bounded, for example ``rounds``; see ``docs/spec/certificates.md``.
    kind
        Kind of argument, for example ``edge-lengths``.
    bound
        No schedule does better: has less of it, or more where more is better.
    value
        What the schedule that carries it has; ``None`` where the bound stands by
        itself.
    witness
        What the argument is about.
    """

    objective: str
    kind: str
    bound: StoredNumber
    value: StoredNumber | None = None
    witness: StoredWitness = msgspec.field(default_factory=dict)


def stored(value: Number) -> StoredNumber:
    """Return an exact value as files hold it; a `Fraction` stays one."""
    if isinstance(value, int):
        return value
    return value.numerator, value.denominator


def exact(value: StoredNumber) -> Number | None:
    """Return what a file holds, ``None`` if it is no fraction in lowest terms."""
    if isinstance(value, int):
        return value
    top, bottom = value
    if bottom < 1 or math.gcd(top, bottom) != 1:
        return None
    return Fraction(top, bottom)
