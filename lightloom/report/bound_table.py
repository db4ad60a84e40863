"""Bounds as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.units import format_ps
from lightloom.report.tables import Column, terminal_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from lightloom.core.certificate import Certificate, Number

_COLUMNS = (Column("kind"), Column("bound", number=True), Column("witness"))
_SHOWN = 8
_FEW_KEYS = 3


def bound_table(certificates: Sequence[Certificate], unit: str) -> Table:
    """Return bounds with their witnesses, in the given order.

    Parameters
    ----------
    certificates
        Of one objective.
    unit
        That of the objective; whole picoseconds (``ps``) are shown as other times are.
    """
    rows = [
        (one.kind, _bound(one.bound, unit), _witness(one.witness))
        for one in certificates
    ]
    return terminal_table(_COLUMNS, rows)


def _bound(bound: Number, unit: str) -> str:
    """Return a bound: a time with its unit, else a number."""
    return format_ps(bound) if unit == "ps" and isinstance(bound, int) else str(bound)


def _witness(witness: Mapping[str, object]) -> str:
    """Return a witness, of one with many keys how long the lists are."""
    if len(witness) > _FEW_KEYS:
        lists = {
            key: value for key, value in witness.items() if isinstance(value, list)
        }
        return ", ".join(f"{key} ({len(value)})" for key, value in lists.items())
    return ", ".join(f"{key} {_short(value)}" for key, value in witness.items())


def _short(value: object) -> str:
    """Return a value, a long list by its first members and its length."""
    if not isinstance(value, list) or len(value) <= _SHOWN:
        return str(value)
    first = ", ".join(map(str, value[:_SHOWN]))
    return f"[{first}, ...] ({len(value)})"
