"""Packs rows into slots by first fit, and by eviction where nothing fits."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

_SAMPLE = 24
_MEMORY = 0.3


class Packing:
    """Rows in slots, each with one of its choices of what it takes there.

    The slots with room for a resource are the bits of one integer, so a row is placed
    by a handful of conjunctions.

    `needs`: resources that each choice of each row takes, by row; one of each. `width`:
    how much of each resource a slot has. `order`: rows in the order in which they are
    placed first.

    `place`: (slot, choice) of each row; meaningless for rows that wait. `waiting`: rows
    that have no slot.
    """

    def __init__(
        self,
        needs: list[list[list[int]]],
        width: list[int],
        order: list[int],
        rng: random.Random,
    ) -> None:
        self._needs, self._width, self._order, self._rng = needs, width, order, rng
        self.slots = 0
        self.place: list[tuple[int, int]] = [(-1, 0)] * len(needs)
        self.waiting: deque[int] = deque()
        self._room = [0] * len(width)
        self._users: list[list[list[int]]] = [[] for _ in width]
        self._evicted = [0.0] * len(needs)

    def fill(self) -> None:
        """Place every row, opening slots as needed."""
        for row in self._order:
            if not self._fits(row):
                self._open()
                assert self._fits(row), "a row fits an empty slot"

    def fill_only(self, slots: int, effort: int) -> int:
        """Place every row in so many slots; return what is left of `effort`."""
        for _ in range(slots):
            self._open()
        self.waiting = deque(row for row in self._order if not self._fits(row))
        return self._settle(effort)

    def _open(self) -> None:
        bit = 1 << self.slots
        for resource, width in enumerate(self._width):
            if width:
                self._room[resource] |= bit
            self._users[resource].append([])
        self.slots += 1

    def give_up_last(self, effort: int) -> int:
        """Place the rows of the last slot in the others; return the effort left."""
        self.slots -= 1
        keep = (1 << self.slots) - 1
        rows = [row for row, (slot, _) in enumerate(self.place) if slot == self.slots]
        for resource, users in enumerate(self._users):
            users.pop()
            self._room[resource] &= keep
        self.waiting = deque(rows)
        return self._settle(effort)

    def _settle(self, effort: int) -> int:
        """Place the rows that wait, evicting others, while effort is left."""
        while self.waiting and effort > 0:
            row = self.waiting.popleft()
            if not self._fits(row):
                self._force(row)
                effort -= 1
        return effort

    def _fits(self, row: int) -> bool:
        """Put a row in the first slot with room, if there is one."""
        best: tuple[int, int] | None = None
        for choice, needs in enumerate(self._needs[row]):
            room = -1
            for resource in needs:
                room &= self._room[resource]
                if not room:
                    break
            if room:
                slot = (room & -room).bit_length() - 1
                if best is None or slot < best[0]:
                    best = slot, choice
        if best is None:
            return False
        self._put(row, *best)
        return True

    def _force(self, row: int) -> None:
        """Put a row in the sampled slot where what it evicts was evicted least."""
        rng = self._rng
        choice = rng.randrange(len(self._needs[row]))
        best: tuple[float, list[int], int] | None = None
        for slot in rng.sample(range(self.slots), min(self.slots, _SAMPLE)):
            out: dict[int, None] = {}
            for resource in self._needs[row][choice]:
                if not self._room[resource] >> slot & 1:
                    users = self._users[resource][slot]
                    out[users[rng.randrange(len(users))]] = None
            cost = sum(1 + self._evicted[other] for other in out)
            if best is None or cost < best[0]:
                best = cost, list(out), slot
        assert best is not None
        for other in best[1]:
            self._take(other)
            self.waiting.append(other)
            self._evicted[other] += _MEMORY
        self._put(row, best[2], choice)

    def _put(self, row: int, slot: int, choice: int) -> None:
        self.place[row] = slot, choice
        for resource in self._needs[row][choice]:
            users = self._users[resource][slot]
            users.append(row)
            if len(users) >= self._width[resource]:
                self._room[resource] &= ~(1 << slot)

    def _take(self, row: int) -> None:
        slot, choice = self.place[row]
        for resource in self._needs[row][choice]:
            self._users[resource][slot].remove(row)
            self._room[resource] |= 1 << slot
