"""All-to-all in slots: every pair of tiles in few partial permutations.

Three ways: products of balanced squares, first fit with evictions, and slots that look
alike when the grid is turned. `settled` searches the last kind, and rounds as well.
"""

from __future__ import annotations

import functools
import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.core.seed import seeded_random
from lightloom.routing.graph import capacity_by_id
from lightloom.routing.rectangle_cuts import rectangle_cut
from lightloom.routing.routes import bent_routes, dimension_ordered

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.routing.routes import Route


_SAMPLE = 24
"""Slots that are looked at for a row that fits none."""
_MEMORY = 0.3
"""What each eviction of a row adds to the cost of the next one."""
_QUARTERS = 4
"""Turns of a square."""
_DEARER = 0.3
"""What a resource in conflict gains in price where no move helps."""
_TRY = 60_000, 60
"""Moves before a new beginning: so many, or so many for each table."""
_MOVES = 10
"""Moves of a pair and those it is turned to, for each exchange of the first fit."""
_MOST_SIDE = 64
"""Longest side of a grid for which balanced squares are sought."""
_PASSES = 40_000
"""Exchanges of cycles before a new beginning."""
_ATTEMPTS = 3
"""Beginnings of the search for a balanced square."""
_HEAT = 0.6
"""First temperature, in excess paths; it falls evenly."""
_MOST_OPTIONS = 2**18
"""Options of all pairs in the search for slots alike when turned: grids of 36 tiles."""


@dataclass(frozen=True, eq=False)
class Slots:
    """Every ordered pair of some tiles, each in a slot with its route.

    A slot is what one wavelength carries in one round: no source and no destination
    twice, and no edge above its waveguides.

    `src`, `dst`, `slot`: columns, one row a pair. `route`: tiles of each row's route.
    `bound`: no routes and slots do with fewer. `nodes`: witness: a tile that all others
    send to, or the node set of the cut. `method`: how the slots were made.
    """

    src: IntArray
    dst: IntArray
    slot: IntArray
    route: Ragged
    slot_count: int
    bound: int
    kind: str
    nodes: IntArray
    method: str

    @property
    def proved(self) -> bool:
        """Whether no packing can be better."""
        return self.slot_count == self.bound


def all_to_all_slots(
    fabric: Lightpath,
    nodes: tuple[int, ...] | None = None,
    *,
    seed: int = 0,
    effort: int = 20_000,
) -> Slots:
    """Return all ordered pairs of `nodes` in few slots.

    On a whole grid, the product of two balanced squares is a set of permutations of
    the tiles with few paths over each edge, one step along the row and one along the
    column. Where these are more than the waveguides, the paths of a permutation are
    coloured: a path's colour is that of its columns plus that of its rows, so that
    the paths that meet on an edge have different ones. For sides that 4 divides and
    W waveguides dividing a quarter of them this meets the cut bound. Where it meets
    no bound, first fit with exchanges competes.

    `nodes`: tiles that take part; all where ``None``.

    Raises `InfeasibleError` if a pair has no route.
    """
    whole = tuple(range(fabric.node_count))
    members = whole if nodes is None else nodes
    node = np.array(members, dtype=np.int64)
    src, dst = np.repeat(node, len(node)), np.tile(node, len(node))
    src, dst = src[src != dst], dst[src != dst]
    capacity = fabric.edge_waveguides(*fabric.edges())
    cut = rectangle_cut(fabric, src, dst, capacity=capacity)
    ends = len(node) - 1
    bound, kind, witness = max(
        (ends, "receive", node[:1]), (cut.bound, "cut", cut.nodes), key=lambda b: b[0]
    )
    best: tuple[str, tuple[IntArray, Ragged]] | None = None
    width = int(capacity.min()) if len(capacity) else 0
    if len(node) == fabric.node_count and width:
        slots = _product(fabric, src, dst, width, bound)
        best = None if slots is None else ("balanced squares", slots)
    if len(src) and (best is None or int(best[1][0].max()) + 1 > bound):
        by_id = capacity_by_id(fabric, capacity)
        packed = first_fit_slots(
            fabric, src, dst, by_id, bound=bound, seed=seed, effort=effort
        )
        if best is None or packed[0].max() < best[1][0].max():
            best = "first fit", packed
        if len(node) == fabric.node_count:
            most = int(best[1][0].max()) + 1
            for fewer in sorted({bound, (bound + most) // 2} - {most}):
                alike = symmetric_slots(
                    fabric, by_id, fewer, seed=seed, moves=_MOVES * effort
                )
                if alike is not None:
                    row = src * ends + dst - (dst > src)
                    best = "alike when turned", (alike[0][row], alike[1].take(row))
                    break
    if best is None:
        best = "balanced squares", (src, dimension_ordered(fabric, src, dst))
    method, (slot, route) = best
    count = int(slot.max(initial=-1)) + 1
    return Slots(src, dst, slot, route, count, bound, kind, witness, method)


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
    by_row = dimension_ordered(fabric, src, dst, first="row")
    by_column = dimension_ordered(fabric, src, dst, first="column")
    both = Ragged.from_lengths(
        np.concatenate([by_row.lengths, by_column.lengths]),
        np.concatenate([by_row.values, by_column.values]),
    )
    taken, count = _resources(fabric, both), len(src)
    needs = [[taken[row], taken[count + row]] for row in range(count)]
    rng = seeded_random(seed)
    order = sorted(range(count), key=lambda row: (-len(needs[row][0]), rng.random()))
    packing = Packing(needs, resource_widths(by_id), order, rng)
    packing.fill()
    best = list(packing.place)
    while effort > 0 and packing.slots > bound:
        effort = packing.give_up_last(effort)
        if packing.waiting:
            break
        best = list(packing.place)
    slot, choice = np.array(best, dtype=np.int64).reshape(-1, 2).T
    return slot.copy(), both.take(np.arange(count) + choice * count)


def _resources(fabric: Lightpath, route: Ragged) -> list[list[int]]:
    """Return what each route takes: edges, then its source and its destination.

    Resources are numbered edges first, then sources, then destinations.
    """
    nodes, ends = fabric.node_count, route.offsets[1:] - 1
    inner = np.delete(np.arange(len(route.values)), ends)
    edges = fabric.edge_ids(route.values[inner], route.values[inner + 1])
    taken = Ragged.from_lengths(route.lengths - 1, edges).to_lists()
    src, dst = route.values[route.offsets[:-1]], route.values[ends]
    return [
        [*ids, 4 * nodes + first, 5 * nodes + last]
        for ids, first, last in zip(taken, src.tolist(), dst.tolist(), strict=True)
    ]


def resource_widths(by_id: IntArray) -> list[int]:
    """Return how much of each resource of `_resources` a slot has."""
    return [*by_id.tolist(), *([1] * (len(by_id) // 2))]


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


def _product(
    fabric: Lightpath, src: IntArray, dst: IntArray, width: int, bound: int
) -> tuple[IntArray, Ragged] | None:
    """Return slots by balanced squares with `width` waveguides, the fewer of two."""
    if max(fabric.rows, fabric.cols) > _MOST_SIDE:
        return None
    best: IntArray | None = None
    for identity in (False, True):
        across = _BalancedSquare.of(fabric.cols, width, identity=identity)
        down = _BalancedSquare.of(fabric.rows, width, identity=identity)
        if across is None or down is None:
            continue
        parts = max(across.parts, down.parts)
        (from_row, from_col), (to_row, to_col) = (
            np.divmod(tiles, fabric.cols) for tiles in (src, dst)
        )
        one, two = across.row[from_col, to_col], down.row[from_row, to_row]
        colour = across.part[from_col, to_col] + down.part[from_row, to_row]
        slot = (two * fabric.cols + one) * parts + colour % parts
        # Numbered without gaps: where the identities meet, nothing moves.
        slot = np.unique(slot, return_inverse=True)[1].astype(np.int64)
        if best is None or slot.max() < best.max():
            best = slot
        if best.max() < bound:
            break
    if best is None:
        return None
    return best, dimension_ordered(fabric, src, dst)


@dataclass(frozen=True, eq=False)
class _BalancedSquare:
    """A balanced square of one side: the row of each (from, to), and its part."""

    row: IntArray
    part: IntArray
    parts: int

    @classmethod
    def of(cls, size: int, width: int, *, identity: bool) -> _BalancedSquare | None:
        """Return the square of the fewest crossings that was found."""
        middle = (size // 2) * (size - size // 2)
        least = -(-middle // max(size - identity, 1))
        square = None
        for most in range(least, size):
            square = balanced_square(size, most, identity=identity)
            if square is not None:
                break
        if square is None:
            square = ((0,),)
        row = np.zeros((size, size), dtype=np.int64)
        part = np.zeros((size, size), dtype=np.int64)
        for index, targets in enumerate(square):
            colours = np.array(_colours(targets), dtype=np.int64)
            row[np.arange(size), targets] = index
            part[np.arange(size), targets] = colours // width
        return cls(row, part, int(part.max()) + 1)


def _colours(targets: tuple[int, ...]) -> list[int]:
    """Return a colour per path: fewest such that those sharing an edge differ."""
    colours = [0] * len(targets)
    for sign in (1, -1):
        free: list[tuple[int, int]] = []  # (last place, colour), signed
        paths = sorted(
            (sign * source, sign * target, source)
            for source, target in enumerate(targets)
            if sign * target > sign * source
        )
        for begin, end, source in paths:
            ended = [pair for pair in free if pair[0] <= begin]
            colour = min((c for _, c in ended), default=len(free))
            free = [pair for pair in free if pair[1] != colour]
            free.append((end, colour))
            colours[source] = colour
    return colours


@functools.lru_cache(maxsize=256)
def balanced_square(
    size: int, most: int, *, identity: bool = False
) -> tuple[tuple[int, ...], ...] | None:
    """Return `size` permutations that take every place to every place once.

    Read a permutation as paths along a line, from place c to place p[c]. Between any
    two neighbouring places, at most `most` paths lead to the right, and as many to
    the left. From the cyclic shifts, cycles of two permutations are exchanged at
    random, at falling temperature.

    `size`: places of the line, at least 1. `most`: at least ``ceil(floor(size / 2) *
    ceil(size / 2) / size)``, which is the average over the permutations at the middle.

    Returns the square, or ``None`` where none was found. Deterministic.
    """
    for attempt in range(_ATTEMPTS):
        rng = seeded_random(attempt)
        found = _anneal(size, most, rng, identity=identity)
        if found is not None:
            return tuple(map(tuple, found))
    return None


def _anneal(
    size: int, most: int, rng: random.Random, *, identity: bool
) -> list[list[int]] | None:
    """Return a square, or ``None`` where the exchanges found none."""
    square = [[(place + by) % size for place in range(size)] for by in range(size)]
    excess = [_excess(row, most) for row in square]
    total, first = sum(excess), int(identity)
    for done in range(_PASSES):
        if not total or size - first < 2:
            break
        one, two = rng.sample(range(first, size), 2)
        rows = _exchanged(square[one], square[two], rng.randrange(size))
        if rows is None:
            continue
        now = [_excess(row, most) for row in rows]
        worse = sum(now) - excess[one] - excess[two]
        heat = max(_HEAT * (1 - done / _PASSES), 0.05)
        if worse <= 0 or rng.random() < math.exp(-worse / heat):
            square[one], square[two] = rows
            excess[one], excess[two] = now
            total += worse
    return None if total else square


def _exchanged(
    one: list[int], two: list[int], place: int
) -> tuple[list[int], list[int]] | None:
    """Return two permutations with one common cycle exchanged, unless it is all."""
    back = [0] * len(one)
    for source, target in enumerate(one):
        back[target] = source
    new_one, new_two, length = one.copy(), two.copy(), 0
    at = place
    while not length or at != place:
        new_one[at], new_two[at] = two[at], one[at]
        at, length = back[two[at]], length + 1
    return None if length == len(one) else (new_one, new_two)


def _excess(row: list[int], most: int) -> int:
    """Return by how much the paths to the right exceed `most`, over the line."""
    change = [0] * (len(row) + 1)
    for source, target in enumerate(row):
        if target > source:
            change[source] += 1
            change[target] -= 1
    load = excess = 0
    for step in change:
        load += step
        excess += max(0, load - most)
    return excess


def symmetric_slots(
    fabric: Lightpath, by_id: IntArray, slots: int, *, seed: int, moves: int
) -> tuple[IntArray, Ragged] | None:
    """Return a slot and a route of every ordered pair of tiles, or ``None``.

    Turns of the grid, by quarters where it is square, else by halves, take pairs to
    pairs and edges to edges. Slots come in orbits that turns take to each other, so
    one pair of each orbit of pairs says where the others are; the slots that are left
    are the same after each turn. What the tile in the middle sends is in the orbits.
    That leaves a fourth, or half, of the pairs to place, by `settled`.

    Returns rows in the order of pairs (source, destination); ``None`` where the moves
    do not end all conflicts, where turned edges have other capacities, or for large
    grids.
    """
    if moves < 1:
        return None
    tiles = fabric.node_count
    wide = np.array(resource_widths(by_id), dtype=np.int64)
    quarters = fabric.rows == fabric.cols
    turns = Turns.of(fabric, wide, 4 if quarters else 2)
    if turns is None:
        return None
    orbits = slots // turns.order
    if (turns.tiles[1] == np.arange(tiles)).any():
        orbits = min(orbits, -(-(tiles - 1) // turns.order))
    pairs = [(src, dst) for src in range(tiles) for dst in range(tiles) if src != dst]
    first = [pair for pair in pairs if pair == min(turns.orbit(pair))]
    if len(first) * slots * 4 > _MOST_OPTIONS:
        return None
    room = TurnedSlots(turns, orbits, slots - turns.order * orbits)
    routes = [sorted(bent_routes(fabric, *pair)) for pair in first]
    tables = [room.table(each) for each in routes]
    if any(table.size == 0 for table in tables):
        return None
    chosen = settled(tables, room.width, seed=seed, moves=moves)
    if chosen is None:
        return None
    found: dict[tuple[int, int], tuple[int, tuple[int, ...]]] = {}
    for each, at in zip(routes, chosen, strict=True):
        for place, route in room.places(each, at):
            found[route[0], route[-1]] = place, route
    slot = np.array([found[pair][0] for pair in pairs], dtype=np.int64)
    return slot, Ragged.from_lists([list(found[pair][1]) for pair in pairs])


@dataclass(frozen=True, eq=False)
class Turns:
    """Turns of a grid that take each edge to one with as many waveguides.

    `wide`: capacity of each resource: edges, sources and destinations, numbered as by
    `_resources`. `tiles`: where each turn takes each tile, shape (turns, tiles); the
    first moves none.
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
