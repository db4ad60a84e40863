"""A tree of shifts along which every node's block spreads to all nodes of a box.

All nodes use the same tree, displaced. In each shift a block goes from some of the
nodes that have it to some that have not: a displacement is reached in one shift, at one
offset of groups, from a displacement that was reached before. A shift lasts as long as
its busiest offset has blocks. The least sum of these is (n - 1) / x, for then all
transceivers are busy all the time; and the shifts cannot be fewer than growth by a
factor of x + 1 needs. Random shifts come close to both.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.seed import seeded_random
from lightloom.synth.ramp.node_box import NodeBox, Shift

if TYPE_CHECKING:
    from random import Random

    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.ramp import Ramp

_WORK = 2**16
"""Displacements that are tried in all for one number of shifts, about."""
_LEAST_TRIALS = 12
_MORE_SHIFTS = 6


@dataclass(frozen=True, eq=False)
class SpreadTree:
    """How a block spreads.

    `shifts`: in the order in which they are lit. `shift`, `offset`: in which shift and
    at which offset of the groups each displacement is reached, or each coset, shape
    (displacements,) or (cosets,); -1 for displacement 0. `parent`, `reached`: from
    which displacement, and which one; of a coset one of its displacements.
    """

    box: NodeBox
    shifts: tuple[Shift, ...]
    shift: IntArray
    offset: IntArray
    parent: IntArray
    reached: IntArray

    @property
    def blocks(self) -> int:
        """Blocks that the busiest offsets of all shifts have to send."""
        return _busiest(self.box, len(self.shifts), self.shift, self.offset)


def spread_tree(
    box: NodeBox, hubs: tuple[int, int, int] = (1, 1, 1)
) -> SpreadTree | None:
    """Return a tree of few shifts whose offsets are nearly equally busy.

    `hubs`: orders of the subgroups of groups, racks and numbers whose product need only
    be reached as a whole: the tree has one displacement of each coset.

    Returns ``None`` where random shifts do not reach all.

    Deterministic. As many trials as `_WORK` allows for the least number of shifts,
    then for one more, until there is a tree.
    """
    sizes = (box.groups, box.racks, box.numbers)
    found = _found(box.fabric, *sizes, hubs)
    return None if found is None else SpreadTree(box, found[0], *found[1])


def cosets(box: NodeBox, hubs: tuple[int, int, int]) -> IntArray:
    """Return the coset of each place, or displacement, counted from 0."""
    sizes = (box.groups, box.racks, box.numbers)
    group, rack, number = (
        part % (size // order)
        for part, size, order in zip(
            box.coordinates(np.arange(len(box), dtype=np.int64)),
            *(sizes, hubs),
            strict=True,
        )
    )
    row = group * (box.racks // hubs[1]) + rack
    coset: IntArray = row * (box.numbers // hubs[2]) + number
    return coset


_Table = tuple["IntArray", "IntArray", "IntArray", "IntArray"]


@functools.lru_cache(maxsize=32)
def _found(
    fabric: Ramp, groups: int, racks: int, numbers: int, hubs: tuple[int, int, int]
) -> tuple[tuple[Shift, ...], _Table] | None:
    """Return shifts, and the columns of a tree, of a box of these sizes."""
    nodes = np.arange(groups * racks * numbers, dtype=np.int64)
    box = NodeBox(fabric, groups, racks, numbers, nodes)
    random = seeded_random(groups * 10**6 + racks * 10**3 + numbers)
    coset = cosets(box, hubs)
    targets = int(coset.max()) + 1
    count, reach = 0, 1
    while reach < targets:
        count, reach = count + 1, reach * (groups + 1)
    ideal = -(-(targets - 1) // groups)
    best: tuple[int, tuple[Shift, ...], _Table] | None = None
    tried: set[tuple[tuple[int, bytes], ...]] = set()
    for many in range(count, count + _MORE_SHIFTS):
        for _ in range(max(_LEAST_TRIALS, _WORK // len(box))):
            shifts = tuple(random_shift(box, random, index) for index in range(many))
            known = tuple((one.racks, one.numbers.tobytes()) for one in shifts)
            table = None if known in tried else _grown(box, shifts, coset)
            tried.add(known)
            if table is None:
                continue
            blocks = _busiest(box, many, table[0], table[1])
            if best is None or blocks < best[0]:
                best = (blocks, shifts, table)
            if blocks == ideal:
                break
        if best is not None:
            return best[1], best[2]
    return None


def _busiest(box: NodeBox, count: int, shift: IntArray, offset: IntArray) -> int:
    """Return the sum over shifts of the most blocks that an offset has."""
    slot = shift[1:] * box.groups + offset[1:]
    loads = np.bincount(slot, minlength=count * box.groups)
    return int(loads.reshape(count, box.groups).max(axis=1).sum())


def random_shift(box: NodeBox, random: Random, index: int) -> Shift:
    """Return a shift of which every offset leads elsewhere.

    The first ones move groups, then racks with groups.
    """
    turns = box.turns and box.racks > 1 and index % 2 == 1
    racks = 0 if turns or index == 0 else random.randrange(box.racks)
    numbers = [random.randrange(box.numbers) for _ in range(box.groups)]
    if not racks and not numbers[0]:
        if box.numbers > 1:
            numbers[0] = random.randrange(1, box.numbers)
        elif box.racks > 1:
            racks = random.randrange(1, box.racks)
    lit = np.arange(box.groups, dtype=np.int64)
    if not racks and not numbers[0]:
        lit = lit[1:]  # one node in each group: there is nowhere else to go
    return Shift(racks, turns, np.array(numbers, dtype=np.int64), lit)


def _grown(box: NodeBox, shifts: tuple[Shift, ...], coset: IntArray) -> _Table | None:
    """Return the columns of a tree along shifts, ``None`` where it misses some."""
    targets = int(coset.max()) + 1
    shift = np.full(targets, -1, dtype=np.int64)
    offset, parent = shift.copy(), shift.copy()
    known = np.zeros(1, dtype=np.int64)
    place = np.zeros(targets, dtype=np.int64)
    for index, one in enumerate(shifts):
        last = index == len(shifts) - 1
        by = one.displacements(box)[one.lit]
        there = box.moved(known[:, None], by[None, :])
        fresh = (shift[coset[there]] < 0) & (coset[there] != 0)
        source = np.full((len(by), targets), -1, dtype=np.int64)
        row, column = np.nonzero(fresh)
        source[column, coset[there[row, column]]] = known[row]
        missing = int((shift[1:] < 0).sum())
        chosen = _balanced(source)
        if last and len(chosen) < missing:
            return None
        loads = np.bincount(list(chosen.values()), minlength=len(by))
        least = targets if last else max(int(loads.min()), 1)
        taken = [0] * len(by)
        reached = []
        for target, way in chosen.items():
            if taken[way] < least:
                taken[way] += 1
                reached.append((target, way))
        if not reached:
            return None
        target, way = np.array(reached, dtype=np.int64).T
        shift[target], offset[target] = index, one.lit[way]
        parent[target] = source[way, target]
        place[target] = box.moved(parent[target], by[way])
        known = np.concatenate([known, place[target]])
    return shift, offset, parent, place


def _balanced(source: IntArray) -> dict[int, int]:
    """Return the way by which each target is reached, ways nearly equally busy.

    `source`: where a target is reached from by each way, -1 where it is not, of shape
    (ways, targets).
    """
    open_ways = source >= 0
    count = open_ways.sum(axis=0)
    targets = np.flatnonzero(count)
    targets = targets[np.argsort(count[targets], kind="stable")]
    loads = [0] * len(source)
    chosen: dict[int, int] = {}
    for target in targets.tolist():
        ways = np.flatnonzero(open_ways[:, target]).tolist()
        way = min(ways, key=loads.__getitem__)
        loads[way] += 1
        chosen[target] = way
    return chosen
