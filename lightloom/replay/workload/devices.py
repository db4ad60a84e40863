"""Devices: each runs the operations that are ready, one at a time."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.core.iteration import MOST_PS
from lightloom.core.units import PS_PER_US

if TYPE_CHECKING:
    from lightloom.core.iteration import Operations


@dataclass(frozen=True)
class Launch:
    """What a device costs an operation, whatever it computes.

    An operation keeps its device for ``latency_ps + max(duration_ps, minimum_ps)``.
    The SiP-ML paper (section 4.2) sets both to a microsecond.

    `latency_ps`: from the launch to the begin of the computation, 0 to 10**15.
    `minimum_ps`: least time that a computation takes, 0 to 10**15.

    Raises `InputError`: a time out of its domain.
    """

    latency_ps: int = PS_PER_US
    minimum_ps: int = PS_PER_US

    def __post_init__(self) -> None:
        for key in ("latency_ps", "minimum_ps"):
            if not 0 <= getattr(self, key) <= MOST_PS:
                allowed = f"0 to {MOST_PS}"
                found, where = getattr(self, key), f"launch.{key}"
                raise InputError(
                    "invalid time", where=where, found=found, allowed=allowed
                )


class Devices:
    """The devices of an iteration at work; time only goes forward."""

    def __init__(self, device_count: int, rows: Operations, launch: Launch) -> None:
        self._device, self._priority = rows.device.tolist(), rows.priority.tolist()
        self._lasts = [
            launch.latency_ps + max(duration, launch.minimum_ps)
            for duration in rows.duration_ps.tolist()
        ]
        self._ready: list[list[tuple[int, int]]] = [[] for _ in range(device_count)]
        self._busy = [False] * device_count
        self._ends: list[tuple[int, int]] = []
        self._touched: set[int] = set()

    def ready(self, operation: int) -> None:
        """Queue an operation that waits for nothing but its device."""
        device = self._device[operation]
        heapq.heappush(self._ready[device], (self._priority[operation], operation))
        self._touched.add(device)

    def launch(self, now_ps: int) -> list[int]:
        """Launch what idle devices can run now; return it, sorted."""
        launched = []
        for device in self._touched:
            if not self._busy[device] and self._ready[device]:
                _, operation = heapq.heappop(self._ready[device])
                self._busy[device] = True
                end = now_ps + self._lasts[operation]
                heapq.heappush(self._ends, (end, operation))
                launched.append(operation)
        self._touched.clear()
        return sorted(launched)

    def next_ps(self) -> int | None:
        """Return when the next operation ends."""
        return self._ends[0][0] if self._ends else None

    def ended(self, now_ps: int) -> list[int]:
        """Return the operations that end now, sorted."""
        done = []
        while self._ends and self._ends[0][0] <= now_ps:
            operation = heapq.heappop(self._ends)[1]
            self._busy[self._device[operation]] = False
            self._touched.add(self._device[operation])
            done.append(operation)
        return done
