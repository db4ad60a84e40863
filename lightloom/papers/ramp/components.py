"""RAMP Figs 6 and 7, Tables 3 and 4: light on a path; components, cost and power.

Section 4.3: electrical fat trees are copied as often as it takes to reach the rate of
a node; RAMP needs one passive coupler a subnet.

Section 4.2: a splitter, coupler or combiner of n ports leaves an n-th of the power at
each, whatever it is made of; what components lose beyond that, and what amplifiers
gain, is not printed. So the least gains that keep to the printed limits are worked out.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log10
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.core.units import GIGA, MEGA
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.papers.claims import Point, between, fact, holds, near, not_reproducible
from lightloom.papers.ramp.systems import beside_the_paper
from lightloom.papers.reproduction import figures
from lightloom.report.panel import Mark, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.reproduction import Data, Row, Tell


NODES = 65_536
"""Of the paper's largest RAMP."""
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
        each_w = self._per_port_w(per_port)
        return self.switches(copies) * self.switch_w + links * each_w

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


_NUMBERS = 64
"""Nodes of a rack."""
_EXAMPLE = (14, 12_544, 288)
"""Groups of the paper's example, its nodes, and their rate in Tb/s."""


def _fig7_rows(
    tell: Tell,
    *,
    groups: tuple[int, ...] = tuple(range(8, 33)),
    per_group: tuple[int, ...] = (1, 4, 16, 64, 256),
) -> Iterator[Row]:
    """Yield scale and rate of every configuration.

    `per_group` are transceivers of a group, b in the paper.
    """
    tell("every configuration")
    for transceivers in per_group:
        for x in groups:
            parts = _parts(x, transceivers)
            served = "yes" if is_served(x) else "no"
            yield x, transceivers, parts.nodes, parts.node_gbit_per_s / 1000, served


def is_served(groups: int) -> bool:
    """Return whether x groups of x racks of 64 nodes have the paper's four steps."""
    try:
        Ramp(groups=groups, racks=groups, nodes_per_rack=_NUMBERS)
    except InputError:
        return False
    return True


def _parts(groups: int, per_group: int) -> RampParts:
    return RampParts(groups, groups, _NUMBERS, per_group)


def _fig7_claims(_: Data) -> Iterator[Comparison]:
    large = _parts(32, 1)
    yield near("most nodes", 65_536, large.nodes, "nodes")
    yield near("rate of a node there", 12.8, large.node_gbit_per_s / 1000, "Tb/s")
    exabit = large.nodes * large.node_gbit_per_s / 10**9
    yield near("capacity of the system", 0.84, exabit, "Eb/s")
    why = "64 x^2 is 4096 for x = 8; the text goes from x = 32 to 10"
    yield near("nodes at x = 10", 4096, _parts(10, 1).nodes, "nodes", why=why)
    why = "400 Gb/s times b x: 960 Tb/s are b = 240 at x = 10, or b = 300 at x = 8"
    rate = _parts(10, 256).node_gbit_per_s / 1000
    yield near("rate of a node at x = 10, b = 256", 960, rate, "Tb/s", why=why)
    groups, nodes, wanted = _EXAMPLE
    per_group = -(-wanted * 1000 // (400 * groups))
    example = _parts(groups, per_group)
    yield near("nodes of the example", nodes, example.nodes, "nodes")
    rate = example.node_gbit_per_s / 1000
    yield near(f"their rate, with b = {per_group}", wanted, rate, "Tb/s")
    yield holds(
        f"the example, x = {groups}, is a RAMP",
        "yes",
        "yes" if is_served(groups) else "no",
        points=fact("served", so=is_served(groups)),
        why=f"{groups} does not divide {_NUMBERS}: there are no device groups of x",
    )
    yield not_reproducible(
        "other systems in the figure",
        "points of 13 systems",
        "-",
        "their coordinates are not printed",
    )


def _fig7_panels(data: Data) -> Iterator[Panel]:
    series: list[Series] = []
    for place, transceivers in enumerate(data.sizes("per_group")):
        curve = data.curve("nodes", "node_tbit_per_s", per_group=transceivers)
        label = f"{transceivers} transceiver{'s' * (transceivers > 1)} a group"
        x, y = list(curve), list(curve.values())
        series.append(Series(label, x, y, ":", place, markers=False))
    served = data.where(served="yes")
    x, y = served.numbers("nodes"), served.numbers("node_tbit_per_s")
    yield Panel(
        "x from 8 to 32",
        "nodes",
        "rate of a node (Tb/s)",
        [*series, Series("x divides 64", x, y, "", 6)],
        x_log=2,
        y_log=10,
        x_ticks=[(2**k, f"{2**k:,}") for k in (12, 13, 14, 15, 16)],
    )


RAMP = RampParts()
RAMP_TRANSCEIVER_USD = (600, 1200)
"""400 Gb/s at a dollar each, 1.5 and 3 times."""

PRINTED_COSTS = {
    ("HPC SuperPod", "1:1"): (25.2e6, 530e3, 16.8),
    ("HPC SuperPod", "10:1"): (2e6, 49.7e3, 1.57),
    ("HPC SuperPod", "64:1"): (0.3e6, 8.3e3, 0.26),
    ("DCN fat tree", "1:1"): (50.3e6, 655e3, 35.5),
    ("DCN fat tree", "10:1"): (4.7e6, 61.4e3, 3.33),
    ("DCN fat tree", "64:1"): (0.8e6, 10.2e3, 0.55),
}
"""Transceivers, switches and billions of dollars by network and oversubscription."""
RAMP_PRINTED_BUSD = (1.35, 2.61)
"""Least and greatest total cost, Table 3."""

_WHY_PAID = (
    "the table counts both ends of links at three levels, 6 for each port of a node;"
    " printed totals, shares and 10:1 follow from 5 on SuperPod and 4 on the fat tree"
)


def _trees() -> Iterator[tuple[FatTreeComponents, str, int]]:
    """Yield the fat trees with each oversubscription, and how often they are there."""
    for place, tree in enumerate((HPC, DCN)):
        for ratio, copies in COPIES.items():
            yield tree, ratio, copies[place]


def _table3_rows(tell: Tell) -> Iterator[Row]:
    """Count components and add up their prices."""
    tell("counting components")
    for tree, ratio, copies in _trees():
        items, paid = tree.transceivers(copies), tree.paid_transceivers(copies)
        cost, printed = tree.cost_usd(copies, items), tree.cost_usd(copies, paid)
        yield (
            *(tree.name, ratio, items, tree.switches(copies)),
            *(cost / GIGA, printed / GIGA),
            100 * items * TRANSCEIVER_USD / cost,
            float(usd_per_gbit(cost, copies * tree.port_gbit_per_s)),
        )
    for price in RAMP_TRANSCEIVER_USD:
        cost = RAMP.cost_usd(price)
        yield (
            *(f"RAMP at {price} USD", "1:1", RAMP.transceivers, RAMP.couplers),
            *(cost / GIGA, None, 100 * RAMP.transceivers * price / cost),
            float(usd_per_gbit(cost, RAMP.node_gbit_per_s)),
        )


def _table3_claims(_: Data) -> Iterator[Comparison]:
    counted = "printed with 5 for each port of a node, where 1:1 has 6"
    for tree, ratio, copies in _trees():
        parts, switches, busd = PRINTED_COSTS[tree.name, ratio]
        label, items = f"{tree.name} {ratio}", tree.transceivers(copies)
        yield near(f"{label}, transceivers", parts, items, "items", why=counted)
        built = tree.switches(copies)
        yield near(f"{label}, switches", switches, built, "items", why=counted)
        cost = tree.cost_usd(copies, items) / GIGA
        at_paid = tree.cost_usd(copies, tree.paid_transceivers(copies)) / GIGA
        why = f"{_WHY_PAID}: {at_paid:.3g} BUSD"
        yield near(f"{label}, total", busd, cost, "BUSD", why=why)
    yield near("RAMP, transceivers", 2.1e6, RAMP.transceivers, "items", why=counted)
    yield near("RAMP, couplers", 32.8e3, RAMP.couplers, "items", why=counted)
    yield from _ramp_claims()


def _ramp_claims() -> Iterator[Comparison]:
    """Yield the claims on RAMP's cost, and on those of others beside it."""
    low, high = (RAMP.cost_usd(price) / GIGA for price in RAMP_TRANSCEIVER_USD)
    yield near("RAMP, least total", RAMP_PRINTED_BUSD[0], low, "BUSD")
    claim = "RAMP, greatest total (Table 3)"
    yield near(claim, RAMP_PRINTED_BUSD[1], high, "BUSD")
    why = "a slip of 2.61, which the table has"
    yield near("RAMP, greatest total (section 4.3)", 2.16, high, "BUSD", why=why)
    rates = [
        float(usd_per_gbit(RAMP.cost_usd(price), RAMP.node_gbit_per_s))
        for price in RAMP_TRANSCEIVER_USD
    ]
    yield near("RAMP, least cost of a rate", 1.62, rates[0], "USD per Gb/s")
    yield near("RAMP, greatest cost of a rate", 3.12, rates[1], "USD per Gb/s")
    why = "a slip of 3.12, which the table has"
    claim = "RAMP, greatest cost of a rate (conclusion)"
    yield near(claim, 6.12, rates[1], "USD per Gb/s", why=why)
    saved = [
        float(usd_per_gbit(tree.cost_usd(copies, paid), NODE_GBIT_PER_S)) / rate
        for tree, copies, rate in ((HPC, 64, rates[1]), (DCN, 128, rates[0]))
        for paid in (tree.paid_transceivers(copies),)
    ]
    yield near("least saving at 1:1, by the printed totals", 6.4, saved[0], "X")
    yield near("greatest saving at 1:1, by the printed totals", 26.5, saved[1], "X")
    yield holds(
        "saving a bit (section 1)",
        "up to 12.4X",
        f"{saved[0]:.1f}X to {saved[1]:.1f}X",
        points=between({"least": saved[0], "greatest": saved[1]}, most=12.45),
        why="12.4X is HPC's 20.02 over 1.62; over the fat tree it is more, as the"
        " abstract says",
    )


def _table3_panels(data: Data) -> Iterator[Panel]:
    paper = [*(busd for _, _, busd in PRINTED_COSTS.values()), *RAMP_PRINTED_BUSD]
    ours = [round(busd, 2) for busd in data.numbers("cost_busd")]
    yield beside_the_paper(data, ours, paper, "cost (billion USD)")


RAMP_TRANSCEIVER_W = (Fraction("3.4"), Fraction("3.8"))
"""With receivers of a fixed wavelength, and of a tunable one."""
SOA_W = Fraction("0.88")
SOAS_ON_PATH = 2
"""Amplifiers that light passes."""

PRINTED_MW = {
    ("HPC SuperPod", "1:1"): 306.0,
    ("HPC SuperPod", "10:1"): 28.7,
    ("HPC SuperPod", "64:1"): 4.8,
    ("DCN fat tree", "1:1"): 336.0,
    ("DCN fat tree", "10:1"): 31.5,
    ("DCN fat tree", "64:1"): 5.2,
}
RAMP_PRINTED_MW = (7.1, 8.0)
"""Least and greatest total power, as printed."""
PRINTED_PJ = {"HPC SuperPod": 383.0, "DCN fat tree": 400.0}

_PAID = {"HPC SuperPod": 5, "DCN fat tree": 6}
"""Transceivers for each port of a node that the printed powers count."""


def _table4_rows(tell: Tell) -> Iterator[Row]:
    """Count components and add up their powers."""
    tell("counting components")
    for tree, ratio, copies in _trees():
        watts = tree.power_w(copies, tree.transceivers_per_port)
        yield (
            *(tree.name, ratio, float(watts / MEGA)),
            float(1000 * watts / (NODES * copies * tree.port_gbit_per_s)),
            float(tree.path_pj_per_bit),
        )
    for watts in RAMP_TRANSCEIVER_W:
        total = RAMP.power_w(watts)
        yield (
            *(f"RAMP at {float(watts)} W", "1:1", float(total / MEGA)),
            float(1000 * total / (NODES * RAMP.node_gbit_per_s)),
            float(1000 * watts / RAMP.transceiver_gbit_per_s),
        )


def _table4_claims(_: Data) -> Iterator[Comparison]:
    for tree, ratio, copies in _trees():
        if ratio == "1:1":
            paper, path = PRINTED_PJ[tree.name], float(tree.path_pj_per_bit)
            yield near(f"{tree.name}, energy on a path", paper, path, "pJ/bit")
        per_port = tree.transceivers_per_port
        whole = float(tree.power_w(copies, per_port) / MEGA)
        as_paid = float(tree.power_w(copies, _PAID[tree.name]) / MEGA)
        why = (
            f"printed with {_PAID[tree.name]} transceivers for each port of a node"
            f" ({as_paid:.4g} MW), though the energy on a path counts {per_port}"
        )
        paper = PRINTED_MW[tree.name, ratio]
        yield near(f"{tree.name} {ratio}, power", paper, whole, "MW", why=why)
    low, high = (float(RAMP.power_w(watts) / MEGA) for watts in RAMP_TRANSCEIVER_W)
    yield near("RAMP, least power", RAMP_PRINTED_MW[0], low, "MW")
    yield near("RAMP, greatest power", RAMP_PRINTED_MW[1], high, "MW")
    per_bit = [
        float(1000 * watts / RAMP.transceiver_gbit_per_s)
        for watts in RAMP_TRANSCEIVER_W
    ]
    yield near("RAMP, least energy on a path", 8.5, per_bit[0], "pJ/bit")
    yield near("RAMP, greatest energy on a path", 9.5, per_bit[1], "pJ/bit")
    why = "a milliwatt for each Gb/s is a picojoule a bit: 8.5, ten times less"
    yield near("RAMP, least power of a rate", 85, per_bit[0], "mW per Gb/s", why=why)
    with_soas = [
        value + float(1000 * SOAS_ON_PATH * SOA_W / RAMP.transceiver_gbit_per_s)
        for value in per_bit
    ]
    yield holds(
        "2 amplifiers of 0.88 W on a path are part of it",
        f"{per_bit[0]:g} to {per_bit[1]:g} pJ/bit",
        f"{with_soas[0]:.3g} to {with_soas[1]:.3g} pJ/bit with them",
        points=[
            Point("least", with_soas[0], most=1.02 * per_bit[0]),
            Point("greatest", with_soas[1], most=1.02 * per_bit[1]),
        ],
        why="printed energies and totals are those of the transceiver's power alone;"
        " they hold if that includes the amplifiers, which the text suggests",
    )
    yield from _ratios(low, high)


def _ratios(low: float, high: float) -> Iterator[Comparison]:
    """Yield the claims on RAMP's power beside the printed powers of others."""
    yield near("least saving at 1:1", 38, PRINTED_MW["HPC SuperPod", "1:1"] / high, "X")
    most = PRINTED_MW["DCN fat tree", "1:1"] / low
    yield near("greatest saving at 1:1", 47, most, "X")
    ten = PRINTED_MW["HPC SuperPod", "10:1"] / high
    yield near("least saving at 10:1", 3.6, ten, "X")
    more = [
        100 * (low / PRINTED_MW["DCN fat tree", "64:1"] - 1),
        100 * (high / PRINTED_MW["HPC SuperPod", "64:1"] - 1),
    ]
    yield near("least excess over 64:1", 36, more[0], "%", why="of rounded megawatts")
    yield near("greatest excess over 64:1", 66, more[1], "%")


def _table4_panels(data: Data) -> Iterator[Panel]:
    paper = [*PRINTED_MW.values(), *RAMP_PRINTED_MW]
    ours = [round(megawatts, 1) for megawatts in data.numbers("power_mw")]
    yield beside_the_paper(data, ours, paper, "power (MW)")


LEAST_ON_PATH_DBM = -20.0
"""Power below which light is not amplified well."""
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
        power, components = (
            self.launch_dbm,
            [LinkComponent("transmitter", 0.0, self.launch_dbm)],
        )
        for name, change in changes:
            power += change
            components.append(LinkComponent(name, change, power))
        return tuple(components)


_ROUNDING_DB = 1e-9
"""Room for the rounding of floating point."""


def _fig6_compute(
    tell: Tell, *, groups: tuple[int, ...] = (8, 16, 32)
) -> Iterator[Row]:
    """Work out the least gains, and the power behind each component.

    Networks have x groups of x racks of 64.
    """
    tell("adding up decibels")
    for x in groups:
        for stage in Budget(x, x, _NUMBERS).stages():
            yield (
                x,
                x * x * _NUMBERS,
                stage.name,
                stage.change_db,
                stage.power_dbm,
            )


def _fig6_claims(data: Data) -> Iterator[Comparison]:
    largest = int(data.sizes("groups")[-1])
    budget = Budget(largest, largest, _NUMBERS)
    nodes = budget.groups * budget.racks * budget.numbers
    first, second = budget.gains_db
    *_, received = powers = data.numbers("power_dbm", groups=largest)
    yield holds(
        f"a receiver gets -15 dBm and no point falls below -20 dBm ({nodes:,} nodes)",
        "yes",
        f"{received:.1f} and {min(powers):.1f} dBm with gains of {first:.1f} and"
        f" {second:.1f} dB",
        points=between(
            {"received, in dBm": received}, least=LEAST_AT_RECEIVER_DBM - _ROUNDING_DB
        )
        + between(
            {f"point {place}, in dBm": power for place, power in enumerate(powers)},
            least=LEAST_ON_PATH_DBM - _ROUNDING_DB,
        ),
        why="light falls below a limit before it can be amplified",
    )
    lost = 2 * budget.edge_loss_db + budget.core_loss_db
    yield not_reproducible(
        "power behind each component",
        "a plot",
        f"splitting alone loses {lost:.1f} dB",
        "launch power, gains of amplifiers and losses beyond splitting are not printed",
    )
    yield not_reproducible(
        f"{nodes:,} nodes are the most that the budget allows",
        "yes",
        f"they need {first + second:.1f} dB of gain at {budget.launch_dbm:g} dBm",
        "how much gain the amplifiers have before noise counts is not printed",
    )


def _fig6_panels(data: Data) -> Iterator[Panel]:
    components = data.names("component")
    places = list(range(len(components)))
    yield Panel(
        "least gains",
        "behind component",
        "power (dBm)",
        [
            Series(f"{nodes:,} nodes", places, data.numbers("power_dbm", nodes=nodes))
            for nodes in data.sizes("nodes")
        ],
        x_ticks=list(enumerate(components)),
        marks=(
            Mark("least at the receiver", y=LEAST_AT_RECEIVER_DBM),
            Mark("least on the path", y=LEAST_ON_PATH_DBM),
        ),
    )


FIGURE = figures(
    __package__,
    ("ramp-fig6", _fig6_compute, _fig6_claims, _fig6_panels),
    ("ramp-fig7", _fig7_rows, _fig7_claims, _fig7_panels),
    ("ramp-table3", _table3_rows, _table3_claims, _table3_panels),
    ("ramp-table4", _table4_rows, _table4_claims, _table4_panels),
)
