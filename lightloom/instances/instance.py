"""An instance: a fabric and a task."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from lightloom.core.errors import InputError
from lightloom.core.task import Collective, Demand, Workload
from lightloom.core.training import Training

if TYPE_CHECKING:
    from lightloom.core.fabric import CircuitFabric, PacketFabric
    from lightloom.core.task import Task

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
        What has to be communicated on it, placed on its nodes, or trained on them.
    requests
        The (src, dst) of a demand's rows as they were given, repeats and order
        included, for problems that route one path for each; ``None`` where the
        demand was not given in rows.
    """

    name: str
    fabric: AnyFabric
    task: Task | Workload | Training
    requests: tuple[tuple[int, int], ...] | None = field(default=None, compare=False)

    @property
    def communication(self) -> Task:
        """The task, where it is one that a schedule serves.

        Raises
        ------
        InputError
            If it is a workload or a training, which have to be placed before anything
            is sent.
        """
        if isinstance(self.task, Workload):
            what = "a workload is placed, not scheduled"
            fix = "use `lightloom solve --problem placement`"
            raise InputError(what, where=self.name, fix=fix)
        if isinstance(self.task, Training):
            what = "a model is cut and placed before anything is sent"
            allowed, fix = "a [collective] or a [demand]", "use `lightloom train`"
            raise InputError(what, where=self.name, allowed=allowed, fix=fix)
        return self.task

    def table(self) -> dict[str, dict[str, object]]:
        """Return the instance as nested tables, every default filled in."""
        fabric: dict[str, object] = dict(self.fabric.table())
        return {"fabric": fabric, **task_table(self.task)}


_TABLE_OF = {
    Collective: "collective",
    Demand: "demand",
    Training: "computation",
    Workload: "workload",
}


def task_table(task: Task | Workload | Training) -> dict[str, dict[str, object]]:
    """Return the task under the name of its table, without nulls."""
    table = msgspec.to_builtins(task)
    return {
        _TABLE_OF[type(task)]: {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in table.items()
            if value is not None
        }
    }
