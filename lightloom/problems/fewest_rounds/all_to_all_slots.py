"""All-to-all in slots: every pair of tiles in few partial permutations."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.core.seed import seeded_random
from lightloom.problems.fewest_rounds.slots import (
    TurnedSlots,
    Turns,
    first_fit_slots,
    resource_widths,
    settled,
)
from lightloom.routing.graph import capacity_by_id
from lightloom.routing.rectangle_cuts import rectangle_cut
from lightloom.routing.routes import bent_routes, dimension_ordered

if TYPE_CHECKING:
    import random

    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath


_MOVES = 10
"""Moves of a pair and those it is turned to, for each exchange of the first fit."""
_MOST_SIDE = 64
"""Longest side of a grid for which balanced squares are sought."""


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


_PASSES = 40_000
_ATTEMPTS = 3
_HEAT = 0.6


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


_MOST_OPTIONS = 2**18


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
