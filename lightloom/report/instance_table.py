"""The catalogue of instances as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.task import Collective
from lightloom.core.training import Training
from lightloom.instances.collectives import COLLECTIVES
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.report.tables import Column, terminal_table
from lightloom.synth.ramp.schedules import most_ranks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.table import Table

    from lightloom.instances.instance import Instance

_COLUMNS = (
    Column("fabric"),
    Column("nodes", number=True),
    Column("operations"),
    Column("sizes"),
    Column("schedules"),
)
_MOST_SIZES = 4


def instance_table(instances: Iterable[Instance]) -> Table:
    """Return named instances, those of a fabric with the same sizes in one row.

    A name is ``FABRIC/OPERATION-SIZE`` of one row. Of many sizes the first two and the
    last are shown; all collectives together are named so. What is too large for a
    schedule file says what streams it instead.
    """
    collectives = set(COLLECTIVES)
    nodes: dict[str, int] = {}
    sizes: dict[tuple[str, str, str], list[str]] = {}
    for instance in instances:
        fabric, task = instance.name.split("/")
        op, size = task.rsplit("-", 1)
        nodes[fabric] = instance.fabric.node_count
        sizes.setdefault((fabric, op, _made_by(instance)), []).append(size)
    ops: dict[tuple[str, tuple[str, ...], str], list[str]] = {}
    for (fabric, op, made), names in sizes.items():
        ops.setdefault((fabric, tuple(names), made), []).append(op)
    rows = [
        (
            fabric,
            nodes[fabric],
            "every collective" if set(names) == collectives else " ".join(names),
            _sizes(of_size),
            made,
        )
        for (fabric, of_size, made), names in ops.items()
    ]
    return terminal_table(_COLUMNS, rows)


def _made_by(instance: Instance) -> str:
    """Return the command that takes an instance."""
    fabric, task = instance.fabric, instance.task
    if isinstance(fabric, Ramp) and isinstance(task, Collective):
        ranks = task.rank_count or fabric.node_count
        if ranks > most_ranks(fabric, task.op):
            return "too large: ramp check"
    return "train" if isinstance(task, Training) else "synth"


def _sizes(names: tuple[str, ...]) -> str:
    if len(names) <= _MOST_SIZES:
        return " ".join(names)
    first, second, *_, last = names
    return f"{first} {second} .. {last}"
