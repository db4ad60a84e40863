"""The graph of a workload, as the algorithms that place it walk through it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.instances.workload_table import check_workload

if TYPE_CHECKING:
    from lightloom.core.task import Workload

_MOST_PS = 2**60
_KEPT = 128
"""Graphs that are kept: placements, estimates and bounds ask for the same ones."""


@dataclass(frozen=True, eq=False)
class WorkloadGraph:
    """A workload with neighbours and longest paths at hand.

    `parents`, `children`: whom each operation hears from, and who hears from it,
    sorted, none twice. `order`: operations in a topological order: levels of the graph,
    rows within them. `level`: most edges on a path that leads to an operation.
    `head_ps`, `tail_ps`: longest path that leads to an operation, and from it, without
    the operation.
    """

    workload: Workload
    parents: tuple[tuple[int, ...], ...]
    children: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    level: tuple[int, ...]
    head_ps: tuple[int, ...]
    tail_ps: tuple[int, ...]

    @property
    def unlimited(self) -> bool:
        """Whether any two devices may talk."""
        return self.workload.distance >= self.workload.devices - 1


@lru_cache(maxsize=_KEPT)
def op_graph(workload: Workload) -> WorkloadGraph:
    """Return the graph of a workload.

    Raises `InputError`: nothing to place, no device, a negative time, memory or
    distance, columns that do not fit each other, durations that add up to 2**60 ps or
    more, or edges that go round in a cycle, which is printed.
    """
    check_workload(workload, "workload")
    if sum(workload.duration_ps) >= _MOST_PS:
        what, fix = "durations add up to 2**60 ps or more", "count in coarser units"
        raise InputError(what, where="workload.duration_ps", fix=fix)
    ops = range(len(workload.op))
    above: list[set[int]] = [set() for _ in ops]
    below: list[set[int]] = [set() for _ in ops]
    for src, dst in zip(workload.src, workload.dst, strict=True):
        above[dst].add(src)
        below[src].add(dst)
    parents = tuple(tuple(sorted(some)) for some in above)
    order = tuple(TopologicalSorter(dict(enumerate(parents))).static_order())
    lasts = workload.duration_ps
    head, tail, level = [0] * len(ops), [0] * len(ops), [0] * len(ops)
    for op in order:
        for src in parents[op]:
            head[op] = max(head[op], head[src] + lasts[src])
            level[op] = max(level[op], level[src] + 1)
    for op in reversed(order):
        for src in parents[op]:
            tail[src] = max(tail[src], lasts[op] + tail[op])
    return WorkloadGraph(
        workload,
        parents,
        tuple(tuple(sorted(some)) for some in below),
        tuple(sorted(ops, key=lambda op: (level[op], op))),
        tuple(level),
        tuple(head),
        tuple(tail),
    )
