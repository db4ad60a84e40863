"""First fit of pairs into slots, and exchanges that empty the last ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.core.seed import seeded_random
from lightloom.problems.fewest_rounds.slot_packing import Packing
from lightloom.routing.dimension_order import dimension_ordered

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
