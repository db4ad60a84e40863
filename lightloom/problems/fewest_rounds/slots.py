"""First fit of pairs into slots, and exchanges that empty the last ones."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.core.seed import seeded_random
from lightloom.routing.routes import dimension_ordered

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.routing.routes import Route


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


_QUARTERS = 4
_DEARER = 0.3
_TRY = 60_000, 60
"""Moves before a new beginning: so many, or so many for each table."""


@dataclass(frozen=True, eq=False)
class Turns:
    """Turns of a grid that take each edge to one with as many waveguides.

    `wide`: capacity of each resource: edges, sources and destinations, numbered as by
    `lightloom.problems.fewest_rounds.slots.route_needs`. `tiles`: where each turn
    takes each tile, shape (turns, tiles); the first moves none.
    """

    fabric: Lightpath
    wide: IntArray
    tiles: IntArray
    resources: IntArray

    @classmethod
    def of(cls, fabric: Lightpath, wide: IntArray, order: int) -> Turns | None:
        """Return the turns of a grid, ``None`` where it has none of this order."""
        tile = np.arange(fabric.node_count, dtype=np.int64)
        once = tile if order == 1 else tile[::-1]
        if order == _QUARTERS:
            if fabric.rows != fabric.cols:
                return None
            row, col = np.divmod(tile, fabric.cols)
            once = col * fabric.cols + fabric.cols - 1 - row
        one = _turned_resources(fabric, once)
        if len(tile) < order or (wide[one] != wide)[wide > 0].any():
            return None
        tiles, resources = [tile], [np.arange(len(one))]
        for _ in range(order - 1):
            tiles.append(once[tiles[-1]])
            resources.append(one[resources[-1]])
        return cls(fabric, wide, np.array(tiles), np.array(resources))

    @property
    def order(self) -> int:
        """Number of turns."""
        return len(self.tiles)

    def orbit(self, tiles: Sequence[int]) -> list[tuple[int, ...]]:
        """Return tiles after each turn."""
        return [tuple(one) for one in self.tiles[:, list(tiles)].tolist()]


class TurnedSlots:
    """Slots that turns take to each other, and slots the same after each turn.

    `orbits`: orbits of slots, each of as many slots as there are turns. In the one that
    is looked at stands one of the turned routes, the others in the others. `alike`:
    slots besides, in which each route stands with all its turned ones. These must not
    meet; each resource stands for those that turns take it to.
    """

    def __init__(self, turns: Turns, orbits: int, alike: int) -> None:
        self.turns, self._orbits, self._alike = turns, orbits, alike
        self._least = turns.resources.min(axis=0)
        # What no route of its length needs has room for all.
        self._size = len(self._least) + 1
        self._needs: dict[Route, tuple[IntArray, IntArray | None]] = {}

    @property
    def width(self) -> IntArray:
        """How often each resource of the rows of `table` may be taken."""
        each = np.append(self.turns.wide, np.iinfo(np.int64).max)
        return np.tile(each, self._orbits + self._alike)

    def table(self, routes: Sequence[Route]) -> IntArray:
        """Return what any of some routes takes in any slot, one row an option.

        `routes`: tiles of each; no rows where no slot has room for any.
        """
        most = max(map(len, routes)) + 1
        turned, still = [], []
        for route in routes:
            needs, alike = self._needs_of(route)
            fill = ((0, 0), (0, most - needs.shape[1]))
            turned.append(np.pad(needs, fill, constant_values=self._size - 1))
            if alike is not None:
                still.append(
                    np.pad(alike, fill[1], constant_values=self._size - 1)[None, :]
                )
        parts = [*turned] * self._orbits + still * self._alike
        if not parts:
            return np.zeros((0, 0), dtype=np.int64)
        counts = [sum(map(len, turned))] * self._orbits + [len(still)] * self._alike
        slot = np.repeat(np.arange(len(counts)), counts)
        # Sums along rows of another layout could round in another way.
        return np.ascontiguousarray(np.concatenate(parts) + self._size * slot[:, None])

    def places(self, routes: Sequence[Route], at: int) -> list[tuple[int, Route]]:
        """Return slot and route after each turn for a row of `table`."""
        order = self.turns.order
        slot, choice = divmod(at, order * len(routes))
        if slot < self._orbits:
            route, turn = divmod(choice, order)
            return [
                (slot * order + (other - turn) % order, one)
                for other, one in enumerate(self.turns.orbit(routes[route]))
            ]
        still = [one for one in routes if self._needs_of(one)[1] is not None]
        slot, choice = divmod(at - self._orbits * order * len(routes), len(still))
        slot += self._orbits * order
        return [(slot, one) for one in self.turns.orbit(still[choice])]

    def _needs_of(self, route: Route) -> tuple[IntArray, IntArray | None]:
        """Return what a route takes after each turn, and in a slot alike after each."""
        if route not in self._needs:
            count, nodes = self.turns.fabric.node_count, np.array(route)
            edges = self.turns.fabric.edge_ids(nodes[:-1], nodes[1:])
            ends = [4 * count + route[0], 5 * count + route[-1]]
            needs = self.turns.resources[:, np.append(edges, ends)]
            alike: IntArray | None = np.unique(self._least[needs[0]])
            if alike is not None and (
                len(alike) < needs.shape[1] or (needs[1:] == needs[0]).any()
            ):
                alike = None
            self._needs[route] = needs, alike
        return self._needs[route]


def _turned_resources(fabric: Lightpath, turn: IntArray) -> IntArray:
    """Return where a turn takes edges, sources and destinations.

    Edges that leave the grid, which nothing takes, stay.
    """
    tiles = fabric.node_count
    found = np.arange(6 * tiles, dtype=np.int64)
    tail, head = fabric.edges()
    edges = fabric.edge_ids(tail, head)
    found[edges] = fabric.edge_ids(turn[tail], turn[head])
    found[4 * tiles : 5 * tiles] = 4 * tiles + turn
    found[5 * tiles :] = 5 * tiles + turn
    return found


def settled(
    tables: list[IntArray], width: IntArray, *, seed: int, moves: int
) -> list[int] | None:
    """Return one row of each table so that no resource is taken more often than may be.

    All are placed where they conflict least. Then a conflict is drawn, and of the rows
    in it the one that gains most moves. Where none gains, what is in conflict gets
    dearer. After some moves it begins anew.

    `tables`: resources of each option, one row each. `width`: how often each resource
    may be taken. `seed`: of the draws; same input and seed, same rows. `moves`: most
    moves; ``None`` where they do not end all conflicts.

    A move costs O(options) for each of the rows in a conflict.
    """
    chosen, rng = None, seeded_random(seed)
    most = max(_TRY[0], _TRY[1] * len(tables))
    while chosen is None and moves > 0:
        chosen = _Search(tables, width, rng).settled(min(moves, most))
        moves -= most
    return chosen


class _Search:
    """One option for each table, so that no resource is taken more often than may be.

    `tables`: resources of each option, one row each. `width`: how often each resource
    may be taken.
    """

    def __init__(
        self, tables: list[IntArray], width: IntArray, rng: random.Random
    ) -> None:
        self._tables, self._width, self._rng = tables, width, rng
        self._used = np.zeros_like(width)
        self._price = np.ones(len(width))
        self._users: list[set[int]] = [set() for _ in width]
        self._chosen = [-1] * len(tables)
        order = sorted(range(len(tables)), key=lambda one: -tables[one].shape[1])
        for one in order:
            cost = self._costs()
            self._put(one, self._cheapest(cost[tables[one]].sum(axis=1)))

    def settled(self, moves: int) -> list[int] | None:
        """Return the options, ``None`` where so many moves leave conflicts."""
        for _ in range(moves):
            over = np.flatnonzero(self._used > self._width)
            if not len(over):
                return self._chosen
            users = self._users[int(over[self._rng.randrange(len(over))])]
            moved = ((*self._best(one), one) for one in sorted(users))
            loss, option, one = min(moved, key=lambda each: each[0])
            if loss >= 0:
                self._price[over] += _DEARER
            self._take(one)
            self._put(one, option)
        return None

    def _best(self, one: int) -> tuple[float, int]:
        """Return what another option costs more, and which one."""
        cost, table = self._costs(), self._tables[one]
        mine = table[self._chosen[one]]
        cost[mine[self._used[mine] <= self._width[mine]]] = 0
        total = cost[table].sum(axis=1)
        own = float(total[self._chosen[one]])
        total[self._chosen[one]] = np.inf
        option = self._cheapest(total)
        return float(total[option]) - own, option

    def _costs(self) -> FloatArray:
        return self._price * (self._used >= self._width)

    def _cheapest(self, total: FloatArray) -> int:
        least = np.flatnonzero(total <= total.min() + 1e-9)
        return int(least[self._rng.randrange(len(least))])

    def _put(self, one: int, option: int) -> None:
        self._chosen[one] = option
        for resource in self._tables[one][option].tolist():
            self._used[resource] += 1
            self._users[resource].add(one)

    def _take(self, one: int) -> None:
        for resource in self._tables[one][self._chosen[one]].tolist():
            self._used[resource] -= 1
            self._users[resource].discard(one)
