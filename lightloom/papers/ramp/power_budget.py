"""RAMP Fig. 6: optical power along a path, from the losses that splitting light costs.

A splitter, coupler or combiner of n ports leaves an n-th of the power at each, whatever
it is made of; what components lose beyond that, and what amplifiers gain, is not
printed. So the least gains that keep to the printed limits are worked out.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log10
from typing import TYPE_CHECKING

from lightloom.papers.claims import between, holds, not_reproducible
from lightloom.papers.reproduction import figures
from lightloom.report.panel import Mark, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.reproduction import Data, Row, Tell

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
        power, components = (
            self.launch_dbm,
            [LinkComponent("transmitter", 0.0, self.launch_dbm)],
        )
        for name, change in changes:
            power += change
            components.append(LinkComponent(name, change, power))
        return tuple(components)


_NUMBERS = 64
_ROUNDING_DB = 1e-9


def _compute(tell: Tell, *, groups: tuple[int, ...] = (8, 16, 32)) -> Iterator[Row]:
    """Work out the least gains, and the power behind each component.

    Networks have x groups of x racks of 64.
    """
    tell("adding up decibels")
    for x in groups:
        for stage in Budget(x, x, _NUMBERS).stages():
            yield x, x * x * _NUMBERS, stage.name, stage.change_db, stage.power_dbm


def _claims(data: Data) -> Iterator[Comparison]:
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


def _panels(data: Data) -> Iterator[Panel]:
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
    ("ramp-fig6", _compute, _claims, _panels),
)
