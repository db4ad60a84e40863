"""The cheapest tree round a ring of fibre, where spans have a price in each step.

A root tells all other nodes of a ring with one or two directions. In step t a circuit
pays p(t) for each span that it crosses, but q(t) more for the one that leads out of the
root and nothing for one that leads into it; p never falls. Unroll the ring: the root is
at places 0 and n, and the others are between.

A tree is a circuit, in one step, into each other node, from one that was told before.
Take one that costs least, among these one of least length, and among these one of the
earliest steps. Then no circuit passes a node that was told before it, or the root: it
could start there. No two of one step cross, which ended each at the other's end would
be shorter. And a circuit that does not start at the root is lit in the step after its
source was told: that costs no more.

Look at the nodes between two, a and b, that are told before all of these, and at those
of them that are told first. If some of these hear from the side of a, let x be the
farthest of them from a, else the farthest from b of all. Then x hears from a, or b; and
both between a and x and between x and b the same holds again. So the least cost of all
nodes between a and b depends on how far apart these are and when they were told, and is
the least, over all x, of the circuit to x and of what is left on both sides of it. Only
the root may wait, so all steps count where a circuit comes from it.

Where light runs one way only, all hear from the side of a, and the tree ends with the
last node before the root. The same holds, without the cases in which one hears from b.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray

NEVER = 1 << 52
"""Stands for the cost of what cannot be done in the steps that there are."""


@dataclass(frozen=True, eq=False)
class RingTrees:
    """The least costs of telling nodes between two others, by length and by steps.

    `span`, `egress`: price of a span in each step, never less than before, and of the
    root's span on top, shape (steps,). `reach`: most spans of a circuit. `between`:
    least cost between two nodes so many spans apart that are told after so many steps,
    shape (n, steps + 1, steps + 1). `beside`: least cost between the root and a node,
    shape (n, steps + 1). `one_way`: whether light runs from the root on in one
    direction only.
    """

    span: IntArray
    egress: IntArray
    reach: int
    between: IntArray
    beside: IntArray
    one_way: bool

    @classmethod
    def of(
        cls,
        nodes: int,
        reach: int,
        span: IntArray,
        egress: IntArray,
        *,
        one_way: bool = False,
    ) -> RingTrees:
        """Return the costs on a ring.

        `nodes`: of the ring, three or more. `span`, `egress`: as of the class, whole
        numbers from 0.
        """
        steps = len(span)
        between = np.zeros((nodes, steps + 1, steps + 1), dtype=np.int64)
        beside = np.zeros((nodes, steps + 1), dtype=np.int64)
        made = cls(span, egress, reach, between, beside, one_way)
        for apart in range(2, nodes):
            least = np.minimum(made.from_left(apart).min(axis=0), NEVER)
            between[apart] = least if one_way else np.minimum(least, least.T)
            some = np.minimum(made.from_root(apart).min(axis=(0, 1)), NEVER)
            other = some if one_way else made.from_node(apart).min(axis=0)
            beside[apart] = np.minimum(some, other)
        return made

    def away(self, apart: int) -> IntArray:
        """Return how far the first node between may be, 1, 2 and so on."""
        return np.arange(1, min(self.reach, apart - 1) + 1)

    @property
    def _then(self) -> tuple[IntArray, IntArray]:
        """After each number of steps the price of the next, and how many are over."""
        steps = len(self.span)
        price = np.append(self.span, NEVER)
        return price, np.minimum(np.arange(steps + 1) + 1, steps)

    def from_left(self, apart: int) -> IntArray:
        """Return costs where the first between two hears from the left one.

        Of shape (away, steps + 1, steps + 1): by how far that is.
        """
        away, (price, after) = self.away(apart), self._then
        now = np.arange(len(price))
        first = away[:, None] * price + self.between[away[:, None], now, after]
        cost: IntArray = first[:, :, None] + self.between[apart - away][:, after]
        return cost

    def from_node(self, apart: int) -> IntArray:
        """Return costs where the first hears from the node, not the root.

        Of shape (away, steps + 1): by how far it is from the node.
        """
        away, (price, after) = self.away(apart), self._then
        now = np.arange(len(price))
        cost: IntArray = away[:, None] * price + self.beside[apart - away][:, after]
        cost += self.between[away[:, None], now, after]
        return cost

    def _sent(self, away: IntArray) -> IntArray:
        """Return what the root's circuits cost, and what is beside them."""
        cost: IntArray = self.egress + away[:, None] * self.span
        return cost + self.beside[away, 1:]

    def from_root(self, apart: int) -> IntArray:
        """Return costs where the first hears from the root, of whom a node is beside.

        Of shape (away, steps, steps + 1): by how far it is from the root, and the step.
        """
        away = self.away(apart)
        rest = self.between[apart - away][:, 1:]
        cost: IntArray = self._sent(away)[:, :, None] + rest
        return cost

    def first(self) -> IntArray:
        """Return costs by the first node of all, and its step; shape (away, steps)."""
        nodes = len(self.beside)
        away = self.away(nodes)
        behind = self.between[:, :, 0] if self.one_way else self.beside
        cost: IntArray = self._sent(away) + behind[nodes - away, 1:]
        return cost


def rising_cost(nodes: int, steps: int, *, one_way: bool = False) -> tuple[int, int]:
    """Return what a tree costs at least with prices that rise, and what steps cost.

    In step t a span costs p(t) = n - 3 + t, and the root's q(t) more, so much that
    q(t) + (n - 1) p(t) is the same in all steps: the second number.

    Let the farthest node that hears from one side be K spans away, over m circuits in
    steps from s on. They cost K p(s) + m (m - 1) / 2 or more, and q(s); m is no more
    than the steps that are left. Both sides together reach all nodes: K and K' sum to
    n - 1, or to more, where part of a way does no more than a circuit aside. And there
    are n - 1 circuits, so n - 1 - m - m' are on neither way, and cost p(1) or more.
    As p(1) is n - 2, and so no less than any m - 1, most circuits cost least. Where
    light runs one way only, K is n - 1.

    `nodes`: of the ring, n, three or more.
    """
    others = nodes - 1
    left = np.arange(steps, dtype=np.int64)  # after the first circuit's
    price = nodes - 3 + steps - left
    egress = others * left + 1
    far = np.arange(1, nodes)[:, None]
    hops = np.minimum(far, left + 1)
    side = egress + price * far + hops * (hops - 1) // 2 + (far - hops) * (nodes - 2)
    least = np.append(0, side.min(axis=1))
    both = least[-1:] if one_way else least + least[::-1]
    return int(both.min()), others * (nodes - 3 + steps) + 1
