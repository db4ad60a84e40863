"""RAMP Fig. 6: optical power behind each component of the path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.papers.claims import (
    between,
    holds,
    not_reproducible,
)
from lightloom.papers.ramp.power_budget import (
    LEAST_AT_RECEIVER_DBM,
    LEAST_ON_PATH_DBM,
    Budget,
)
from lightloom.papers.reproduction import Figure
from lightloom.report.panel import Mark, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell

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


_NOTES = (
    (
        "A port of a splitter, coupler or combiner of n ports gets an n-th of the"
        " power: 15.1 dB less for 32 groups, 33.1 dB for the 2048 nodes of a group."
    ),
    "The launch power of 10 dBm is assumed; losses beyond splitting are left out.",
)

FIGURE = Figure(
    name="ramp-fig6",
    title="power budget of a path with broadcast and select",
    columns=("groups", "nodes", "component", "change_db", "power_dbm"),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=_NOTES,
)
