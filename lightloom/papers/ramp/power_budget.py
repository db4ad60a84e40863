"""Optical power along a path of RAMP, from the losses that splitting light costs.

A splitter, coupler or combiner of n ports leaves an n-th of the power at each, whatever
it is made of; what components lose beyond that, and what amplifiers gain, is not
printed. So the least gains that keep to the printed limits are worked out.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log10

LEAST_ON_PATH_DBM = -20.0
LEAST_AT_RECEIVER_DBM = -15.0
"""RAMP paper, section 4.2."""


@dataclass(frozen=True)
class LinkComponent:
    """A component, its gain (loss if negative), and the power at its output."""

    name: str
    change_db: float
    power_dbm: float


@dataclass(frozen=True)
class Budget:
    """The path with broadcast-and-select subnets, the lossiest of the three.

    `launch_dbm` and `excess_db`, which each passive component loses beyond splitting,
    are assumptions; groups, racks and numbers are x, J and Lambda.
    """

    groups: int = 32
    racks: int = 32
    numbers: int = 64
    launch_dbm: float = 10.0
    excess_db: float = 0.0

    @property
    def edge_loss_db(self) -> float:
        """Loss of the splitter at the transmitter, and of the combiner."""
        return 10 * log10(self.groups) + self.excess_db

    @property
    def core_loss_db(self) -> float:
        """Loss of the star coupler, with a port for each node of a group."""
        return 10 * log10(self.racks * self.numbers) + self.excess_db

    @property
    def gains_db(self) -> tuple[float, float]:
        """Least gains of the gates behind the splitter and before the combiner.

        The first lifts the light so that behind the coupler it is not below the limit
        of the path, the second so that it reaches the receiver.
        """
        behind_splitter = self.launch_dbm - self.edge_loss_db
        behind_coupler = behind_splitter - self.core_loss_db
        first = max(0.0, LEAST_ON_PATH_DBM - behind_coupler)
        received = behind_coupler + first - self.edge_loss_db
        return first, max(0.0, LEAST_AT_RECEIVER_DBM - received)

    def stages(self) -> tuple[LinkComponent, ...]:
        """Return the components in the order in which light passes them."""
        first, second = self.gains_db
        changes = (
            ("splitter", -self.edge_loss_db),
            ("gate 1", first),
            ("coupler", -self.core_loss_db),
            ("gate 2", second),
            ("combiner", -self.edge_loss_db),
        )
        power, found = (
            self.launch_dbm,
            [LinkComponent("transmitter", 0.0, self.launch_dbm)],
        )
        for name, change in changes:
            power += change
            found.append(LinkComponent(name, change, power))
        return tuple(found)
