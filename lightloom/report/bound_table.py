"""Bounds as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.certificate import Certificate, exact
from lightloom.core.units import format_ps
from lightloom.report.tables import Column, terminal_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from lightloom.core.certificate import ObjectiveCertificate

_COLUMNS = (Column("kind"), Column("bound", number=True), Column("witness"))
_SHOWN = 8


def bound_table(
    certificates: Sequence[Certificate] | Sequence[ObjectiveCertificate],
    unit: str = "",
) -> Table:
    """Return bounds with their witnesses, in the given order.

    `unit` is that of an objective; picoseconds are shown as other times are.
    """
    rows = [
        (certificate.kind, _bound(certificate, unit), _witness(certificate.witness))
        for certificate in certificates
    ]
    return terminal_table(_COLUMNS, rows)


def _bound(certificate: Certificate | ObjectiveCertificate, unit: str) -> str:
    """Return a bound: a time with its unit, else a number."""
    if isinstance(certificate, Certificate):
        return format_ps(certificate.bound)
    bound = exact(certificate.bound)
    if unit == "ps" and isinstance(bound, int):
        return format_ps(bound)
    return str(bound)


def _witness(witness: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {_short(value)}" for key, value in witness.items())


def _short(value: object) -> str:
    """Return a value, a long list by its first members and its length."""
    if not isinstance(value, list) or len(value) <= _SHOWN:
        return str(value)
    first = ", ".join(map(str, value[:_SHOWN]))
    return f"[{first}, ...] ({len(value)})"
