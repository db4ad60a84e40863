"""The task itself: a collective or a demand that the fabric can be asked."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.core.task import Collective
from lightloom.core.units import MOST_BYTES
from lightloom.core.violation import Violation
from lightloom.instances.collectives import check_collective, op_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.task import Demand, Task

MOST_CHUNKS = 2**62
"""Most chunk ids of a collective, so that they are exact in 64 bits."""


def check(task: Task, node_count: int) -> Iterator[Violation]:
    """Yield what is wrong with the task: rule ``task``."""
    if isinstance(task, Collective):
        try:
            check_collective(task, node_count)
        except (InputError, OverflowError) as problem:
            yield Violation("task", None, "collective", str(problem))
            return
        if task.chunks is None:
            message = "the collective of a schedule must say its chunks"
            yield Violation("task", None, "collective.chunks", message)
        elif op_of(task).chunk_total(task) > MOST_CHUNKS:
            message = "more than 2**62 chunks"
            yield Violation("task", None, "collective.chunks", message)
        return
    yield from _demand(task, node_count)


def _demand(demand: Demand, node_count: int) -> Iterator[Violation]:
    lengths = (len(demand.src), len(demand.dst), len(demand.bytes))
    if len(set(lengths)) != 1:
        message = f"the columns src, dst, bytes have lengths {lengths}"
        yield Violation("task", None, "demand", message)
        return
    pairs = list(zip(demand.src, demand.dst, strict=True))
    for row, (src, dst) in enumerate(pairs):
        where, size = f"demand row {row}", demand.bytes[row]
        if not (0 <= src < node_count and 0 <= dst < node_count):
            message = f"{src} -> {dst} leaves the fabric, nodes 0 to {node_count - 1}"
            yield Violation("task", None, where, message)
        if src == dst:
            yield Violation("task", None, where, f"node {src} asks for itself")
        if not 1 <= size <= MOST_BYTES:
            message = f"{size} bytes, allowed 1 to 2**60 - 1"
            yield Violation("task", None, where, message)
    for row, (before, pair) in enumerate(pairwise(pairs), start=1):
        if before >= pair:
            message = f"pair {pair} does not come after {before}: sorted and distinct"
            yield Violation("task", None, f"demand row {row}", message)
