"""Collectives along a tree of shifts: segments and steps of a schedule.

An all-gather sends every node's block along the tree. A gather does the part of it that
leads to the root. Reversed in time, and on reversed circuits, an all-gather is a
reduce-scatter, and a gather a scatter. An all-reduce is a reduce-scatter and an
all-gather, a reduce one and a gather; or, for little data, whole buffers go along the
root's tree alone, and are added on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.schedule import Op, Segment, StepPart, Transfers
from lightloom.plans.plan import Partition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.synth.ramp.spread_trees import SpreadTree

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
