"""Slots that look alike when the grid is turned, and a search for what goes in each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.seed import seeded_random

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.routing.routes import Route

_QUARTERS = 4
_DEARER = 0.3
_TRY = 60_000, 60
"""Moves before a new beginning: so many, or so many for each table."""


@dataclass(frozen=True, eq=False)
class Turns:
    """Turns of a grid that take each edge to one with as many waveguides.

    `wide`: capacity of each resource: edges, sources and destinations, numbered as by
    `lightloom.problems.fewest_rounds.first_fit.route_needs`. `tiles`: where each turn
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
