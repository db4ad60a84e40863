"""Lifts: digraphs on a few orbits of a group, which look alike from all of an orbit.

With a single orbit these are Cayley digraphs. Every port joins all nodes to all nodes,
one to one, so one switch or wavelength holds it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.plans.digraphs.even_split import even_split

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightloom.core.columns import IntArray
    from lightloom.plans.digraphs.metacyclic import Metacyclic


@dataclass(frozen=True, eq=False)
class Level:
    """What reaches the first node of an orbit from nodes equally far away.

    One row a range of pieces that comes from one node over one port.

    `orbit`: orbit of the node that is reached. `port`, `before`: the last arc, and the
    node that it comes from.
    """

    orbit: int
    source: IntArray
    port: IntArray
    before: IntArray
    first: IntArray
    count: IntArray


@dataclass(frozen=True)
class Lift:
    """Node i m + g is element g of orbit i, for a group of order m.

    `heads`: ``heads[p][i]``: where port p leads from the neutral element of orbit i. If
    that is node j m + s, then it leads from element g there to element g s of orbit j.
    """

    group: Metacyclic
    heads: tuple[tuple[int, ...], ...]

    @classmethod
    def of_steps(cls, group: Metacyclic, steps: Iterable[int]) -> Lift:
        """Return the Cayley digraph of some steps, in ascending order."""
        return cls(group, tuple((step,) for step in sorted(steps)))

    @property
    def orbits(self) -> int:
        """Number of orbits."""
        return len(self.heads[0])

    @property
    def ranks(self) -> int:
        """Number of nodes."""
        return self.orbits * self.group.order

    @property
    def is_sound(self) -> bool:
        """Whether ports are permutations, without loops and all different."""
        order = self.group.order
        if not self.group.is_sound:
            return False
        for orbit in range(self.orbits):
            ends = [head[orbit] for head in self.heads]
            if len(set(ends)) < len(ends) or orbit * order in ends:
                return False
        return all(
            sorted(end // order for end in head) == list(range(self.orbits))
            for head in self.heads
        )

    def turned(self) -> Lift:
        """Return the lift with all arcs turned around, port by port."""
        order = self.group.order
        heads = []
        for head in self.heads:
            turned = [0] * self.orbits
            for orbit, end in enumerate(head):
                step = np.array([end % order], dtype=np.int64)
                back = int(self.group.inverse(step)[0])
                turned[end // order] = orbit * order + back
            heads.append(tuple(turned))
        return Lift(self.group, tuple(heads))

    def following(self) -> IntArray:
        """Return where each port leads from each node, shape (ports, n)."""
        return _following(self)

    def distances(self) -> IntArray:
        """Return the hops from the first node of each orbit, shape (orbits, n).

        -1 where no way leads.
        """
        return _distances(self)

    def moved(self, node: IntArray) -> IntArray:
        """Return where each element takes nodes, shape (order, nodes)."""
        order = self.group.order
        orbit, element = np.divmod(node, order)
        shift = np.arange(order, dtype=np.int64)[:, None]
        found: IntArray = orbit * order + self.group.product(shift, element)
        return found

    def between(self, source: IntArray, node: IntArray) -> IntArray:
        """Return the hops from one node to another, broadcast to one shape."""
        order = self.group.order
        orbit, element = np.divmod(source, order)
        other, target = np.divmod(node, order)
        back = self.group.product(self.group.inverse(element), target)
        hops: IntArray = self.distances()[orbit, other * order + back]
        return hops

    def levels(self, pieces: int) -> tuple[tuple[Level, ...], ...]:
        """Return, hop by hop, what reaches the first node of each orbit.

        Blocks in pieces, each over an arc from a node that has it one hop earlier,
        so that the arcs are loaded as evenly as can be.

        `pieces`: pieces of a block, 1 or more.
        """
        return _levels(self, pieces)

    def gather_load(self, pieces: int) -> int:
        """Return the pieces over the busiest arc of each hop of `levels`, summed.

        `pieces`: pieces of a block, 1 or more.
        """
        ports = len(self.heads)
        return sum(
            max(
                int(np.bincount(one.port, one.count, minlength=ports).max(initial=0))
                for one in level
            )
            for level in self.levels(pieces)
        )


@functools.lru_cache(maxsize=8)
def _following(lift: Lift) -> IntArray:
    order = lift.group.order
    element = np.arange(order, dtype=np.int64)
    rows = [
        np.concatenate(
            [
                end // order * order
                + lift.group.product(element, np.array(end % order, dtype=np.int64))
                for end in head
            ]
        )
        for head in lift.heads
    ]
    return np.stack(rows)


@functools.lru_cache(maxsize=8)
def _distances(lift: Lift) -> IntArray:
    following, order = lift.following(), lift.group.order
    distance = np.full((lift.orbits, lift.ranks), -1, dtype=np.int64)
    for orbit in range(lift.orbits):
        here = np.array([orbit * order], dtype=np.int64)
        distance[orbit, here] = length = 0
        while len(here):
            length += 1
            reached = np.zeros(lift.ranks, dtype=np.bool_)
            reached[following[:, here]] = True
            here = np.flatnonzero(reached & (distance[orbit] < 0))
            distance[orbit, here] = length
    return distance


@functools.lru_cache(maxsize=8)
def _levels(lift: Lift, pieces: int) -> tuple[tuple[Level, ...], ...]:
    order, ports = lift.group.order, len(lift.heads)
    node = np.arange(lift.ranks, dtype=np.int64)
    preceding = np.argsort(lift.following(), axis=1)
    levels: list[tuple[Level, ...]] = []
    for hops in range(1, int(lift.distances().max()) + 1):
        found = []
        for orbit in range(lift.orbits):
            before = preceding[:, orbit * order]
            source = node[lift.between(node, np.array(orbit * order)) == hops]
            fits = lift.between(source[:, None], before) == hops - 1
            amounts = even_split(fits, pieces)
            row, port = np.nonzero(amounts)
            first = (np.cumsum(amounts, axis=1) - amounts)[row, port]
            assert ports == amounts.shape[1]
            found.append(
                Level(orbit, source[row], port, before[port], first, amounts[row, port])
            )
        levels.append(tuple(found))
    return tuple(levels)
