"""Flows in time: data that drain at fair shares, in exact integers.

A flow is served at its max-min fair share rounded down to a whole bit per second, and
ends at the picosecond after its last bit. What is left of it is counted in bits times
10**12, so that a rate times a number of picoseconds is exact.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.replay.workload.fair_shares import UNITS_PER_BIT_PER_S, FairShares

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.replay.workload.fair_shares import Path

_PER_BYTE = BITS_PER_BYTE * PS_PER_S
_MOST_STALE = 3
"""Entries of the heap per flow from which it is built anew, without those that no
longer hold: cheaper than to take these out one by one."""


class Flows:
    """Flows under way, each with what is left of it.

    Time only goes forward. A flow on a link without rate waits.
    """

    def __init__(self) -> None:
        self._links = FairShares()
        self._left: dict[int, int] = {}
        self._since: dict[int, int] = {}
        self._rate: dict[int, int] = {}
        self._end: dict[int, int] = {}
        self._heap: list[tuple[int, int]] = []
        self._gone: list[int] = []

    def __len__(self) -> int:
        """Return the number of flows that have not ended."""
        return len(self._left)

    def underway(self) -> list[int]:
        """Return the flows that have not ended, sorted."""
        return sorted(self._left)

    def left_bytes(self, flow: int, now_ps: int) -> int:
        """Return what is left of a flow, in bytes rounded up."""
        served = self._rate[flow] * (now_ps - self._since[flow])
        return max(0, -(-(self._left[flow] - served) // _PER_BYTE))

    def next_ps(self) -> int | None:
        """Return when the next flow ends, if nothing changes before."""
        heap = self._heap
        while heap and self._end.get(heap[0][1]) != heap[0][0]:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def ended(self, now_ps: int) -> list[int]:
        """Remove and return the flows that have ended by now.

        The others take over what these had with the next `update`, which is due
        before time goes on.
        """
        done = []
        while (end := self.next_ps()) is not None and end <= now_ps:
            done.append(heapq.heappop(self._heap)[1])
            for table in (self._left, self._since, self._rate, self._end):
                del table[done[-1]]
        self._gone += done
        return done

    def update(
        self,
        now_ps: int,
        come: Mapping[int, tuple[Path, int]],
        bits_per_s: Mapping[int, int],
    ) -> None:
        """Let flows begin, links change, and all shares follow.

        Parameters
        ----------
        now_ps
            When.
        come
            Path and bytes, more than 0, of each new flow.
        bits_per_s
            New rates of links; a link gets its first before a flow crosses it.
        """
        touched = [
            link
            for link, rate in bits_per_s.items()
            if self._links.set_capacity(link, rate)
        ]
        for flow, (_, size_bytes) in come.items():
            self._left[flow] = size_bytes * _PER_BYTE
            self._since[flow], self._rate[flow] = now_ps, 0
        gone, self._gone = self._gone, []
        paths = {flow: path for flow, (path, _) in come.items()}
        for flow, share in self._links.update(paths, gone, touched).items():
            rate = share // UNITS_PER_BIT_PER_S
            if rate != self._rate[flow]:
                self._serve(flow, rate, now_ps)
        if len(self._heap) > _MOST_STALE * len(self._end):
            self._heap = [(end, flow) for flow, end in self._end.items()]
            heapq.heapify(self._heap)

    def _serve(self, flow: int, rate: int, now_ps: int) -> None:
        """Serve a flow at another rate from now on."""
        self._left[flow] -= self._rate[flow] * (now_ps - self._since[flow])
        self._since[flow], self._rate[flow] = now_ps, rate
        self._end.pop(flow, None)
        if rate:
            end = now_ps + -(-self._left[flow] // rate)
            self._end[flow] = end
            heapq.heappush(self._heap, (end, flow))
