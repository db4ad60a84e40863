"""Flows in time: data that drain at fair shares, in exact integers.

A flow is served at its max-min fair share rounded down to a whole bit per second, and
ends at the picosecond after its last bit. What it is served is counted in bits times
10**12, so that a rate times a number of picoseconds is exact.

Flows of a pair have the same share at all times. So it is counted once for the pair how
much a flow of it would have been served from the beginning: a flow ends when this count
has gone up by the flow's size, and who has least to go ends first.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.replay.workload.fair_shares import UNITS_PER_BIT_PER_S, FairShares

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lightloom.replay.workload.fair_shares import Path

_PER_BYTE = BITS_PER_BYTE * PS_PER_S
_MOST_STALE = 3
"""Entries of the heap per pair from which it is built anew, without those that no
longer hold: cheaper than to take these out one by one."""


class _Pair:
    """The flows of a pair, and how much one of them would have been served so far."""

    __slots__ = ("order", "rate", "served", "since_ps")

    def __init__(self, now_ps: int) -> None:
        self.order: list[tuple[int, int]] = []
        self.rate = self.served = 0
        self.since_ps = now_ps

    def served_by(self, now_ps: int) -> int:
        """Return how much a flow would have been served from the beginning to now."""
        return self.served + self.rate * (now_ps - self.since_ps)

    def serve(self, rate: int, now_ps: int) -> None:
        """Serve each flow at another rate from now on."""
        self.served = self.served_by(now_ps)
        self.rate, self.since_ps = rate, now_ps

    def next_ps(self) -> int | None:
        """Return when the next flow ends at this rate; ``None`` for never."""
        if not self.order or not self.rate:
            return None
        return self.since_ps + -(-(self.order[0][0] - self.served) // self.rate)


class Flows:
    """Flows under way, each with what is left of it.

    Time only goes forward. A flow on a link without rate waits.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._links = FairShares(paths)
        self._pairs: dict[int, _Pair] = {}
        self._goal: dict[int, tuple[_Pair, int]] = {}
        self._end: dict[int, int] = {}
        self._heap: list[tuple[int, int]] = []
        self._changed: set[int] = set()

    def __len__(self) -> int:
        """Return the number of flows that have not ended."""
        return len(self._goal)

    def underway(self) -> list[int]:
        """Return the flows that have not ended, sorted."""
        return sorted(self._goal)

    @property
    def moving(self) -> bool:
        """Whether some flow is served."""
        return any(pair.rate and pair.order for pair in self._pairs.values())

    def left_bytes(self, flow: int, now_ps: int) -> int:
        """Return what is left of a flow, in bytes rounded up.

        `now_ps`: time in picoseconds, not before the last event.
        """
        pair, goal = self._goal[flow]
        return max(0, -(-(goal - pair.served_by(now_ps)) // _PER_BYTE))

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
            number = heapq.heappop(self._heap)[1]
            del self._end[number]
            self._changed.add(number)
            pair = self._pairs[number]
            order, served = pair.order, pair.served_by(now_ps)
            while order and order[0][0] <= served:
                flow = heapq.heappop(order)[1]
                del self._goal[flow]
                done.append(flow)
        return done

    def update(
        self,
        now_ps: int,
        come: Mapping[int, tuple[int, int]],
        bits_per_s: Mapping[int, int],
    ) -> None:
        """Let flows begin, links change, and all shares follow.

        `come`: pair and bytes, more than 0, of each new flow; the pair's path is not
        empty.
        """
        touched = [
            link
            for link, rate in bits_per_s.items()
            if self._links.set_capacity(link, rate)
        ]
        pairs, changed = self._pairs, self._changed
        self._changed = set()
        for flow, (number, size_bytes) in come.items():
            if number not in pairs:
                pairs[number] = _Pair(now_ps)
            pair = pairs[number]
            goal = pair.served_by(now_ps) + size_bytes * _PER_BYTE
            self._goal[flow] = pair, goal
            heapq.heappush(pair.order, (goal, flow))
            changed.add(number)
        count = {number: len(pairs[number].order) for number in sorted(changed)}
        shares = self._links.update(count, touched)
        for number, flows in count.items():
            if not flows:
                pairs[number].serve(0, now_ps)
        for number, share in shares.items():
            pair, rate = pairs[number], share // UNITS_PER_BIT_PER_S
            if rate != pair.rate:
                pair.serve(rate, now_ps)
                changed.add(number)
        for number in changed:
            self._foresee(number)
        if len(self._heap) > _MOST_STALE * len(self._end):
            self._heap = [(end, number) for number, end in self._end.items()]
            heapq.heapify(self._heap)

    def _foresee(self, number: int) -> None:
        """Note when the next flow of a pair ends."""
        end = self._pairs[number].next_ps()
        if end is None:
            self._end.pop(number, None)
        elif self._end.get(number) != end:
            self._end[number] = end
            heapq.heappush(self._heap, (end, number))
