"""Witnesses for placements: what bounds the makespan, or makes it impossible."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import column
from lightloom.core.errors import InfeasibleError
from lightloom.core.units import format_bytes
from lightloom.validate.certificates.proofs.makespan import (
    CriticalPath,
    CrowdedOps,
    check_memory_witness,
    check_placement_witness,
    near_ops,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.training.placement.operation_graph import WorkloadGraph
    from lightloom.validate.certificates.proofs.makespan import PlacementWitness

_CENTRES = 48
_FARTHEST = 4
_TAILS = 64
_VISITS = 60_000_000


def best_witness(graph: WorkloadGraph) -> tuple[int, PlacementWitness]:
    """Return the largest lower bound found on the makespan, with its witness.

    A longest path, the work that lies between some head and some tail on all devices,
    and the same for what is near some operation on as few devices as the distance
    allows. Which operations are tried as centres is limited in large graphs, those
    with most neighbours first; the bound is recomputed from the witness alone.

    Returns
    -------
    bound_ps, witness

    Notes
    -----
    O(operations + edges) a centre, for a limited number of centres.
    """
    head, tail = column(graph.head_ps), column(graph.tail_ps)
    lasts = column(graph.workload.duration_ps)
    best: PlacementWitness = CriticalPath(_longest_path(graph))
    bound = check_placement_witness(graph.workload, best)
    for found in _crowds(graph):
        ops = column(found.ops)
        room = _devices(graph, found)
        for value, kept in (
            _most_work(head[ops], tail[ops], lasts[ops], room),
            _most_together(head[ops], tail[ops], lasts[ops], room),
        ):
            if value > bound:
                bound = value
                crowd = tuple(ops[kept].tolist())
                best = CrowdedOps(crowd, found.centre, found.back, found.forth)
    return check_placement_witness(graph.workload, best), best


def refuse_unplaceable(graph: WorkloadGraph) -> None:
    """Raise if memory plainly suffices for no placement, naming what does not fit.

    Raises
    ------
    InfeasibleError
        An operation is larger than a device, or operations that the distance keeps
        together are larger than their devices. What it names is a checked witness; not
        to raise proves nothing.
    """
    workload = graph.workload
    most = workload.device_memory_bytes
    if most is None:
        return
    where, allowed = "workload", f"{format_bytes(most)} a device"
    for op, needed in zip(workload.op, workload.memory_bytes, strict=True):
        if needed > most:
            what = f"operation {op!r} fits no device"
            raise InfeasibleError(
                what, where=where, found=format_bytes(needed), allowed=allowed
            )
    if sum(workload.memory_bytes) <= most:
        return
    for found in _crowds(graph):
        needed = sum(workload.memory_bytes[op] for op in found.ops)
        devices = _devices(graph, found)
        if needed > most * devices:
            check_memory_witness(workload, found)
            names = ", ".join(repr(workload.op[op]) for op in found.ops[:4])
            more = ", ..." if len(found.ops) > 4 else ""
            holders = "one device" if devices == 1 else f"{devices} devices"
            what = f"operations that {holders} must hold do not fit: "
            raise InfeasibleError(
                what + names + more,
                where=where,
                found=format_bytes(needed),
                allowed=allowed,
            )


def _longest_path(graph: WorkloadGraph) -> tuple[int, ...]:
    """Return the first of the longest paths."""
    lasts, tail = graph.workload.duration_ps, graph.tail_ps
    op = max(range(len(tail)), key=lambda row: (lasts[row] + tail[row], -row))
    path = [op]
    while graph.children[op]:
        op = max(graph.children[op], key=lambda row: (lasts[row] + tail[row], -row))
        path.append(op)
    return tuple(path)


def _devices(graph: WorkloadGraph, crowd: CrowdedOps) -> int:
    """Return the most devices that the operations of a crowd can be on."""
    if crowd.centre is None:
        return graph.workload.devices
    room = (crowd.back + crowd.forth) * graph.workload.distance + 1
    return min(room, graph.workload.devices)


def _crowds(graph: WorkloadGraph) -> Iterator[CrowdedOps]:
    """Yield sets of operations that may have less than all devices, and all of them."""
    workload = graph.workload
    everyone = len(workload.op)
    yield CrowdedOps(tuple(range(everyone)))
    if graph.unlimited:
        return
    if workload.distance:
        hops = min((workload.devices - 2) // workload.distance, 2 * _FARTHEST)
        ways = [
            (back, forth)
            for back, forth in itertools.product(range(_FARTHEST + 1), repeat=2)
            if 0 < back + forth <= hops
        ]
    else:  # all that is connected shares a device, however far
        ways = [(3 * _FARTHEST, 3 * _FARTHEST)]
    size = everyone + len(workload.src)
    visits = sum((back + 1) * (forth + 1) for back, forth in ways) * size
    limit = min(_CENTRES, max(1, _VISITS // max(visits, 1)))
    for centre in _centres(graph)[:limit]:
        for back, forth in ways:
            near = np.flatnonzero(near_ops(workload, centre, back, forth))
            yield CrowdedOps(tuple(near.tolist()), centre, back, forth)


def _centres(graph: WorkloadGraph) -> list[int]:
    """Return operations, those with most neighbours first."""
    return sorted(
        range(len(graph.parents)),
        key=lambda op: (-len(graph.parents[op]) - len(graph.children[op]), op),
    )


def _most_work(
    head: IntArray, tail: IntArray, lasts: IntArray, devices: int
) -> tuple[int, IntArray]:
    """Return the best bound by work between a head and a tail, and whose it is."""
    order = np.argsort(-head, kind="stable")
    head, tail, lasts = head[order], tail[order], lasts[order]
    levels = np.unique(tail)
    if len(levels) > _TAILS:
        levels = levels[np.linspace(0, len(levels) - 1, _TAILS).astype(np.int64)]
    best, cut = -1, (0, 0)
    for level in levels.tolist():
        work = np.cumsum(np.where(tail >= level, lasts, 0))
        value = np.where(tail >= level, head - (-work // devices) + level, -1)
        place = int(np.argmax(value))
        if value[place] > best:
            best, cut = int(value[place]), (level, place)
    level, place = cut
    kept = order[: place + 1][tail[: place + 1] >= level]
    return best, np.sort(kept)


def _most_together(
    head: IntArray, tail: IntArray, lasts: IntArray, devices: int
) -> tuple[int, IntArray]:
    """Return the bound by the shortest operations that share a device, and of whom.

    Of the longest operations, one more than some multiple of the devices.
    """
    order = np.argsort(-lasts, kind="stable")
    head, tail, lasts = head[order], tail[order], lasts[order]
    ends = np.arange(0, len(lasts), devices)
    total = np.concatenate([[0], np.cumsum(lasts)])
    first = np.minimum.accumulate(head)[ends]
    last = np.minimum.accumulate(tail)[ends]
    shortest = total[ends + 1] - total[ends - np.arange(len(ends))]
    value = first + shortest + last
    place = int(np.argmax(value))
    return int(value[place]), np.sort(order[: ends[place] + 1])
