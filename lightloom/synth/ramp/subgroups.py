"""The subgroups of the four steps of a RAMP network, and its information map.

RAMP paper, Tables 5 to 7. As printed they do not work (``docs/spec/errata.md``); the
formulas here do, and every collective of this package is checked to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray

STEPS = (1, 2, 3, 4)

# Columns of communication group, rack, and number in the rack.
Places = tuple["IntArray", "IntArray", "IntArray"]


@dataclass(frozen=True)
class Shape:
    """x groups of J racks of L numbers, where x divides L, J <= x and L <= x * x.

    In what follows a node is (g, j, lam), d = lam mod x and q = lam div x: it is the
    d-th device of device group q, one of D = L / x.
    """

    groups: int
    racks: int
    numbers: int

    @property
    def size(self) -> int:
        """Number of nodes."""
        return self.groups * self.racks * self.numbers

    @property
    def device_groups(self) -> int:
        """D, the device groups of a rack."""
        return self.numbers // self.groups

    def members(self, step: int) -> int:
        """Return the size of a subgroup of a step; a step with one is not active."""
        return (self.groups, self.groups, self.racks, self.device_groups)[step - 1]

    def number_of(self, places: Places) -> IntArray:
        """Return ``(g J + j) L + lam``."""
        group, rack, lam = places
        return (group * self.racks + rack) * self.numbers + lam

    def places_of(self, number: IntArray) -> Places:
        """Return the places of numbers: the inverse of `number_of`."""
        rack, lam = number // self.numbers, number % self.numbers
        return rack // self.racks, rack % self.racks, lam

    def subgroup(self, step: int, places: Places) -> IntArray:
        """Return the id of the subgroup that each node is in (Table 5, corrected).

        `places`: group, rack and number of each node, shape (nodes,) each.
        """
        group, rack, lam = places
        x, numbers = self.groups, self.numbers
        quotient = lam // x
        if step == 1:
            return lam + numbers * rack
        if step == 2:
            return (lam - group) % x + numbers * rack + quotient * x
        if step == 3:
            return (lam + numbers * (rack - group)) % (numbers * x)
        return x * x * rack + x * ((group - quotient) % x) + lam % x

    def peer(self, step: int, places: Places, offset: IntArray | int) -> Places:
        """Return the member `offset` places after each node, itself after 0 places.

        Table 6, corrected. Offsets are below `members`; the information portion of
        the peer is that of the node plus the offset, modulo `members`.

        `places`: group, rack and number of each node, shape (nodes,) each. `offset`: 0
        to ``members(step) - 1``, one for all or one for each node.
        """
        group, rack, lam = places
        x = self.groups
        if step == 1:
            return (group + offset) % x, rack + 0 * offset, lam + 0 * offset
        if step == 2:
            device = (lam % x + offset) % x
            return (group + offset) % x, rack + 0 * offset, device + lam // x * x
        if step == 3:
            other = (rack + offset) % self.racks
            return (group + other - rack) % x, other, lam + 0 * offset
        quotient = lam // x
        other = (quotient + offset) % self.device_groups
        return (group + other - quotient) % x, rack + 0 * offset, lam % x + other * x

    def portion(self, step: int, places: Places) -> IntArray:
        """Return which portion each node takes in a step (Table 7, corrected).

        `places`: group, rack and number of each node, shape (nodes,) each.
        """
        group, rack, lam = places
        quotient = lam // self.groups
        if step == 1:
            return (group - lam - rack - quotient) % self.groups
        if step == 2:
            return (group - rack - quotient) % self.groups
        return rack if step == 3 else quotient
