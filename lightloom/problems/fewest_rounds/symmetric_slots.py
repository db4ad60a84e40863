"""All-to-all in slots that look alike when the grid is turned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.problems.fewest_rounds.first_fit import resource_widths
from lightloom.problems.fewest_rounds.turned_slots import TurnedSlots, Turns, settled
from lightloom.routing.bent_routes import bent_routes

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath

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
