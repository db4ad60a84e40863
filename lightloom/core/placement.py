"""Placements: where and when each operation of a workload runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import IntArray, column

if TYPE_CHECKING:
    from lightloom.core.task import Workload


@dataclass(frozen=True, eq=False)
class Placement:
    """Where and when each operation runs.

    Attributes
    ----------
    workload
        What is placed.
    device
        Shape (operations,).
    start_ps
        Shape (operations,), from 0.
    """

    workload: Workload
    device: IntArray
    start_ps: IntArray

    @property
    def end_ps(self) -> IntArray:
        """When each operation ends."""
        return self.start_ps + column(self.workload.duration_ps)

    @property
    def makespan_ps(self) -> int:
        """When the last operation ends."""
        return int(self.end_ps.max(initial=0))

    def circuits(self) -> tuple[IntArray, IntArray]:
        """Return the (src, dst) pairs of devices that talk, distinct and sorted."""
        src = self.device[column(self.workload.src)]
        dst = self.device[column(self.workload.dst)]
        apart = src != dst
        devices = self.workload.devices
        pairs = np.unique(src[apart] * devices + dst[apart])
        return pairs // devices, pairs % devices

    @property
    def degrees(self) -> tuple[int, int]:
        """Most other devices that one device sends to, and that one receives from.

        The distance limits each of the two; a device with one transceiver for both
        may have twice as many partners.
        """
        out, into = (np.bincount(end).max(initial=0) for end in self.circuits())
        return int(out), int(into)
