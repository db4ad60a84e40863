"""First fit of pairs into slots, and exchanges that empty the last ones."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Literal

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.core.seed import seeded_random
from lightloom.routing.routes import dimension_ordered

if TYPE_CHECKING:
    import random

    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath


def first_fit_slots(
    fabric: Lightpath,
    src: IntArray,
    dst: IntArray,
    by_id: IntArray,
    *,
    bound: int,
    seed: int,
    effort: int,
) -> tuple[IntArray, Ragged]:
    """Return a slot and a route for each pair.

    Longest pairs first, each takes the first slot that has room on one of its
    dimension-ordered routes. Then the last slot is given up, again and again: its
    pairs go elsewhere, evicting others where they must, until `effort` evictions are
    spent or `bound` slots are left.
    """
    packing = _packing(fabric, src, dst, by_id, seeded_random(seed))
    packing.fill()
    best = list(packing.place)
    while effort > 0 and packing.slots > bound:
        effort = packing.give_up_last(effort)
        if packing.waiting:
            break
        best = list(packing.place)
    slot = np.array([place[0] for place in best], dtype=np.int64)
    choice = np.array([place[1] for place in best], dtype=np.int64)
    count = len(slot)
    routes = [
        dimension_ordered(fabric, src, dst, first=first) for first in ("row", "column")
    ]
    both = Ragged.from_lengths(
        np.concatenate([routes[0].lengths, routes[1].lengths]),
        np.concatenate([routes[0].values, routes[1].values]),
    )
    return slot, both.take(np.arange(count) + choice * count)


def _packing(
    fabric: Lightpath, src: IntArray, dst: IntArray, by_id: IntArray, rng: random.Random
) -> Packing:
    """Return the pairs, unplaced, longest first."""
    by_row = route_needs(fabric, src, dst, first="row")
    by_column = route_needs(fabric, src, dst, first="column")
    needs = [list(choices) for choices in zip(by_row, by_column, strict=True)]
    order = sorted(range(len(src)), key=lambda row: (-len(needs[row][0]), rng.random()))
    return Packing(needs, resource_widths(by_id), order, rng)


def route_needs(
    fabric: Lightpath,
    src: IntArray,
    dst: IntArray,
    *,
    first: Literal["row", "column"],
) -> list[list[int]]:
    """Return what each pair takes: edges of its route, its source, its destination.

    Resources are numbered edges first, then sources, then destinations.

    `src`, `dst`: tiles of each request, shape (requests,).
    """
    nodes = fabric.node_count
    route = dimension_ordered(fabric, src, dst, first=first)
    inner = np.delete(np.arange(len(route.values)), route.offsets[1:] - 1)
    edges = fabric.edge_ids(route.values[inner], route.values[inner + 1])
    taken = Ragged.from_lengths(route.lengths - 1, edges).to_lists()
    return [
        [*ids, 4 * nodes + one, 5 * nodes + two]
        for ids, one, two in zip(taken, src.tolist(), dst.tolist(), strict=True)
    ]


def resource_widths(by_id: IntArray) -> list[int]:
    """Return how much of each resource of `route_needs` a slot has."""
    return [*by_id.tolist(), *([1] * (len(by_id) // 2))]


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
