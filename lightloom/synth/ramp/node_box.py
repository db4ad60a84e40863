"""Boxes of nodes, and shifts: every node of a box sends to one node of each group.

In a shift node (g, j, l) sends to (g + c, j + r(c), l + n(c)) for every offset c of the
groups, modulo the sizes of the box. With transceivers in *places*, one for each c, no
two pairs collide in a transmitter, in a receiver, or in a subnet, where pairs meet that
agree in both groups and in the number of the destination, if r is

- one number for all c, and the place is ``c + j``. Pairs that meet in a subnet have one
  c, so they differ in the rack of the source; the nodes that a receiver hears from
  stand in racks of one j, and differ in c;
- or one number more than ``c mod J``, where J divides the groups, and the place is
  ``(g + c + j) mod J`` in the (c div J)-th lot of J places. Receivers in one place know
  g + c and j + c, so c mod J tells the place in the lot; pairs that meet in a subnet
  differ in j.

Only the c that are lit need places: as many as there are, or as there are racks. Where
transceivers are left over, each pair has several.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.schedule import Transfers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from random import Random

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Op, Segment, StepPart
    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.ramp import Ramp


MOST_ROWS = 2**22
"""Most rows, about, that are kept in memory as a whole, of a schedule or of a part."""

Followed: TypeAlias = "tuple[IntArray, Iterator[Segment | StepPart]]"
"""First chunks of the blocks that are followed, and the events in which they move."""


@dataclass(frozen=True, eq=False)
class NodeBox:
    """All nodes at some numbers in some racks of some groups.

    Place i of the box is ``nodes[i]``. A place (g, j, l) is
    ``(g racks + j) numbers + l``, and so is a displacement from one place to another.

    `groups`, `racks`, `numbers`: how many of each there are; groups are counted from 0
    without gaps, and so are racks and numbers. `nodes`: nodes of the network,
    ascending.
    """

    fabric: Ramp
    groups: int
    racks: int
    numbers: int
    nodes: IntArray

    @classmethod
    def of(cls, fabric: Ramp, nodes: Sequence[int]) -> NodeBox | None:
        """Return the box that nodes fill, ``None`` where they fill none."""
        column = np.sort(np.array(nodes, dtype=np.int64))
        sizes = [len(np.unique(part)) for part in fabric.coordinates(column)]
        groups, racks, numbers = sizes
        if groups * racks * numbers != len(column):
            return None
        return cls(fabric, groups, racks, numbers, column)

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.nodes)

    @property
    def turns(self) -> bool:
        """Whether racks may turn with groups."""
        return self.groups % self.racks == 0

    def coordinates(self, place: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return group, rack and number of places, or of displacements."""
        rack, number = place // self.numbers, place % self.numbers
        return rack // self.racks, rack % self.racks, number

    def moved(self, place: IntArray, by: IntArray | int) -> IntArray:
        """Return the places that are displaced from others."""
        here, there = (
            self.coordinates(np.asarray(part, dtype=np.int64)) for part in (place, by)
        )
        sizes = (self.groups, self.racks, self.numbers)
        group, rack, number = (
            (a + b) % size for a, b, size in zip(here, there, sizes, strict=True)
        )
        moved: IntArray = (group * self.racks + rack) * self.numbers + number
        return moved

    def opposite(self, by: IntArray) -> IntArray:
        """Return the displacements back."""
        dg, dj, dl = self.coordinates(by)
        rack = -dg % self.groups * self.racks + -dj % self.racks
        back: IntArray = rack * self.numbers + -dl % self.numbers
        return back


@dataclass(frozen=True, eq=False)
class Shift:
    """The circuits of one segment: see the head of this file.

    `racks`: what is added to the rack, the same for all groups. `turns`: whether the
    offset of groups is added to it as well. `numbers`: what is added to the number, for
    each offset of groups, shape (groups,). `lit`: offsets of groups at which there are
    circuits, ascending; none of them may lead from a node to itself.
    """

    racks: int
    turns: bool
    numbers: IntArray
    lit: IntArray

    def displacements(self, box: NodeBox) -> IntArray:
        """Return where each offset of groups leads, shape (groups,); 0: nowhere."""
        offset = np.arange(box.groups, dtype=np.int64)
        rack = (self.racks + self.turns * offset) % box.racks
        return (offset * box.racks + rack) * box.numbers + self.numbers % box.numbers

    def reversed(self, box: NodeBox) -> Shift:
        """Return the shift with every circuit turned round."""
        back = -np.arange(box.groups) % box.groups
        racks = -self.racks % box.racks
        numbers = -self.numbers[back] % box.numbers
        return Shift(racks, self.turns, numbers, np.sort(-self.lit % box.groups))

    def transceivers(self, box: NodeBox) -> int:
        """Return how many transceivers each pair has."""
        if self.turns:
            lots = len(np.unique(self.lit // box.racks))
            return box.fabric.groups // (lots * box.racks)
        return box.fabric.groups // max(len(self.lit), box.racks)

    def pair_bits_per_s(self, box: NodeBox) -> int:
        """Return the rate of each pair."""
        return self.transceivers(box) * box.fabric.transceiver_bits_per_s

    def pairs(
        self, box: NodeBox, place: int | None = None
    ) -> tuple[IntArray, IntArray]:
        """Return the places that send, and by which offset of groups each does."""
        everyone = np.arange(len(box), dtype=np.int64)
        if place is None:
            return np.repeat(everyone, len(self.lit)), np.tile(self.lit, len(box))
        back = box.opposite(self.displacements(box)[self.lit])
        here = np.full(len(self.lit), place, dtype=np.int64)
        return np.append(here, box.moved(here, back)), np.tile(self.lit, 2)

    def circuits(self, box: NodeBox, place: int | None = None) -> Circuits:
        """Return the circuits: one for each pair and transceiver, by pair."""
        src, offset = self.pairs(box, place)
        group, rack, _ = box.coordinates(src)
        count = self.transceivers(box)
        if self.turns:
            lot = np.searchsorted(np.unique(self.lit // box.racks), offset // box.racks)
            first = lot * box.racks + (group + offset + rack) % box.racks
        else:
            order = np.searchsorted(self.lit, offset)
            first = (order + rack) % max(len(self.lit), box.racks)
        used = first[:, None] * count + np.arange(count)
        dst = box.moved(src, self.displacements(box)[offset])
        return Circuits(
            np.repeat(box.nodes[src], count),
            np.repeat(box.nodes[dst], count),
            transceiver=used.reshape(-1),
        )


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


def fewest_shifts(groups: int, reached: int) -> int:
    """Return the fewest shifts in which one node can reach so many, itself included."""
    shifts, reach = 0, 1
    while reach < reached:
        shifts, reach = shifts + 1, reach * (groups + 1)
    return shifts


def ranks_of(box: NodeBox, task: Collective) -> IntArray:
    """Return the rank at each place of a box."""
    rank = np.zeros(box.fabric.node_count, dtype=np.int64)
    rank[list(task.nodes)] = np.arange(len(box))
    return rank[box.nodes]


def joined_rows(
    nodes: IntArray,
    ends: tuple[IntArray, IntArray],
    part: IntArray,
    boundary: Callable[[IntArray], IntArray],
    op: Op,
) -> Transfers:
    """Return rows between places, those of a pair whose parts follow each other as one.

    `nodes`: node at each place. `ends`: places that send and hear, shape (rows,) each.
    `boundary`: first chunk of parts.
    """
    src, dst = ends
    order = np.lexsort((part, dst, src))
    src, dst, part = src[order], dst[order], part[order]
    lo, hi = boundary(part), boundary(part + 1)
    some = hi > lo
    src, dst, lo, hi = src[some], dst[some], lo[some], hi[some]
    fresh = np.ones(len(lo), dtype=np.bool_)
    fresh[1:] = (lo[1:] != hi[:-1]) | (src[1:] != src[:-1]) | (dst[1:] != dst[:-1])
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], len(lo))[: len(first)] - 1
    codes = np.full(len(first), int(op), dtype=np.int64)
    return Transfers(nodes[src[first]], nodes[dst[first]], lo[first], hi[last], codes)
