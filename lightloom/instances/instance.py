"""An instance: a fabric and a task."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.outcome import Summarised
from lightloom.core.task import Collective, Demand, Workload
from lightloom.core.training import Training
from lightloom.core.units import MOST_BYTES
from lightloom.instances.collectives import check_collective

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


def check_demand_rows(
    src: Sequence[int],
    dst: Sequence[int],
    size_bytes: Sequence[int],
    node_count: int,
    where: str,
) -> None:
    """Raise if a row of a demand makes no sense on a fabric.

    `src`, `dst`, `size_bytes`: columns: row i asks for size_bytes[i] from src[i] to
    dst[i]; 0 bytes are nothing to do.

    Raises `InputError`: columns of different lengths, a node outside the fabric, a node
    sending to itself, a negative or absurd amount.
    """
    found = [len(src), len(dst), len(size_bytes)]
    if len(set(found)) > 1:
        raise InputError("columns differ in length", where=where, found=found)
    try:
        tail, head, size = (
            np.array(column, dtype=np.int64) for column in (src, dst, size_bytes)
        )
    except OverflowError:  # some integer is far too large: exact, and slow
        tail, head, size = (
            np.array(column, dtype=object) for column in (src, dst, size_bytes)
        )
    wrong = (tail < 0) | (tail >= node_count) | (head < 0) | (head >= node_count)
    wrong |= (tail == head) & (size != 0)
    wrong |= (size < 0) | (size > MOST_BYTES)
    for row in np.flatnonzero(wrong)[:1].tolist():
        _refuse(src[row], dst[row], size_bytes[row], node_count, f"{where} row {row}")


def _refuse(src: int, dst: int, size_bytes: int, node_count: int, where: str) -> None:
    """Raise what is wrong with a row."""
    for node in (src, dst):
        if not 0 <= node < node_count:
            what, allowed = "node outside the fabric", f"0 to {node_count - 1}"
            raise InputError(what, where=where, found=node, allowed=allowed)
    if src == dst and size_bytes:
        found = f"{src} to {dst}"
        raise InputError("a node sends to itself", where=where, found=found)
    allowed = "0 to 2**60 - 1"
    raise InputError(
        "bytes not allowed", where=where, found=size_bytes, allowed=allowed
    )
