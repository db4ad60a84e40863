"""Certificates: lower bounds with a witness that arithmetic alone can check."""

from __future__ import annotations

from enum import StrEnum

import msgspec


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
