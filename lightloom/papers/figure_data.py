"""The data behind a figure: rows under named columns, looked up by their values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Value: TypeAlias = int | float | str | None
Row: TypeAlias = tuple[Value, ...]
Tell: TypeAlias = "Callable[[str], None]"
"""Told in a few words what is being computed."""


@dataclass(frozen=True)
class Data:
    """Rows under named columns, and the settings they were computed with."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    given: Mapping[str, Any] = field(default_factory=dict)

    def where(self, **wanted: Value) -> Data:
        """Return the rows that have the wanted values."""
        places = [(self.columns.index(name), value) for name, value in wanted.items()]
        kept = [
            row for row in self.rows if all(row[at] == value for at, value in places)
        ]
        return replace(self, rows=tuple(kept))

    def without(self, column: str, value: Value) -> Data:
        """Return the rows that have another value in a column."""
        place = self.columns.index(column)
        kept = [row for row in self.rows if row[place] != value]
        return replace(self, rows=tuple(kept))

    def values(self, column: str) -> list[Value]:
        """Return what stands in a column, row by row."""
        place = self.columns.index(column)
        return [row[place] for row in self.rows]

    def numbers(self, column: str, **wanted: Value) -> list[float]:
        """Return the numbers of a column, without those that are missing."""
        found = self.where(**wanted).values(column)
        return [value for value in found if isinstance(value, int | float)]

    def number(self, column: str, **wanted: Value) -> float:
        """Return the number of a column in the only row that has the wanted values."""
        (only,) = self.numbers(column, **wanted)
        return only

    def sizes(self, column: str) -> list[float]:
        """Return the different numbers of a column, in order of appearance."""
        return list(dict.fromkeys(self.numbers(column)))

    def names(self, column: str) -> list[str]:
        """Return the different texts of a column, in order of appearance."""
        found = dict.fromkeys(self.values(column))
        return [value for value in found if isinstance(value, str)]

    def curve(self, x: str, y: str, **wanted: Value) -> dict[float, float]:
        """Return the numbers of a column by those of another, where both are there."""
        kept = self.where(**wanted)
        return {
            at: value
            for at, value in zip(kept.values(x), kept.values(y), strict=True)
            if isinstance(at, int | float) and isinstance(value, int | float)
        }
