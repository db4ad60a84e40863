"""All-reduce on RAMP between whole buffers and blocks: hubs sum up, exchange, spread.

The places of a box are cosets of a subgroup. Each coset has a part of the buffer, and
its members are the hubs of that part: along a tree of shifts that has one displacement
of each coset (`spread_trees`), every hub sums up what its share of all nodes has of the
part; hubs of a part exchange these sums, in one step for each of up to three subgroups
that make them up; and the totals spread along the tree. With more hubs the parts are
larger, and the tree has fewer steps.

In a step of the exchange all nodes that differ in a subgroup of displacements (c, r(c),
n(c)) meet, in which the offset c of the groups tells the others: (c, 0, 0), then (c, c,
0), then (c, 0, c numbers / groups).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.schedule import Op, Segment, StepPart, Transfers
from lightloom.core.units import transmission_ps
from lightloom.plans.plan import Partition
from lightloom.synth.ramp.node_box import Shift
from lightloom.synth.ramp.spread_trees import cosets, spread_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.synth.ramp.node_box import NodeBox
    from lightloom.synth.ramp.spread_trees import SpreadTree

_TRIED = 8
"""Subgroups, the most promising first, for which trees are made."""

_Orders = tuple[int, int, int]
_Move = tuple[Shift, tuple["IntArray", "IntArray"], "IntArray", Op]
"""Circuits, the places that send and hear, the parts that move, and what for."""


@dataclass(frozen=True, eq=False)
class HubExchange:
    """An all-reduce by hubs.

    `tree`: with one displacement of each coset of the hubs. `orders`: orders of the
    subgroups of groups, racks and numbers that hubs are made of.
    """

    tree: SpreadTree
    orders: _Orders

    @property
    def parts(self) -> int:
        """Parts of the buffer."""
        return len(self.tree.shift)

    def time_ps(self, size_bytes: int) -> int:
        """Return how long it takes, up to rounding."""
        meetings = sum(order > 1 for order in self.orders)
        steps = 2 * len(self.tree.shifts) + meetings
        rounds = 2 * self.tree.blocks + meetings
        return _time_ps(self.tree.box, steps, rounds, self.parts, size_bytes)

    def events(self, task: Collective) -> Iterator[Segment | StepPart]:
        """Yield the segments, each with its step."""
        parts = [*self._sweep(back=True), *self._exchange(), *self._sweep(back=False)]
        for index, (shift, ends, part, op) in enumerate(parts):
            yield Segment(0, index, shift.circuits(self.tree.box))
            yield StepPart(index, 0, index, self._rows(task, *ends, part, op))

    def _sweep(self, *, back: bool) -> Iterator[_Move]:
        """Yield what moves along the tree, to the hubs or from them."""
        box, tree = self.tree.box, self.tree
        coset, every = cosets(box, self.orders), range(len(tree.shifts))
        for number in reversed(every) if back else every:
            target = np.flatnonzero(tree.shift == number)
            hub = np.repeat(np.arange(len(box), dtype=np.int64), len(target))
            here = box.moved(hub, np.tile(tree.parent[target], len(box)))
            there = box.moved(hub, np.tile(tree.reached[target], len(box)))
            shift = tree.shifts[number]
            if back:
                yield shift.reversed(box), (there, here), coset[hub], Op.REDUCE
            else:
                yield shift, (here, there), coset[hub], Op.COPY

    def _exchange(self) -> Iterator[_Move]:
        """Yield what moves between the hubs of a part."""
        box = self.tree.box
        coset = cosets(box, self.orders)
        for shift in self._meetings():
            src, offset = shift.pairs(box)
            dst = box.moved(src, shift.displacements(box)[offset])
            yield shift, (src, dst), coset[src], Op.REDUCE

    def _meetings(self) -> Iterator[Shift]:
        """Yield the shifts of the exchange."""
        box = self.tree.box
        for axis, order in enumerate(self.orders):
            if order > 1:
                offset = np.arange(box.groups, dtype=np.int64)
                numbers = offset * 0
                if axis == 2:
                    numbers = offset * order // box.groups * (box.numbers // order)
                lit = offset[:: box.groups // order][1:]
                yield Shift(0, axis == 1, numbers, lit)

    def _rows(
        self, task: Collective, src: IntArray, dst: IntArray, part: IntArray, op: Op
    ) -> Transfers:
        """Return rows between places, one for each part."""
        cut, nodes = Partition(self.parts, task.chunk_count), self.tree.box.nodes
        lo, hi = cut.boundary(part), cut.boundary(part + 1)
        some = hi > lo
        codes = np.full(int(some.sum()), int(op), dtype=np.int64)
        return Transfers(nodes[src[some]], nodes[dst[some]], lo[some], hi[some], codes)


def hub_exchange(box: NodeBox, task: Collective) -> HubExchange | None:
    """Return the fastest of some, ``None`` where a box has no such subgroups."""
    size_bytes = task.buffer_bytes
    promising = sorted(_hubs(box), key=lambda one: _least_ps(box, one, size_bytes))
    best: HubExchange | None = None
    for orders in promising[:_TRIED]:
        if best and best.time_ps(size_bytes) <= _least_ps(box, orders, size_bytes):
            break
        tree = spread_tree(box, orders)
        made = None if tree is None else HubExchange(tree, orders)
        if made and (not best or made.time_ps(size_bytes) < best.time_ps(size_bytes)):
            best = made
    return best


def _hubs(box: NodeBox) -> Iterator[_Orders]:
    """Yield orders of subgroups in which hubs can meet, fewer hubs than nodes."""
    sizes = (box.groups, box.racks, box.numbers)
    divisors = [[d for d in range(1, size + 1) if not size % d] for size in sizes]
    for orders in product(*divisors):
        first, second, third = orders
        fits = not first % second and not first % third
        turns = second == 1 or (box.racks == box.groups)
        if fits and turns and 1 < math.prod(orders) < len(box):
            yield first, second, third


def _least_ps(box: NodeBox, orders: _Orders, size_bytes: int) -> int:
    """Return what it takes with a perfect tree."""
    parts = len(box) // math.prod(orders)
    shifts, reach = 0, 1
    while reach < parts:
        shifts, reach = shifts + 1, reach * (box.groups + 1)
    meetings = sum(order > 1 for order in orders)
    rounds = 2 * -(-(parts - 1) // box.groups) + meetings
    return _time_ps(box, 2 * shifts + meetings, rounds, parts, size_bytes)


def _time_ps(box: NodeBox, steps: int, rounds: int, parts: int, size_bytes: int) -> int:
    """Return the time of steps whose busiest circuits carry so many parts in all."""
    fabric = box.fabric
    part_ps = transmission_ps(-(-size_bytes // parts), fabric.transceiver_bits_per_s)
    return steps * (fabric.alpha_ps + fabric.reconfiguration_ps) + rounds * part_ps
