"""All-to-all in slots that look alike when the grid is turned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.core.seed import seeded_random
from lightloom.problems.fewest_rounds.first_fit import resource_widths
from lightloom.routing.bent_routes import bent_routes

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.routing.bent_routes import Route

    _Option = tuple[Route, IntArray]
    """A route, and the resources that it takes in its slot."""

__all__ = ["symmetric_slots"]

_DEARER = 0.3
_TRY = 60_000
"""Moves before a new beginning."""
_MOST_OPTIONS = 2**18


def symmetric_slots(
    fabric: Lightpath, by_id: IntArray, slots: int, *, seed: int, moves: int
) -> tuple[IntArray, Ragged] | None:
    """Return a slot and a route of every ordered pair of tiles, or ``None``.

    Turns of the grid, by quarters where it is square, else by halves, take pairs to
    pairs and edges to edges. Slots come in orbits that turns take to each other, so
    one pair of each orbit of pairs says where the others are; the slots that are left
    are the same after each turn. What the tile in the middle sends is in the orbits.
    That leaves a fourth, or half, of the pairs to place.

    All are placed where they conflict least. Then a conflict is drawn, and of the pairs
    in it the one that gains most moves. Where none gains, what is in conflict gets
    dearer. After some moves it begins anew.

    Parameters
    ----------
    fabric
        The grid, all of whose tiles send to all others.
    by_id
        Capacity of each edge id.
    slots
        How many there may be.
    seed
        Of the draws; same input and seed, same slots.
    moves
        Most moves.

    Returns
    -------
    Rows in the order of pairs (source, destination); ``None`` where the moves do not
    end all conflicts, where turned edges have other capacities, or for large grids.

    Notes
    -----
    A move costs O(slots) for each of the pairs in a conflict.
    """
    if moves < 1:
        return None
    turns = _turns(fabric)
    tiles, order = fabric.node_count, len(turns)
    wide = np.array(resource_widths(by_id), dtype=np.int64)
    one = _turned_resources(fabric, turns[1])
    if tiles < order or (wide[one] != wide)[wide > 0].any():
        return None
    orbits = slots // order
    if (turns[1] == np.arange(tiles)).any():
        orbits = min(orbits, -(-(tiles - 1) // order))
    alike = slots - order * orbits
    pairs = [(src, dst) for src in range(tiles) for dst in range(tiles) if src != dst]
    first = [pair for pair in pairs if pair == min(_orbit(turns, pair))]
    if len(first) * slots * 4 > _MOST_OPTIONS:
        return None
    options = [
        _options(fabric, turns, sorted(bent_routes(fabric, *pair)), one)
        for pair in first
    ]
    tables = [_table(each, orbits, alike, len(wide)) for each in options]
    if any(table.size == 0 for table in tables):
        return None
    width, rng = np.tile(wide, orbits + alike), seeded_random(seed)
    chosen = None
    while chosen is None and moves > 0:
        chosen = _Search(tables, width, rng).settled(min(moves, _TRY))
        moves -= _TRY
    if chosen is None:
        return None
    found: dict[tuple[int, int], tuple[int, tuple[int, ...]]] = {}
    for each, at in zip(options, chosen, strict=True):
        for place, route in _places(turns, each, orbits, at):
            found[route[0], route[-1]] = place, route
    slot = np.array([found[pair][0] for pair in pairs], dtype=np.int64)
    return slot, Ragged.from_lists([list(found[pair][1]) for pair in pairs])


def _places(
    turns: list[IntArray],
    options: tuple[list[_Option], list[_Option]],
    orbits: int,
    at: int,
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield slot and route of each turned pair for a row of `_table`."""
    turned, still = options
    beyond = at - orbits * len(turned)
    if beyond < 0:
        slot, choice = divmod(at, len(turned))
        for turn, route in enumerate(_orbit(turns, turned[choice][0])):
            yield slot * len(turns) + turn, route
    else:
        slot, choice = divmod(beyond, len(still))
        for route in _orbit(turns, still[choice][0]):
            yield orbits * len(turns) + slot, route


def _turns(fabric: Lightpath) -> list[IntArray]:
    """Return where each turn takes each tile, the one that does nothing first."""
    tile = np.arange(fabric.node_count, dtype=np.int64)
    if fabric.rows != fabric.cols:
        return [tile, tile[::-1].copy()]
    row, col = np.divmod(tile, fabric.cols)
    quarter = col * fabric.cols + fabric.cols - 1 - row
    return [tile, quarter, quarter[quarter], quarter[quarter[quarter]]]


def _orbit(turns: list[IntArray], tiles: Sequence[int]) -> list[tuple[int, ...]]:
    """Return tiles after each turn."""
    return [tuple(turn[list(tiles)].tolist()) for turn in turns]


def _turned_resources(fabric: Lightpath, turn: IntArray) -> IntArray:
    """Return where a turn takes edges, sources and destinations, as in `route_needs`.

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


def _options(
    fabric: Lightpath, turns: list[IntArray], routes: list[Route], one: IntArray
) -> tuple[list[_Option], list[_Option]]:
    """Return what a pair may take in a slot of an orbit, and in one of its own kind.

    In the latter its turned routes are there too, and must not meet; each resource
    stands for those that turns take it to.
    """
    tiles = fabric.node_count
    least = turned_to = np.arange(6 * tiles)
    for _ in turns[1:]:
        turned_to = one[turned_to]
        least = np.minimum(least, turned_to)
    turned: list[_Option] = []
    still: list[_Option] = []
    for route in routes:
        for way in _orbit(turns, route):
            nodes = np.array(way, dtype=np.int64)
            edges = fabric.edge_ids(nodes[:-1], nodes[1:])
            needs = np.append(edges, [4 * tiles + way[0], 5 * tiles + way[-1]])
            turned.append((way, needs))
        alike = np.unique(least[needs])
        moves = one[needs] != needs
        if len(alike) == len(needs) and moves.all():
            still.append((route, alike))
    return turned, still


def _table(
    options: tuple[list[_Option], list[_Option]], orbits: int, alike: int, width: int
) -> IntArray:
    """Return the resources of each option in each slot, shape (options, most)."""
    turned, still = (np.array([needs for _, needs in one]) for one in options)
    parts = [turned + slot * width for slot in range(orbits)]
    if len(still):
        parts += [still + slot * width for slot in range(orbits, orbits + alike)]
    return np.concatenate(parts) if parts else np.zeros((0, 0), dtype=np.int64)


class _Search:
    """One option for each table, so that no resource is taken more often than may be.

    Parameters
    ----------
    tables
        Resources of each option, one row each.
    width
        How often each resource may be taken.
    rng
        Draws among equals.
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
