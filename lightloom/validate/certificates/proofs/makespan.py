"""Placements: what no placement can beat, by a path, or by operations too close."""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lightloom.core.columns import column
from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from lightloom.core.task import Workload

__all__ = [
    "CriticalPath",
    "CrowdedOps",
    "PlacementWitness",
    "check_memory_witness",
    "check_placement_witness",
    "near_ops",
    "paths_before_and_after",
]


@dataclass(frozen=True)
class CriticalPath:
    """A witness: operations that each need the one before.

    Attributes
    ----------
    ops
        Rows of the workload.
    """

    ops: tuple[int, ...]

    def __str__(self) -> str:
        """Return what takes so long, in words."""
        return f"a path of {len(self.ops)} operations"


@dataclass(frozen=True)
class CrowdedOps:
    """A witness: operations that few devices have to run, or hold.

    Attributes
    ----------
    ops
        Rows of the workload, all different.
    centre
        An operation near all of them; ``None`` where any device may run them.
    back, forth
        From the centre to each of them there is a way of at most `back` edges against
        their direction and at most `forth` along it, in any order.
    """

    ops: tuple[int, ...]
    centre: int | None = None
    back: int = 0
    forth: int = 0

    def __str__(self) -> str:
        """Return what is crowded, in words."""
        if self.centre is None:
            return f"the work of {len(self.ops)} operations on all devices"
        return (
            f"the work of {len(self.ops)} operations within {self.back} edges back and"
            f" {self.forth} forth of operation {self.centre}"
        )


PlacementWitness: TypeAlias = CriticalPath | CrowdedOps


def check_placement_witness(workload: Workload, witness: PlacementWitness) -> int:
    """Return the makespan in picoseconds that a witness proves nothing can beat.

    - The operations of a path run one after another: the sum of their durations.
    - A set S on at most m devices takes ceil(work of S / m); and, as one device has at
      least q = ceil(operations of S / m) of them, what the shortest q of S take. The
      larger of the two comes after the least of the longest paths that lead to its
      operations, and before the least of the longest ones that lead on from them.

    An edge goes at most `distance` devices down the ring. So what can be reached from
    the centre by `back` edges against their direction and `forth` along it lies on
    (back + forth) distance + 1 devices in a row, whatever the placement.

    Parameters
    ----------
    workload
        Sound, without cycles.
    witness
        The path, or the set.

    Raises
    ------
    InputError
        An operation there is not or named twice, an edge there is not, one too far
        from the centre, nothing at all.

    Notes
    -----
    Integers alone; O(operations + edges), times (back + 1)(forth + 1).
    """
    _refuse_rows(workload, witness.ops)
    lasts = workload.duration_ps
    if isinstance(witness, CriticalPath):
        edges = set(zip(workload.src, workload.dst, strict=True))
        for pair in zip(witness.ops, witness.ops[1:], strict=False):
            if pair not in edges:
                raise InputError("unknown edge", where="critical path", found=pair)
        return sum(lasts[op] for op in witness.ops)
    devices = _devices(workload, witness)
    before, after = paths_before_and_after(workload)
    times = sorted(lasts[op] for op in witness.ops)
    several = -(-len(times) // devices)
    busy = max(-(-sum(times) // devices), sum(times[:several]))
    earliest = min(before[op] for op in witness.ops)
    return earliest + busy + min(after[op] for op in witness.ops)


def check_memory_witness(workload: Workload, witness: CrowdedOps) -> tuple[int, int]:
    """Return the bytes a set needs and those it may have, which proves it unplaceable.

    Parameters
    ----------
    workload
        Sound, without cycles.
    witness
        The set.

    Raises
    ------
    InputError
        As `check_placement_witness`, and where the memory suffices or has no limit.
    """
    _refuse_rows(workload, witness.ops)
    needed = sum(workload.memory_bytes[op] for op in witness.ops)
    most = workload.device_memory_bytes
    if most is None:
        raise InputError("memory has no limit", where="crowded memory")
    allowed = most * _devices(workload, witness)
    if needed <= allowed:
        place = "crowded memory"
        what, more = "the operations fit", f"more than {allowed}"
        raise InputError(what, where=place, found=needed, allowed=more)
    return needed, allowed


def near_ops(
    workload: Workload, centre: int, back: int, forth: int
) -> npt.NDArray[np.bool_]:
    """Return which operations are within so many edges back and forth of a centre.

    Parameters
    ----------
    workload
        Sound, without cycles.
    centre
        Row of an operation.
    back, forth
        Edges against their direction and along it, 0 or more.

    Returns
    -------
    near
        Shape (operations,): whether some way from the centre has at most `back` edges
        against their direction and at most `forth` along it.
    """
    src, dst = column(workload.src), column(workload.dst)
    row: list[npt.NDArray[np.bool_]] = []  # one for each number of edges forth
    for step_back in range(back + 1):
        earlier, row = row, []
        for step_forth in range(forth + 1):
            near = np.zeros(len(workload.op), dtype=np.bool_)
            near[centre] = True
            if step_back:
                near |= earlier[step_forth]
                near[src[earlier[step_forth][dst]]] = True
            if step_forth:
                near |= row[-1]
                near[dst[row[-1][src]]] = True
            row.append(near)
    return row[-1]


def paths_before_and_after(workload: Workload) -> tuple[list[int], list[int]]:
    """Return the longest path that leads to, and from, each operation, without it.

    Parameters
    ----------
    workload
        Sound, without cycles.
    """
    heard: list[list[int]] = [[] for _ in workload.op]
    for src, dst in zip(workload.src, workload.dst, strict=True):
        heard[dst].append(src)
    order = tuple(TopologicalSorter(dict(enumerate(heard))).static_order())
    lasts = workload.duration_ps
    before, after = [0] * len(heard), [0] * len(heard)
    for op in order:
        before[op] = max((before[src] + lasts[src] for src in heard[op]), default=0)
    for op in reversed(order):
        for src in heard[op]:
            after[src] = max(after[src], lasts[op] + after[op])
    return before, after


def _devices(workload: Workload, witness: CrowdedOps) -> int:
    """Return how many devices the operations of a witness have, after checking it."""
    if witness.centre is None:
        return workload.devices
    _refuse_rows(workload, (witness.centre,))
    if min(witness.back, witness.forth) < 0:
        found, allowed = (witness.back, witness.forth), "0 or more"
        what, where = "invalid number of edges", "crowded operations"
        raise InputError(what, where=where, found=found, allowed=allowed)
    near = near_ops(workload, witness.centre, witness.back, witness.forth)
    for op in witness.ops:
        if not near[op]:
            what = "an operation too far from the centre"
            raise InputError(what, where="crowded operations", found=workload.op[op])
    room = (witness.back + witness.forth) * workload.distance + 1
    return min(workload.devices, room)


def _refuse_rows(workload: Workload, ops: Sequence[int]) -> None:
    """Raise unless `ops` are different rows, at least one."""
    where, allowed = "placement witness", f"rows 0 to {len(workload.op) - 1}"
    if not ops or len(set(ops)) != len(ops):
        raise InputError(
            "no operation, or one twice",
            where=where,
            allowed=allowed,
        )
    for op in ops:
        if type(op) is not int or not 0 <= op < len(workload.op):
            raise InputError("unknown operation", where=where, found=op)
