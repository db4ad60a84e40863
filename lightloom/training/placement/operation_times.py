"""When operations run whose devices, and whose order, are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.columns import column
from lightloom.core.placement import Placement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.training.placement.operation_graph import WorkloadGraph


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
