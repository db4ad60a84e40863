"""The algorithms, what they serve and their parameters, as a table."""

from __future__ import annotations

import types
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from lightloom.report.tables import Column, terminal_table
from lightloom.synth.algorithms import ALGORITHMS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.table import Table

    from lightloom.synth.algorithms import Entry

_COLUMNS = (
    Column("algorithm"),
    Column("summary"),
    Column("operations"),
    Column("parameters"),
)


@dataclass(frozen=True)
class Parameter:
    """A parameter of an algorithm: its name, default, and whether it is a list."""

    name: str
    default: object
    is_list: bool

    def text(self) -> str:
        """Return the parameter with its default, as ``--param`` takes it."""
        default = self.default
        if default in (None, msgspec.NODEFAULT, (), []):
            return f"{self.name}=..."
        if isinstance(default, list | tuple):
            return f"{self.name}={','.join(map(str, default))}"
        return f"{self.name}={default}"


@dataclass(frozen=True)
class AlgorithmRow:
    """An algorithm as the table lists it."""

    name: str
    summary: str
    ops: tuple[str, ...]
    parameters: tuple[str, ...]


def parameters_of(entry: Entry) -> tuple[Parameter, ...]:
    """Return the parameters of an algorithm with the defaults of its preset."""
    made: Any = entry.make
    return tuple(
        Parameter(
            field.encode_name,
            entry.preset.get(field.encode_name, field.default),
            is_list=_takes_list(field.type),
        )
        for field in msgspec.structs.fields(made)
    )


def algorithm_rows() -> list[AlgorithmRow]:
    """Return every algorithm for collectives, by name."""
    return [
        AlgorithmRow(
            entry.name,
            entry.summary,
            entry.ops,
            tuple(parameter.text() for parameter in parameters_of(entry)),
        )
        for entry in ALGORITHMS.values()
    ]


def algorithm_table(rows: Iterable[AlgorithmRow]) -> Table:
    """Return the algorithms as a terminal table."""
    cells = [
        (row.name, row.summary, " ".join(row.ops), " ".join(row.parameters) or None)
        for row in rows
    ]
    return terminal_table(_COLUMNS, cells)


def _takes_list(annotation: object) -> bool:
    """Return whether a type, or a member of a union or Annotated, is a sequence."""
    origin = typing.get_origin(annotation) or annotation
    if origin in (list, tuple):
        return True
    if origin in (types.UnionType, typing.Union, typing.Annotated):
        return any(map(_takes_list, typing.get_args(annotation)))
    return False
