"""What interconnects of equal size and rate are built of, in whole components.

RAMP paper, section 4.3 and Tables 3 and 4: electrical fat trees are copied as often as
it takes to reach the rate of a node; RAMP needs one passive coupler a subnet.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

NODES = 65_536
NODE_GBIT_PER_S = 12_800
"""Rate of a RAMP node, which 1:1 is to match."""

LEVELS = 3
"""Tiers of switches; a level of links leads to each."""


@dataclass(frozen=True)
class FatTreeComponents:
    """A fat tree of three tiers of like switches, as often as is needed.

    `copper_w` is the power of the transceivers at both ends of the links to nodes,
    where those are copper; `paid_per_port` counts the transceivers for each port of a
    node that the printed totals pay for.
    """

    name: str
    ports: int
    port_gbit_per_s: int
    switch_usd: int
    switch_w: int
    transceiver_w: Fraction
    copper_w: Fraction | None
    paid_per_port: int

    @property
    def transceivers_per_port(self) -> int:
        """Transceivers for each port of a node: both ends of a link at each level."""
        return 2 * LEVELS

    @property
    def switches_per_copy(self) -> int:
        """Switches of one tree: leaves and spines face half up, the core all down."""
        half = self.ports // 2
        return 2 * -(-NODES // half) + -(-NODES // self.ports)

    @property
    def switches_on_path(self) -> int:
        """Switches of the longest way: up to the core, and down."""
        return 2 * LEVELS - 1

    def transceivers(self, copies: int) -> int:
        """Return the number of transceivers."""
        return NODES * copies * self.transceivers_per_port

    def paid_transceivers(self, copies: int) -> int:
        """Return the number of transceivers that the printed totals pay for."""
        return NODES * copies * self.paid_per_port

    def switches(self, copies: int) -> int:
        """Return the number of switches."""
        return self.switches_per_copy * copies

    def cost_usd(self, copies: int, transceivers: int) -> int:
        """Return what switches and some transceivers cost."""
        return self.switches(copies) * self.switch_usd + transceivers * TRANSCEIVER_USD

    def power_w(self, copies: int, per_port: int) -> Fraction:
        """Return the power of switches and `per_port` transceivers a port of a node."""
        links = NODES * copies
        return self.switches(copies) * self.switch_w + links * self._per_port_w(
            per_port
        )

    @property
    def path_pj_per_bit(self) -> Fraction:
        """Energy of a bit on the longest way, every component at its full rate."""
        through = self.ports * self.port_gbit_per_s
        switches = Fraction(self.switches_on_path * self.switch_w, through)
        ends = self._per_port_w(self.transceivers_per_port) / self.port_gbit_per_s
        return (switches + ends) * 1000

    def _per_port_w(self, count: int) -> Fraction:
        """Return the power of `count` transceivers, the copper ones first."""
        if self.copper_w is None:
            return count * self.transceiver_w
        return 2 * self.copper_w + (count - 2) * self.transceiver_w


TRANSCEIVER_USD = 200
"""Printed for both networks, though those of the second have 100 Gb/s."""

HPC = FatTreeComponents("HPC SuperPod", 40, 200, 23_700, 404, Fraction("4.35"), None, 5)
DCN = FatTreeComponents(
    "DCN fat tree", 64, 100, 44_000, 320, Fraction("3.5"), Fraction("0.5"), 4
)
COPIES = {"1:1": (64, 128), "10:1": (6, 12), "64:1": (1, 2)}
"""Oversubscription, and copies of HPC and of DCN."""


@dataclass(frozen=True)
class RampParts:
    """RAMP with broadcast-and-select subnets: x, J, Lambda, b, and what parts cost."""

    groups: int = 32
    racks: int = 32
    numbers: int = 64
    transceivers_per_group: int = 1
    transceiver_gbit_per_s: int = 400
    coupler_usd: int = 3000

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self.groups * self.racks * self.numbers

    @property
    def transceivers(self) -> int:
        """One for each group and node, times b."""
        return self.nodes * self.groups * self.transceivers_per_group

    @property
    def couplers(self) -> int:
        """Subnets: one for each pair of groups and transceiver."""
        return self.groups**3 * self.transceivers_per_group

    @property
    def node_gbit_per_s(self) -> int:
        """Rate of a node."""
        per_group = self.transceivers_per_group * self.transceiver_gbit_per_s
        return self.groups * per_group

    def cost_usd(self, transceiver_usd: int) -> int:
        """Return what transceivers and couplers cost."""
        return self.transceivers * transceiver_usd + self.couplers * self.coupler_usd

    def power_w(self, transceiver_w: Fraction) -> Fraction:
        """Return the power of all transceivers; couplers are passive."""
        return self.transceivers * transceiver_w


def usd_per_gbit(cost_usd: Fraction | int, node_gbit_per_s: int) -> Fraction:
    """Return the cost of a unit of rate, over the rates of all nodes together."""
    return Fraction(cost_usd) / (NODES * node_gbit_per_s)
