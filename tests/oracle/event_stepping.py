"""The semantics again, as a simulation that steps from event to event.

Slow and plain, and shares nothing with the program but the records.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from tests.oracle.naive_rates import light_paths

if TYPE_CHECKING:
    from collections import Counter

    from lightloom.core.schedule import Schedule
    from tests.oracle.naive_rates import Path

Key = tuple[int, int, int, int, int]


class Timed(Protocol):
    """What a fabric's times are made of."""

    @property
    def alpha_ps(self) -> int:
        """Fixed cost of a transfer."""

    @property
    def reconfiguration_ps(self) -> int:
        """Time from one segment to the next."""

    @property
    def initial_configuration_charged(self) -> bool:
        """Whether the first segment pays for it."""

    @property
    def dark_while_reconfiguring(self) -> str:
        """What is dark meanwhile."""

    @property
    def bits_per_s(self) -> int:
        """Rate of a light path."""


@dataclass
class Simulation:
    """Everything that happens, found by asking again and again what may start."""

    fabric: Timed
    schedule: Schedule
    times: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """(part, row) to (start, end)."""
    reconfigurations: list[tuple[int, int, int, int]] = field(default_factory=list)
    completion_time_ps: int = 0

    def run(self) -> Simulation:
        """Simulate to the end."""
        self.now, self.current = 0, 0
        self.steps = self.schedule.step_count
        self.queues: dict[Key, list[tuple[int, int, int]]] = defaultdict(list)
        for number, part in enumerate(self.schedule.parts):
            sizes = self.schedule.transfer_bytes(part)
            assert part.plane is not None
            assert part.segment is not None
            for row in range(len(part.transfers)):
                src, dst = int(part.transfers.src[row]), int(part.transfers.dst[row])
                key = (part.index, part.plane, part.segment, src, dst)
                self.queues[key].append((number, row, int(sizes[row])))
        self.begun: set[Key] = set()
        self.running: dict[Key, int] = {}
        self.circuits = {
            (each.plane, each.index): each.circuits for each in self.schedule.segments
        }
        self.at: dict[int, int] = {}
        self.ready: dict[int, int] = {}
        for plane, _ in sorted(self.circuits):
            if plane not in self.at:
                charged = self.fabric.initial_configuration_charged
                delay = self.fabric.reconfiguration_ps if charged else 0
                self.at[plane], self.ready[plane] = 0, delay
                if charged:
                    self.reconfigurations.append((plane, 0, 0, delay))
        while True:
            while self._something_changes():
                pass
            later = [*self.running.values(), *self.ready.values()]
            later = [time for time in later if time > self.now]
            if not later:
                return self
            self.now = min(later)

    def _something_changes(self) -> bool:
        for key, end in list(self.running.items()):
            if end <= self.now:
                del self.running[key]
                self.queues[key].pop(0)
                self.completion_time_ps = self.now
                return True
        for plane, index in self.at.items():
            left = any(
                self.queues[key] for key in self.queues if key[1:3] == (plane, index)
            )
            held = self.ready[plane] <= self.now
            if held and not left and (plane, index + 1) in self.circuits:
                done = self.now + self.fabric.reconfiguration_ps
                self.at[plane], self.ready[plane] = index + 1, done
                self.reconfigurations.append((plane, index + 1, self.now, done))
                return True
        here = [key for key in self.queues if key[0] == self.current]
        if self.current < self.steps and not any(self.queues[key] for key in here):
            self.current += 1
            return True
        return any(self._starts(key) for key in here)

    def _starts(self, key: Key) -> bool:
        _, plane, index, src, dst = key
        if not self.queues[key] or key in self.running or self.at[plane] != index:
            return False
        paths = self._paths((plane, index), src, dst)
        if self.ready[plane] > self.now and not (
            self.fabric.dark_while_reconfiguring == "changed-circuits"
            and (plane, index - 1) in self.circuits
            and paths == self._paths((plane, index - 1), src, dst)
        ):
            return False
        part, row, size = self.queues[key][0]
        rate = paths.total() * self.fabric.bits_per_s
        lasts = -(-size * 8 * 10**12 // rate)
        if key not in self.begun:
            lasts += self.fabric.alpha_ps
        self.begun.add(key)
        self.running[key] = self.now + lasts
        self.times[part, row] = (self.now, self.now + lasts)
        return True

    def _paths(self, place: tuple[int, int], src: int, dst: int) -> Counter[Path]:
        return light_paths(self.circuits[place], src, dst)
