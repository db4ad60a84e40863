"""An instance: a fabric and a task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from lightloom.core.task import Collective

if TYPE_CHECKING:
    from lightloom.core.fabric import CircuitFabric, PacketFabric
    from lightloom.core.task import Demand, Task

AnyFabric: TypeAlias = "CircuitFabric | PacketFabric"


@dataclass(frozen=True)
class Instance:
    """A question lightloom can answer.

    Attributes
    ----------
    name
        Catalogue name, or the file it was read from.
    fabric
        The interconnect.
    task
        What has to be communicated on it.
    """

    name: str
    fabric: AnyFabric
    task: Task

    def table(self) -> dict[str, dict[str, object]]:
        """Return the instance as nested tables, every default filled in."""
        fabric: dict[str, object] = dict(self.fabric.table())
        return {"fabric": fabric, **task_table(self.task)}


def task_table(task: Collective | Demand) -> dict[str, dict[str, object]]:
    """Return ``{"collective": {...}}`` or ``{"demand": {...}}``, without nulls."""
    kind = "collective" if isinstance(task, Collective) else "demand"
    table = msgspec.to_builtins(task)
    return {
        kind: {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in table.items()
            if value is not None
        }
    }
