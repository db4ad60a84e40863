"""The graph of a workload, as the algorithms that place it walk through it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from lightloom.core.columns import column
from lightloom.core.errors import InputError
from lightloom.core.placement import Placement
from lightloom.instances.instance_file import check_workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.task import Workload


_MOST_PS = 2**60
"""Durations together: sums of a few such times fit 63 bits."""
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


def ends_ps(
    graph: WorkloadGraph, device: Sequence[int], order: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Return when each operation ends, and what it waits for.

    `order`: a topological order; each device runs its operations in this order, each as
    soon as the device is free and all that it needs has ended.

    Returns end, waits_for The second is the operation whose end is its start; -1 if it
    starts at 0.
    """
    lasts, parents = graph.workload.duration_ps, graph.parents
    end, waits_for = [0] * len(order), [-1] * len(order)
    last = [-1] * graph.workload.devices
    for op in order:
        start, cause = 0, -1
        for parent in parents[op]:
            if end[parent] > start:
                start, cause = end[parent], parent
        time = lasts[op]
        if time:
            place = device[op]
            before = last[place]
            if before >= 0 and end[before] > start:
                start, cause = end[before], before
            last[place] = op
        end[op] = start + time
        waits_for[op] = cause
    return end, waits_for


def timed(
    graph: WorkloadGraph, device: Sequence[int], order: Sequence[int]
) -> Placement:
    """Return the placement of given devices and order, each operation at its soonest.

    `device`: device of each operation, shape (operations,). `order`: all operations,
    each after those it depends on; a device runs its own in this order.

    O(operations + edges).
    """
    workload = graph.workload
    end, _ = ends_ps(graph, device, order)
    return Placement(
        workload, column(device), column(end) - column(workload.duration_ps)
    )
