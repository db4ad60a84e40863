"""Places operations in depth-first order, the next part of the work one device on."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from lightloom.training.placement.list_placement import Listed

if TYPE_CHECKING:
    from lightloom.training.placement.operation_graph import WorkloadGraph


def depth_first_placement(graph: WorkloadGraph) -> Listed:
    """Return a placement that gives each device an equal part of a depth-first order.

    The order is a topological one, so that positions never fall along an edge, and
    goes on from an operation to what it alone was waited for by: what runs side by side
    is in different parts. Parts are as small as the longest edge allows, or such that
    `distance` + 1 devices hold all of them, which always fits. Memory is left out of
    account.

    O(operations + edges).
    """
    workload = graph.workload
    order = _depth_first(graph)
    before = [0] * len(order)
    work = [workload.duration_ps[op] for op in order]
    for op, done in zip(order, accumulate(work, initial=0), strict=False):
        before[op] = done
    ends = zip(workload.src, workload.dst, strict=True)
    longest = max((before[dst] - before[src] for src, dst in ends), default=0)
    far = min(workload.distance, workload.devices - 1)
    parts, whole = far + 1, sum(work) + 1
    if far * whole > parts * longest and longest:
        parts, whole = far, longest
    device = [done * parts // whole % workload.devices for done in before]
    return Listed(device, sorted(order, key=lambda op: graph.head_ps[op]))


def _depth_first(graph: WorkloadGraph) -> list[int]:
    """Return a topological order that goes on from what it came to last."""
    missing = [len(some) for some in graph.parents]
    stack = [op for op in reversed(graph.order) if not missing[op]]
    order = []
    while stack:
        op = stack.pop()
        order.append(op)
        for child in reversed(graph.children[op]):
            missing[child] -= 1
            if not missing[child]:
                stack.append(child)
    return order
