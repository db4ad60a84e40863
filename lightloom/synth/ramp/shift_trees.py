"""A tree of shifts along which every node's block spreads to all nodes of a box.

All nodes use the same tree, displaced. In each shift a block goes from some of the
nodes that have it to some that have not: a displacement is reached in one shift, at one
offset of groups, from a displacement that was reached before. A shift lasts as long as
its busiest offset has blocks. The least sum of these is (n - 1) / x, for then all
transceivers are busy all the time; and the shifts cannot be fewer than growth by a
factor of x + 1 needs. Random shifts come close to both.

A collective goes along a tree of shifts in sweeps. An all-gather sends every node's
block along the tree. A gather does the part of it that leads to the root. Reversed in
time, and on reversed circuits, an all-gather is a reduce-scatter, and a gather a
scatter. An all-reduce is a reduce-scatter and an all-gather, a reduce one and a gather;
or, for little data, whole buffers go along the root's tree alone, and are added on the
way.

Between whole buffers and blocks lie *hubs*, for an all-reduce. The places of a box are
cosets of a subgroup. Each coset has a part of the buffer, and its members are the hubs
of that part: along a tree that has one displacement of each coset every hub sums up
what its share of all nodes has of the part; hubs of a part exchange these sums, in one
step for each of up to three subgroups that make them up; and the totals spread along
the tree. With more hubs the parts are larger, and the tree has fewer steps. In a step
of the exchange all nodes that differ in a subgroup of displacements (c, r(c), n(c))
meet, in which the offset c of the groups tells the others: (c, 0, 0), then (c, c, 0),
then (c, 0, c numbers / groups).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.schedule import Op, Segment, StepPart
from lightloom.core.seed import seeded_random
from lightloom.core.units import transmission_ps
from lightloom.plans.plan import Partition
from lightloom.synth.ramp.node_box import (
    NodeBox,
    Shift,
    fewest_shifts,
    joined_rows,
    random_shift,
    ranks_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.ramp import Ramp


_WORK = 2**16
"""Displacements that are tried in all for one number of shifts, about."""
_LEAST_TRIALS = 12
"""Draws for one number of shifts on the largest boxes."""
_MORE_SHIFTS = 6
"""Numbers of shifts from the fewest on: the first with a draw that reaches all is
taken."""


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
    def parts(self) -> int:
        """How many displacements, or cosets, there are."""
        return len(self.shift)

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
    count = fewest_shifts(groups, targets)
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


_SWEEPS = {
    "all-gather": ((False, False),),
    "all-reduce": ((True, False), (False, False)),
    "gather": ((False, True),),
    "reduce": ((True, False), (False, True)),
    "reduce-scatter": ((True, False),),
    "scatter": ((True, True),),
}
"""By operation: whether the tree is reversed, and whether it is the root's alone."""
SPREAD_OPS = tuple(_SWEEPS)

Orders = tuple[int, int, int]
_NO_HUBS = (1, 1, 1)
"""Orders of the subgroups where each node is for itself."""
_Move = tuple[Shift, tuple["IntArray", "IntArray"], "IntArray", Op]
"""Circuits, the places that send and hear, the parts that move, and what for."""


@dataclass(frozen=True, eq=False)
class TreeCollective:
    """A collective along a tree of shifts.

    `collective`: one of `SPREAD_OPS`, its chunk count chosen. `tree`: in the box of its
    nodes. `orders`: of an all-reduce by hubs: orders of the subgroups of groups, racks
    and numbers that hubs are made of. `whole`: of a reduce: whether nothing is cut into
    blocks.
    """

    collective: Collective
    tree: SpreadTree
    orders: Orders = _NO_HUBS
    whole: bool = False

    @property
    def blocks_moved(self) -> int:
        """Rows of the moves that everybody's blocks make, at most."""
        sweeps = sum(not rooted for _, rooted in _SWEEPS[self.collective.op])
        senders = 1 if self.whole else len(self.tree.box)
        return sweeps * senders * (self.tree.parts - 1)

    def events(self) -> Iterator[Segment | StepPart]:
        """Yield the segments, each with its step."""
        box, task = self.tree.box, self.collective
        cut = Partition(1 if self.whole else self.tree.parts, task.chunk_count)
        for index, (shift, ends, part, op) in enumerate(self._moves()):
            yield Segment(0, index, shift.circuits(box))
            moved = joined_rows(box.nodes, ends, part, cut.boundary, op)
            yield StepPart(index, 0, index, moved)

    def _moves(self) -> Iterator[_Move]:
        """Yield what moves in each step."""
        if self.whole:
            targets = np.arange(1, self.tree.parts, dtype=np.int64)
            owner = np.full(len(targets), self._root)
            yield from self._sweep(owner, targets, owner * 0, back=True, op=Op.REDUCE)
            return
        part = cosets(self.tree.box, self.orders)
        if self.orders == _NO_HUBS:
            part = ranks_of(self.tree.box, self.collective)
        for back, rooted in _SWEEPS[self.collective.op]:
            owner, target = self._rooted() if rooted else self._everywhere()
            op = Op.REDUCE if back and not rooted else Op.COPY
            yield from self._sweep(owner, target, part[owner], back=back, op=op)
            if back and self.orders != _NO_HUBS:
                yield from self._meet(part)

    def _sweep(
        self, owner: IntArray, target: IntArray, part: IntArray, *, back: bool, op: Op
    ) -> Iterator[_Move]:
        """Yield what moves along the tree, or against it."""
        box, tree = self.tree.box, self.tree
        order = range(len(tree.shifts))
        for number in reversed(order) if back else order:
            shift = tree.shifts[number]
            rows = np.flatnonzero(tree.shift[target] == number)
            here = box.moved(owner[rows], tree.parent[target[rows]])
            there = box.moved(owner[rows], tree.reached[target[rows]])
            if back:
                yield shift.reversed(box), (there, here), part[rows], op
            else:
                yield shift, (here, there), part[rows], op

    def _meet(self, part: IntArray) -> Iterator[_Move]:
        """Yield what moves between the hubs of a part."""
        box = self.tree.box
        for shift in _meetings(box, self.orders):
            src, offset = shift.pairs(box)
            dst = box.moved(src, shift.displacements(box)[offset])
            yield shift, (src, dst), part[src], Op.REDUCE

    @property
    def _root(self) -> int:
        """Place of the root."""
        node = self.collective.nodes[self.collective.root_rank]
        return int(np.searchsorted(self.tree.box.nodes, node))

    def _everywhere(self) -> tuple[IntArray, IntArray]:
        """Return for every move the place that it is for, and what is reached."""
        places = np.arange(len(self.tree.box), dtype=np.int64)
        targets = np.arange(1, self.tree.parts, dtype=np.int64)
        return np.repeat(places, len(targets)), np.tile(targets, len(places))

    def _rooted(self) -> tuple[IntArray, IntArray]:
        """Return the same for the moves of blocks on their way to the root."""
        box = self.tree.box
        owner = np.arange(len(box), dtype=np.int64)
        reached = box.moved(box.opposite(owner), self._root)
        owners, ways = [], []
        while len(owner):
            owner, reached = owner[reached > 0], reached[reached > 0]
            owners.append(owner)
            ways.append(reached)
            reached = self.tree.parent[reached]
        return np.concatenate(owners), np.concatenate(ways)


def _meetings(box: NodeBox, orders: Orders) -> Iterator[Shift]:
    """Yield the shifts in which hubs of a part exchange their sums."""
    for axis, order in enumerate(orders):
        if order > 1:
            offset = np.arange(box.groups, dtype=np.int64)
            numbers = offset * 0
            if axis == 2:
                numbers = offset * order // box.groups * (box.numbers // order)
            lit = offset[:: box.groups // order][1:]
            yield Shift(0, axis == 1, numbers, lit)


_TRIED = 8
"""Subgroups, the most promising first, for which trees are made."""


def best_hubs(box: NodeBox, size_bytes: int) -> tuple[SpreadTree, Orders] | None:
    """Return the fastest tree to hubs of some, ``None`` where a box has no hubs."""
    promising = sorted((_least_ps(box, hubs, size_bytes), hubs) for hubs in _hubs(box))
    best: tuple[int, SpreadTree, Orders] | None = None
    for least_ps, orders in promising[:_TRIED]:
        if best is not None and best[0] <= least_ps:
            break
        tree = spread_tree(box, orders)
        if tree is None:
            continue
        steps, rounds = len(tree.shifts), tree.blocks
        time_ps = _time_ps(box, orders, steps, rounds, size_bytes)
        if best is None or time_ps < best[0]:
            best = time_ps, tree, orders
    return None if best is None else best[1:]


def _hubs(box: NodeBox) -> Iterator[Orders]:
    """Yield orders of subgroups in which hubs can meet, fewer hubs than nodes."""
    sizes = (box.groups, box.racks, box.numbers)
    divisors = [[d for d in range(1, size + 1) if not size % d] for size in sizes]
    for first, second, third in product(*divisors):
        fits = not first % second and not first % third
        turns = second == 1 or box.racks == box.groups
        if fits and turns and 1 < first * second * third < len(box):
            yield first, second, third


def _least_ps(box: NodeBox, orders: Orders, size_bytes: int) -> int:
    """Return what an all-reduce takes with a perfect tree."""
    parts = len(box) // prod(orders)
    shifts = fewest_shifts(box.groups, parts)
    return _time_ps(box, orders, shifts, -(-(parts - 1) // box.groups), size_bytes)


def _time_ps(
    box: NodeBox, orders: Orders, shifts: int, rounds: int, size_bytes: int
) -> int:
    """Return the time of an all-reduce by hubs, up to rounding.

    `shifts`, `rounds`: of the tree, and the parts that its busiest circuits carry in
    all.
    """
    fabric, meetings = box.fabric, sum(order > 1 for order in orders)
    part_bytes = -(-size_bytes * prod(orders) // len(box))
    part_ps = transmission_ps(part_bytes, fabric.transceiver_bits_per_s)
    fixed_ps = fabric.alpha_ps + fabric.reconfiguration_ps
    return (2 * shifts + meetings) * fixed_ps + (2 * rounds + meetings) * part_ps
