"""Timelines of iterations: when everything runs and moves."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from lightloom.replay.node_times import union_lengths

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.iteration import Iteration
    from lightloom.replay.timeline import Reconfiguration


@dataclass(frozen=True, eq=False)
class Spans:
    """From when to when, a row each."""

    start_ps: IntArray
    end_ps: IntArray


@dataclass(frozen=True, eq=False)
class DeviceTimes:
    """What each device does; row i is device i, shape (devices,).

    `computing_ps`: time in which an operation runs on it, its launch included.
    `communicating_ps`: time in which a transfer or collective that it takes part in is
    under way. `both_ps`: time in which both are so.
    """

    computing_ps: IntArray
    communicating_ps: IntArray
    both_ps: IntArray

    @property
    def exposed_ps(self) -> IntArray:
        """Time of communication that no computation hides."""
        return self.communicating_ps - self.both_ps


@dataclass(frozen=True, eq=False)
class IterationTimeline:
    """When everything in an iteration happens, in picoseconds from its start.

    `iteration_ps`: end of the last task; 0 where there is none. `operations`: each from
    its launch to its end, in the rows of the iteration. `transfers`: of each
    dependency: from when its data are there (or its call is served) to when the last
    byte has arrived. One that moves nothing starts and ends when `src` has ended.
    `collectives`: each from when its devices are ready (or it is served) to its end.
    `reconfigurations`: of all planes, by (start, plane); none on packet fabrics.
    """

    iteration_ps: int
    operations: Spans
    transfers: Spans
    collectives: Spans
    devices: DeviceTimes
    reconfigurations: tuple[Reconfiguration, ...]

    @property
    def communication_share(self) -> Fraction:
        """Part of the time of all devices that is communication not hidden."""
        whole = self.iteration_ps * len(self.devices.computing_ps)
        exposed = sum(self.devices.exposed_ps.tolist())
        return Fraction(exposed, whole) if whole else Fraction(0)


def device_times(
    iteration: Iteration, operations: Spans, transfers: Spans, collectives: Spans
) -> DeviceTimes:
    """Return what each device does, in O(n log n) for n rows of all spans.

    `operations`, `transfers`, `collectives`: when its rows start and end, in
    picoseconds; `transfers` has a row for each dependency, of which only those between
    devices count.
    """
    count, device = iteration.device_count, iteration.operations.device
    links, moves = iteration.dependencies, np.flatnonzero(iteration.is_transfer)
    takes_part = iteration.collectives.devices
    rows = takes_part.row_of_value
    talker = [device[links.src[moves]], device[links.dst[moves]], takes_part.values]
    begin = [transfers.start_ps[moves]] * 2 + [collectives.start_ps[rows]]
    until = [transfers.end_ps[moves]] * 2 + [collectives.end_ps[rows]]
    who, start, end = (np.concatenate(part) for part in (talker, begin, until))
    computing_ps = union_lengths(device, operations.start_ps, operations.end_ps, count)
    talking_ps = union_lengths(who, start, end, count)
    either_ps = union_lengths(
        np.concatenate([device, who]),
        np.concatenate([operations.start_ps, start]),
        np.concatenate([operations.end_ps, end]),
        count,
    )
    both_ps = computing_ps + talking_ps - either_ps
    return DeviceTimes(computing_ps, talking_ps, both_ps)
