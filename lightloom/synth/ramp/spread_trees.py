"""A tree of shifts along which every node's block spreads to all nodes of a box.

All nodes use the same tree, displaced. In each shift a block goes from some of the
nodes that have it to some that have not: a displacement is reached in one shift, at one
offset of groups, from a displacement that was reached before. A shift lasts as long as
its busiest offset has blocks. The least sum of these is (n - 1) / x, for then all
transceivers are busy all the time; and the shifts cannot be fewer than growth by a
factor of x + 1 needs. Random shifts come close to both.

Collectives along a tree of shifts: segments and steps of a schedule.

An all-gather sends every node's block along the tree. A gather does the part of it that
leads to the root. Reversed in time, and on reversed circuits, an all-gather is a
reduce-scatter, and a gather a scatter. An all-reduce is a reduce-scatter and an
all-gather, a reduce one and a gather; or, for little data, whole buffers go along the
root's tree alone, and are added on the way.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.schedule import Op, Segment, StepPart, Transfers
from lightloom.core.seed import seeded_random
from lightloom.plans.plan import Partition
from lightloom.synth.ramp.node_box import NodeBox, Shift

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
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


@dataclass(frozen=True, eq=False)
class SpreadCollective:
    """A collective, and the tree that its blocks take.

    `collective`: its chunk count chosen; one of `SPREAD_OPS`. `tree`: in the box of its
    nodes. `whole`: of a reduce: whether nothing is cut into blocks.
    """

    collective: Collective
    tree: SpreadTree
    whole: bool = False

    def events(self) -> Iterator[Segment | StepPart]:
        """Yield the segments, each with its step."""
        if self.whole:
            yield from self._of_whole_buffers()
            return
        box, index = self.tree.box, 0
        for back, rooted in _SWEEPS[self.collective.op]:
            owner, reached = self._rooted() if rooted else self._everywhere()
            order = range(len(self.tree.shifts))
            sums = Op.REDUCE if back and not rooted else Op.COPY
            for number in reversed(order) if back else order:
                shift = self.tree.shifts[number]
                if back:
                    shift = shift.reversed(box)
                rows = np.flatnonzero(self.tree.shift[reached] == number)
                here = box.moved(owner[rows], self.tree.parent[reached[rows]])
                there = box.moved(owner[rows], reached[rows])
                ends = (there, here) if back else (here, there)
                yield Segment(0, index, shift.circuits(box))
                moved = self._transfers(*ends, owner[rows], sums)
                yield StepPart(index, 0, index, moved)
                index += 1

    def _of_whole_buffers(self) -> Iterator[Segment | StepPart]:
        """Yield the segments and steps of a reduce to the root, last reached first."""
        box, tree = self.tree.box, self.tree
        for index, number in enumerate(reversed(range(len(tree.shifts)))):
            reached = np.flatnonzero(tree.shift == number)
            src = box.nodes[box.moved(reached, self._root)]
            dst = box.nodes[box.moved(tree.parent[reached], self._root)]
            none = np.zeros(len(reached), dtype=np.int64)
            end = none + self.collective.chunk_count
            yield Segment(0, index, tree.shifts[number].reversed(box).circuits(box))
            rows = Transfers(src, dst, none, end, none + int(Op.REDUCE))
            yield StepPart(index, 0, index, rows)

    @property
    def _root(self) -> int:
        """Place of the root."""
        node = self.collective.nodes[self.collective.root_rank]
        return int(np.searchsorted(self.tree.box.nodes, node))

    def _everywhere(self) -> tuple[IntArray, IntArray]:
        """Return for every move the place whose block it is, and how far it gets."""
        places = np.arange(len(self.tree.box), dtype=np.int64)
        return np.repeat(places, len(places) - 1), np.tile(places[1:], len(places))

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

    def _transfers(
        self, src: IntArray, dst: IntArray, owner: IntArray, op: Op
    ) -> Transfers:
        """Return rows between places, those of a pair that follow each other as one."""
        nodes, task = self.tree.box.nodes, self.collective
        rank = np.zeros(self.tree.box.fabric.node_count, dtype=np.int64)
        rank[list(task.nodes)] = np.arange(len(nodes))
        block = rank[nodes[owner]]
        order = np.lexsort((block, dst, src))
        src, dst, block = src[order], dst[order], block[order]
        cut = Partition(len(nodes), task.chunk_count)
        lo, hi = cut.boundary(block), cut.boundary(block + 1)
        some = hi > lo
        src, dst, lo, hi = src[some], dst[some], lo[some], hi[some]
        fresh = np.ones(len(lo), dtype=np.bool_)
        fresh[1:] = (lo[1:] != hi[:-1]) | (src[1:] != src[:-1]) | (dst[1:] != dst[:-1])
        first = np.flatnonzero(fresh)
        last = np.append(first[1:], len(lo))[: len(first)] - 1
        codes = np.full(len(first), int(op), dtype=np.int64)
        return Transfers(
            nodes[src[first]], nodes[dst[first]], lo[first], hi[last], codes
        )
