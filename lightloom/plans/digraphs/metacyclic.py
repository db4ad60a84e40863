"""Split metacyclic groups, whose elements are the ranks of a Cayley digraph."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray


@dataclass(frozen=True)
class Metacyclic:
    """Pairs (a, b) of a modulo m and b modulo q: (a, b)(c, d) = (a + r^b c, b + d).

    The pair (a, b) is rank a q + b; rank 0 is the neutral element. With one turn the
    group is cyclic; with two, and r = m - 1, dihedral.

    `twist`: r, of which the q-th power is 1 modulo m; 1: the group commutes.
    """

    rotations: int
    turns: int = 1
    twist: int = 1

    @property
    def order(self) -> int:
        """Number of elements n = m q."""
        return self.rotations * self.turns

    @property
    def is_sound(self) -> bool:
        """Whether the twist fits, so that this is a group."""
        m = self.rotations
        return pow(self.twist, self.turns, m) == 1 % m

    def product(self, left: IntArray, right: IntArray) -> IntArray:
        """Return left times right, element by element, broadcast to one shape."""
        (a, b), (c, d) = np.divmod(left, self.turns), np.divmod(right, self.turns)
        first = (a + _powers(self)[b] * c) % self.rotations
        found: IntArray = first * self.turns + (b + d) % self.turns
        return found

    def inverse(self, element: IntArray) -> IntArray:
        """Return what each element must be multiplied with to give the neutral one."""
        a, b = np.divmod(element, self.turns)
        back = -b % self.turns
        first = -(_powers(self)[back] * a) % self.rotations
        found: IntArray = first * self.turns + back
        return found


def metacyclic_groups(order: int) -> tuple[Metacyclic, ...]:
    """Return groups of so many elements: the cyclic one, and one for every other q.

    The twist is the least of those with most different powers; where 1 is the only one,
    the group commutes and is left out.
    """
    groups = [Metacyclic(order)]
    for turns in range(2, order // 3 + 1):
        if order % turns:
            continue
        rotations = order // turns
        best, most = 1, 1
        for twist in range(2, rotations):
            if gcd(twist, rotations) > 1 or pow(twist, turns, rotations) != 1:
                continue
            powers = len({pow(twist, b, rotations) for b in range(turns)})
            if powers > most:
                best, most = twist, powers
        if most > 1:
            groups.append(Metacyclic(rotations, turns, best))
    return tuple(groups)


@functools.lru_cache(maxsize=64)
def _powers(group: Metacyclic) -> IntArray:
    """Return the powers of the twist, shape (q,)."""
    m = group.rotations
    return np.array([pow(group.twist, b, m) for b in range(group.turns)])
