"""Devices that an operation may move to while its neighbours stay, as bit sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.training.placement.operation_graph import WorkloadGraph


class RingWindows:
    """The window of each operation, given where its neighbours are.

    Bit d of a set is device d. Windows wrap round the ring, and where the distance is
    more than half of it two of them may meet in two places; sets know no difference.

    `down`, `up`: for each device, those within the distance further down, or up, the
    ring.
    """

    def __init__(self, graph: WorkloadGraph) -> None:
        devices = graph.workload.devices
        self._graph = graph
        self._devices = devices
        self._distance = min(graph.workload.distance, devices - 1)
        self.everywhere = (1 << devices) - 1
        arc = (1 << (self._distance + 1)) - 1
        self.down = [self._turned(arc, device) for device in range(devices)]
        self.up = [
            self._turned(arc, device - self._distance) for device in range(devices)
        ]

    def _turned(self, arc: int, by: int) -> int:
        """Return a set, every device `by` further down the ring."""
        by %= self._devices
        return ((arc << by) | (arc >> (self._devices - by))) & self.everywhere

    def of_parents(self, op: int, device: Sequence[int]) -> int:
        """Return the devices within the distance of all that `op` hears from.

        `device`: device of every operation, shape (operations,); those of the parents
        are read.
        """
        allowed = self.everywhere
        for parent in self._graph.parents[op]:
            allowed &= self.down[device[parent]]
        return allowed

    def of(self, op: int, device: Sequence[int]) -> int:
        """Return the devices that all neighbours of `op` allow.

        `device`: device of every operation, shape (operations,); that of `op` does not
        matter.
        """
        allowed = self.of_parents(op, device)
        for child in self._graph.children[op]:
            allowed &= self.up[device[child]]
        return allowed

    def first_of(self, window: int) -> int:
        """Return the first device that starts a run of a window; 0 if it has no end."""
        starts = window & ~self._turned(window, 1)
        return (starts & -starts).bit_length() - 1 if starts else 0

    def towards(self, device: int, other: int, *, is_parent: bool) -> int:
        """Return the device nearest to `device` that may talk to `other`.

        As a parent of what runs on `other`, or as a child of it.
        """
        if is_parent:
            hops, ahead = (other - device) % self._devices, 1
        else:
            hops, ahead = (device - other) % self._devices, -1
        if hops <= self._distance:
            return device
        short, long = hops - self._distance, self._devices - hops
        by = ahead * short if short <= long else -ahead * long
        return (device + by) % self._devices


def members(devices: int) -> list[int]:
    """Return the devices of a set, in order."""
    found = []
    while devices:
        lowest = devices & -devices
        found.append(lowest.bit_length() - 1)
        devices ^= lowest
    return found
