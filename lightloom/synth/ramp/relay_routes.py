"""Routes of an all-to-all on a small box of nodes along few random shifts.

A block takes one shift, or two or three in their order, whichever is least; of several
routes one whose offsets of the groups have fewest blocks. That comes close to the bound
``hops``: S random shifts lead to S x displacements at once, to nearly C(S, 2) x^2 by
two of them, and so on.
"""

from __future__ import annotations

import functools
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.seed import seeded_random
from lightloom.synth.ramp.exchange_routes import Routes
from lightloom.synth.ramp.node_box import NodeBox
from lightloom.synth.ramp.spread_trees import random_shift

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.ramp import Ramp
    from lightloom.synth.ramp.node_box import Shift

MOST_NODES = 256
"""Most nodes of a box for which routes are searched."""
_MOST_HOPS = 3
_MORE_SHIFTS = 5
_TRIALS = 24
_PASSES = 2

_Found = tuple[tuple["Shift", ...], "IntArray", "IntArray"]


def relay_routes(box: NodeBox, block_bytes: int) -> Routes | None:
    """Return the routes along random shifts that are fastest for a size of blocks.

    Returns ``None`` for more than `MOST_NODES` nodes, and where none are found.
    """
    if not 1 < len(box) <= MOST_NODES:
        return None
    sizes = (box.groups, box.racks, box.numbers)
    found = [Routes(box, *one) for one in _searched(box.fabric, *sizes)]
    return min(found, key=lambda one: one.time_ps(block_bytes), default=None)


@functools.lru_cache(maxsize=8)
def _searched(
    fabric: Ramp, groups: int, racks: int, numbers: int
) -> tuple[_Found, ...]:
    """Return the best routes for each of some numbers of shifts."""
    count = groups * racks * numbers
    box = NodeBox(fabric, groups, racks, numbers, np.arange(count, dtype=np.int64))
    random = seeded_random(count)
    least, reach = 0, 1
    while reach < count:
        least, reach = least + 1, reach * (groups + 1)
    found = []
    for shifts in range(least, least + _MORE_SHIFTS):
        best: tuple[int, _Found] | None = None
        for _ in range(_TRIALS):
            drawn = tuple(random_shift(box, random, index) for index in range(shifts))
            columns = _routed(box, drawn)
            if columns is None:
                continue
            busiest = int(Routes(box, drawn, *columns).loads.max(axis=1).sum())
            if best is None or busiest < best[0]:
                best = (busiest, (drawn, *columns))
        if best is not None:
            found.append(best[1])
    return tuple(found)


def _routed(
    box: NodeBox, shifts: tuple[Shift, ...]
) -> tuple[IntArray, IntArray] | None:
    """Return shifts and offsets of all hops, ``None`` where some are not reached."""
    groups = box.groups
    slots = [index * groups + shift.lit for index, shift in enumerate(shifts)]
    leads = np.concatenate([shift.displacements(box) for shift in shifts])
    options: dict[int, list[tuple[int, ...]]] = {}
    for hops in range(1, _MOST_HOPS + 1):
        fresh: dict[int, list[tuple[int, ...]]] = {}
        for chosen in combinations(slots, hops):
            ways = np.stack(np.meshgrid(*chosen, indexing="ij")).reshape(hops, -1)
            there = leads[ways[0]]
            for way in ways[1:]:
                there = box.moved(there, leads[way])
            for target, way in zip(there.tolist(), ways.T.tolist(), strict=True):
                if target and target not in options:
                    fresh.setdefault(target, []).append(tuple(way))
        options |= fresh
        if len(options) == len(box) - 1:
            break
    if len(options) < len(box) - 1:
        return None
    return _columns(box, _chosen(options, len(leads)))


def _chosen(
    options: dict[int, list[tuple[int, ...]]], slots: int
) -> dict[int, tuple[int, ...]]:
    """Return a route of each displacement, such that slots are nearly equally busy."""
    loads = [0] * slots
    chosen: dict[int, tuple[int, ...]] = {}

    def cost(way: tuple[int, ...]) -> tuple[int, int]:
        busy = [loads[slot] for slot in way]
        return max(busy), sum(busy)

    order = sorted(options, key=lambda target: (len(options[target]), target))
    for _ in range(_PASSES):
        for target in order:
            for slot in chosen.get(target, ()):
                loads[slot] -= 1
            best = min(options[target], key=cost)
            chosen[target] = best
            for slot in best:
                loads[slot] += 1
    return chosen


def _columns(
    box: NodeBox, chosen: dict[int, tuple[int, ...]]
) -> tuple[IntArray, IntArray]:
    shape = (_MOST_HOPS, len(box))
    slot = np.full(shape, -1, dtype=np.int64)
    for target, way in chosen.items():
        slot[: len(way), target] = way
    return np.where(slot < 0, -1, slot // box.groups), slot % box.groups
