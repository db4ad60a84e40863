"""Placements: every rule that one must obey."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import column, exact_sums
from lightloom.core.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.placement import Placement

PLACEMENT_RULES = {
    "placement-rows": "Every operation has one device and one start.",
    "placement-device": "Devices are those of the workload.",
    "placement-start": "Starts count from 0, and end before 2**62 ps.",
    "placement-window": (
        "An operation runs at most `distance` devices further down the ring than"
        " each of those that it hears from."
    ),
    "placement-order": "An operation starts when all that it needs have ended.",
    "placement-alone": "A device runs one operation at a time.",
    "placement-memory": "What runs on a device fits its memory.",
}
"""Rules of placements by id, each with a sentence."""

_LATEST_PS = 2**62
"""Latest end of an operation, in picoseconds: sums of two still fit 63 bits."""


def check_placement(placement: Placement) -> Iterator[Violation]:
    """Yield what is wrong with a placement.

    Operations that take no time are in nobody's way, and communication takes none, as
    in SiP-ML's Algorithm 1. Rows, devices and starts that make no sense hide the rules
    that read them.

    Integers alone, no tolerance; O((operations + edges) log operations), vectorised.
    The distance limits the partners that a device sends to, and those that it receives
    from, each by itself: see `Placement.degrees`.
    """
    workload, device, start = placement.workload, placement.device, placement.start_ps
    ops = len(workload.op)
    if device.shape != (ops,) or start.shape != (ops,):
        message = f"{ops} operations, {device.size} devices, {start.size} starts"
        yield Violation("placement-rows", None, "placement", message)
        return
    sound = True
    for row in np.flatnonzero((device < 0) | (device >= workload.devices)).tolist():
        message = f"device {device[row]}, allowed 0 to {workload.devices - 1}"
        yield Violation("placement-device", None, _named(placement, row), message)
        sound = False
    latest = _LATEST_PS - column(workload.duration_ps)
    for row in np.flatnonzero((start < 0) | (start > latest)).tolist():
        message = f"starts at {start[row]} ps"
        yield Violation("placement-start", None, _named(placement, row), message)
        sound = False
    if sound:
        yield from _windows(placement)
        yield from _order(placement)
        yield from _alone(placement)
        yield from _memory(placement)


def _windows(placement: Placement) -> Iterator[Violation]:
    workload = placement.workload
    src, dst = column(workload.src), column(workload.dst)
    hops = (placement.device[dst] - placement.device[src]) % workload.devices
    for row in np.flatnonzero(hops > workload.distance).tolist():
        far = int(hops[row])
        excess = far - workload.distance
        message = f"{far} devices down the ring, allowed {workload.distance}"
        resource = _edge(placement, row)
        yield Violation("placement-window", None, resource, message, excess)


def _order(placement: Placement) -> Iterator[Violation]:
    workload = placement.workload
    ends = placement.end_ps[column(workload.src)]
    early = ends - placement.start_ps[column(workload.dst)]
    for row in np.flatnonzero(early > 0).tolist():
        excess = int(early[row])
        message = f"starts {excess} ps before what it needs has ended"
        resource = _edge(placement, row)
        yield Violation("placement-order", None, resource, message, excess)


def _alone(placement: Placement) -> Iterator[Violation]:
    """Yield pairs that run on one device at once.

    Each is compared with the one before it that ends last: to find one pair of every
    operation that is in another's way is enough.
    """
    lasting = np.flatnonzero(column(placement.workload.duration_ps) > 0)
    start, device = placement.start_ps[lasting], placement.device[lasting]
    order = lasting[np.lexsort((lasting, start, device))]
    end, start, device = placement.end_ps, placement.start_ps, placement.device
    if not len(order) or not _overlaps(device[order], start[order], end[order]):
        return
    last = int(order[0])
    for row in order[1:].tolist():
        late = int(end[last] - start[row])
        if device[row] == device[last] and late > 0:
            message = f"starts {late} ps before {_named(placement, last)} has ended"
            resource = f"{_named(placement, row)} on device {device[row]}"
            yield Violation("placement-alone", None, resource, message, late)
        if device[row] != device[last] or end[row] > end[last]:
            last = row


def _overlaps(device: IntArray, start: IntArray, end: IntArray) -> bool:
    """Return whether neighbours in a sorted table are in each other's way."""
    return bool(((device[1:] == device[:-1]) & (end[:-1] > start[1:])).any())


def _memory(placement: Placement) -> Iterator[Violation]:
    workload = placement.workload
    most = workload.device_memory_bytes
    if most is None:
        return
    taken = exact_sums(
        placement.device, column(workload.memory_bytes), workload.devices
    )
    for place, needed in enumerate(taken):
        if needed > most:
            message = f"takes {needed} bytes, allowed {most}"
            resource, excess = f"device {place}", needed - most
            yield Violation("placement-memory", None, resource, message, excess)


def _named(placement: Placement, row: int) -> str:
    return f"operation {placement.workload.op[row]!r}"


def _edge(placement: Placement, row: int) -> str:
    names, workload = placement.workload.op, placement.workload
    return f"edge {names[workload.src[row]]!r} -> {names[workload.dst[row]]!r}"
