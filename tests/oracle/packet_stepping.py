"""Packet fabrics again, as a simulation that steps from event to event.

Slow and plain, and shares nothing with the program but the records.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lightloom.replay import completion_time_ps, replay
from tests.oracle.packet_links import network

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule
    from tests.oracle.packet_links import Link

PS_PER_S = 10**12


@dataclass
class PacketSimulation:
    """Steps one after another; links that run dry one by one."""

    schedule: Schedule
    now_ps: int = 0
    times: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """(part, row) to (start, end)."""
    steps: list[tuple[int, int]] = field(default_factory=list)
    """(release, end) of each."""

    def run(self) -> PacketSimulation:
        """Simulate to the end."""
        self.network = network(dict(self.schedule.fabric))
        self.delay_ps = self.network.delay_ps()
        for step in range(self.schedule.step_count):
            released_ps = self.now_ps
            moved = self._released(step)
            if moved:
                self._drain(moved)
            for place in moved:
                self.times[place] = (released_ps, self.now_ps)
            self.steps.append((released_ps, self.now_ps))
        return self

    def _released(self, step: int) -> dict[tuple[int, int], tuple[int, int, int]]:
        """Return (part, row) to (src, dst, bytes) of a step."""
        found = {}
        for number, part in enumerate(self.schedule.parts):
            if part.index != step:
                continue
            sizes = self.schedule.transfer_bytes(part)
            for row in range(len(part.transfers)):
                src, dst = part.transfers.src[row], part.transfers.dst[row]
                found[number, row] = (int(src), int(dst), int(sizes[row]))
        return found

    def _drain(self, moved: dict[tuple[int, int], tuple[int, int, int]]) -> None:
        """Let time pass until no link has anything left to carry."""
        waiting: Counter[Link] = Counter()
        rates: dict[Link, int] = {}
        for src, dst, size in moved.values():
            for link, bits_per_s in self.network.way(src, dst):
                waiting[link] += 8 * size
                rates[link] = bits_per_s
        self.now_ps += self.delay_ps
        events = []
        for link, bits in waiting.items():
            # The first picosecond at which nothing is left.
            lasts, rest = divmod(bits * PS_PER_S, rates[link])
            events.append(self.now_ps + lasts + (rest > 0))
        heapq.heapify(events)
        while events:
            self.now_ps = heapq.heappop(events)


def agree_on_packets(made: Schedule) -> None:
    """Assert that replay and the simulation tell the same times of everything."""
    timeline, naive = replay(made), PacketSimulation(made).run()
    assert timeline.completion_time_ps == completion_time_ps(made) == naive.now_ps
    assert [(one.release_ps, one.end_ps) for one in timeline.steps] == naive.steps
    times = {
        (part, row): span
        for part, columns in enumerate(timeline.transfers)
        for row, span in enumerate(
            zip(columns.start_ps.tolist(), columns.end_ps.tolist(), strict=True)
        )
    }
    assert times == naive.times
