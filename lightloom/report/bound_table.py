"""Lower bounds as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.units import format_ps
from lightloom.report.tables import Column, terminal_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from lightloom.core.certificate import Certificate

_COLUMNS = (Column("kind"), Column("bound", number=True), Column("witness"))
_SHOWN = 8


def bound_table(certificates: Sequence[Certificate]) -> Table:
    """Return bounds with their witnesses, in the given order."""
    rows = [
        (certificate.kind, format_ps(certificate.bound), _witness(certificate))
        for certificate in certificates
    ]
    return terminal_table(_COLUMNS, rows)


def _witness(certificate: Certificate) -> str:
    return ", ".join(
        f"{key} {_short(value)}" for key, value in certificate.witness.items()
    )


def _short(value: int | list[int]) -> str:
    """Return a value, a long list by its first members and its length."""
    if isinstance(value, int) or len(value) <= _SHOWN:
        return str(value)
    first = ", ".join(map(str, value[:_SHOWN]))
    return f"[{first}, ...] ({len(value)})"
