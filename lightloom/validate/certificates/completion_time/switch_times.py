"""What switches that change independently lose, as `parallel_planes` proves."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from lightloom.core.units import BITS_PER_BYTE, PS_PER_S

if TYPE_CHECKING:
    from lightloom.instances.fabrics.ocs import Ocs


@dataclass(frozen=True)
class SwitchTimes:
    """What switches that change alone lose, and how far data get on them.

    `reach`: nodes, itself included, that something one node knows must reach, or that
    one must hear of. `least_bytes`: what every node sends at least, or receives;
    ``None`` where whole switches are dark while they change.
    """

    fabric: Ocs
    reach: int
    least_bytes: int | None

    @property
    def first_ps(self) -> int:
        """Time of the first configuration, d0."""
        charged = self.fabric.initial_configuration_charged
        return self.fabric.reconfiguration_ps if charged else 0

    def lost_ps(self, circuits: int, steps: int) -> int:
        """Return the least time that all switches together lose.

        `circuits`: M, at least as many as there are switches.
        """
        fabric = self.fabric
        each, more = divmod(circuits, fabric.switches)

        def lost(segments: int) -> int:
            between_ps = (segments - 1) * fabric.reconfiguration_ps
            alphas = max(
                steps * fabric.alpha_ps, between_ps + segments * fabric.alpha_ps
            )
            return self.first_ps + alphas

        return more * lost(each + 1) + (fabric.switches - more) * lost(each)

    def known(self, circuits: int, steps: int) -> int:
        """Return the most nodes that one node's data can be at, N(P), up to `reach`."""
        used = min(self.fabric.switches, circuits)
        ways, total = 1, 1
        for step in range(1, steps + 1):
            if step == 2 and self.least_bytes is None:
                ways = (circuits**2 + circuits) // 2 + (used - 1) * circuits
                ways -= used * (used - 1) // 2
            else:
                ways *= circuits
            total += ways
            if total >= self.reach:
                break
        return total

    def time_ps(self, circuits: int, steps: int, data: Fraction) -> int:
        """Return the least time with so much data of a node on average."""
        lost_ps = self.lost_ps(circuits, steps)
        total = lost_ps + data
        if self.least_bytes is not None:
            total = self.lost_ps(self.fabric.switches, steps) + data
            total = max(total, lost_ps + self.byte_ps * self.least_bytes)
        total /= self.fabric.switches
        return -(-total.numerator // total.denominator)

    @property
    def byte_ps(self) -> Fraction:
        """Time of a byte on one circuit."""
        return Fraction(
            BITS_PER_BYTE * PS_PER_S, self.fabric.bits_per_second_per_circuit
        )
