"""An instance: a fabric and a task."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from lightloom.core.errors import InputError
from lightloom.core.summary import Summarised
from lightloom.core.task import Collective, Demand, Workload
from lightloom.core.training import Training
from lightloom.instances.collectives import check_collective
from lightloom.instances.demand_rows import check_demand_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.core.fabric import CircuitFabric, PacketFabric
    from lightloom.core.task import Task

AnyFabric: TypeAlias = "CircuitFabric | PacketFabric"


@dataclass(frozen=True, repr=False)
class Instance(Summarised):
    """A question lightloom can answer.

    `fabric`: the interconnect, for example a record of `lightloom.fabrics`. `task`:
    what has to be communicated on it, placed on its nodes, or trained on them. A
    collective without nodes is one of all nodes of the fabric. `name`: catalogue name,
    or the file it was read from; derived from fabric and task where it is ''.
    `requests`: the (src, dst) of a demand's rows as they were given, repeats and order
    included, for problems that route one path for each; ``None`` where the demand was
    not given in rows.

    Raises `InputError` if the task does not fit the fabric: an unknown collective,
    nodes outside the fabric, repeated or none, amounts that are not positive or do not
    divide.
    """

    fabric: AnyFabric
    task: Task | Workload | Training
    name: str = ""
    requests: tuple[tuple[int, int], ...] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not hasattr(self.fabric, "node_count"):
            allowed = "a record of lightloom.fabrics"
            raise InputError(
                "not a fabric", where="Instance", found=self.fabric, allowed=allowed
            )
        if type(self.task) not in _TABLE_OF:
            allowed = ", ".join(record.__name__ for record in _TABLE_OF)
            raise InputError(
                "not a task", where="Instance", found=self.task, allowed=allowed
            )
        count, task = self.fabric.node_count, self.task
        if isinstance(task, Collective) and not task.nodes:
            task = msgspec.structs.replace(task, nodes=tuple(range(count)))
            object.__setattr__(self, "task", task)
        if not self.name:
            object.__setattr__(self, "name", _derived_name(self.fabric, task))
        if isinstance(task, Collective):
            check_collective(task, count, f"{self.name}: collective")
        elif isinstance(task, Demand):
            where = f"{self.name}: demand"
            check_demand_rows(task.src, task.dst, task.bytes, count, where)

    def facts(self) -> Mapping[str, object]:
        """Return its name, its fabric, and what is asked."""
        [(kind, table)] = task_table(self.task).items()
        return {
            "name": self.name,
            "fabric": self.fabric.kind,
            "nodes": self.fabric.node_count,
            "task": table.get("op") if kind == "collective" else kind,
        }

    @property
    def communication(self) -> Task:
        """The task, where it is one that a schedule serves.

        Raises `InputError` if it is a workload or a training, which have to be placed
        before anything is sent.
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


def _derived_name(fabric: AnyFabric, task: Task | Workload | Training) -> str:
    """Return a name as those of the catalogue: ``FABRIC-NODES/TASK-SIZE``."""
    if isinstance(task, Collective):
        asked = f"{task.op}-{task.buffer_bytes}B"
    elif isinstance(task, Demand):
        asked = f"demand-{sum(task.bytes)}B"
    elif isinstance(task, Training):
        asked = f"{task.model or task.onnx}-batch{task.batch_size}"
    else:
        asked = f"workload-{len(task.op)}"
    return f"{fabric.kind}-{fabric.node_count}/{asked}"


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
