"""The catalogue of instances as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.instances.collectives import COLLECTIVES
from lightloom.report.tables import Column, terminal_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.table import Table

    from lightloom.instances.instance import Instance

_COLUMNS = (
    Column("fabric"),
    Column("nodes", number=True),
    Column("operations"),
    Column("sizes"),
)
_MOST_SIZES = 4


def instance_table(instances: Iterable[Instance]) -> Table:
    """Return named instances, those of a fabric with the same sizes in one row.

    A name is ``FABRIC/OPERATION-SIZE`` of one row. Of many sizes the first two and the
    last are shown; all collectives together are named so.
    """
    collectives = set(COLLECTIVES)
    nodes: dict[str, int] = {}
    sizes: dict[tuple[str, str], list[str]] = {}
    for instance in instances:
        fabric, task = instance.name.split("/")
        op, size = task.rsplit("-", 1)
        nodes[fabric] = instance.fabric.node_count
        sizes.setdefault((fabric, op), []).append(size)
    ops: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (fabric, op), names in sizes.items():
        ops.setdefault((fabric, tuple(names)), []).append(op)
    rows = [
        (
            fabric,
            nodes[fabric],
            "every collective" if set(names) == collectives else " ".join(names),
            _sizes(of_size),
        )
        for (fabric, of_size), names in ops.items()
    ]
    return terminal_table(_COLUMNS, rows)


def _sizes(names: tuple[str, ...]) -> str:
    if len(names) <= _MOST_SIZES:
        return " ".join(names)
    first, second, *_, last = names
    return f"{first} {second} .. {last}"
