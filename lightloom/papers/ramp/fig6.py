"""RAMP Fig. 6: optical power behind each component of the path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.papers.claims import holds
from lightloom.papers.ramp.power_budget import (
    LEAST_AT_RECEIVER_DBM,
    LEAST_ON_PATH_DBM,
    Budget,
)
from lightloom.papers.reproduction import Comparison, Reproduction, Verdict
from lightloom.report.plots import Mark, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ROUNDING_DB = 1e-9


@dataclass(frozen=True)
class Fig6:
    """The figure, for networks of x groups of x racks of 64."""

    groups: tuple[int, ...] = (8, 16, 32)
    name: str = "ramp-fig6"
    title: str = "power budget of a path with broadcast and select"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Work out the least gains, and the power behind each component."""
        progress("adding up decibels")
        budgets = {x: Budget(x, x, 64) for x in self.groups}
        rows = tuple(
            (x, x * x * 64, stage.name, stage.change_db, stage.power_dbm)
            for x, budget in budgets.items()
            for stage in budget.stages()
        )
        places = range(len(budgets[self.groups[0]].stages()))
        series = [
            Series(
                f"{x * x * 64:,} nodes",
                list(places),
                [stage.power_dbm for stage in budget.stages()],
            )
            for x, budget in budgets.items()
        ]
        names = [stage.name for stage in budgets[self.groups[0]].stages()]
        panel = Panel(
            "least gains",
            "behind component",
            "power (dBm)",
            series,
            x_ticks=[(place, names[place]) for place in places],
            marks=(
                Mark("least at the receiver", y=LEAST_AT_RECEIVER_DBM),
                Mark("least on the path", y=LEAST_ON_PATH_DBM),
            ),
        )
        return Reproduction(
            self.name,
            self.title,
            ("groups", "nodes", "component", "change_db", "power_dbm"),
            rows,
            tuple(_claims(budgets[self.groups[-1]])),
            _NOTES,
            (panel,),
        )


def _claims(budget: Budget) -> Iterator[Comparison]:
    nodes = budget.groups * budget.racks * budget.numbers
    first, second = budget.gains_db
    stages = budget.stages()
    lowest = min(stage.power_dbm for stage in stages)
    received = stages[-1].power_dbm
    yield holds(
        f"a receiver gets -15 dBm and no point falls below -20 dBm ({nodes:,} nodes)",
        "yes",
        f"{received:.1f} and {lowest:.1f} dBm with gains of {first:.1f} and"
        f" {second:.1f} dB",
        holds=received >= LEAST_AT_RECEIVER_DBM - _ROUNDING_DB
        and lowest >= LEAST_ON_PATH_DBM - _ROUNDING_DB,
        why="light falls below a limit before it can be amplified",
    )
    lost = 2 * budget.edge_loss_db + budget.core_loss_db
    yield Comparison(
        "power behind each component",
        "a plot",
        f"splitting alone loses {lost:.1f} dB",
        Verdict.NOT_REPRODUCIBLE,
        "launch power, gains of amplifiers and losses beyond splitting are not printed",
    )
    yield Comparison(
        f"{nodes:,} nodes are the most that the budget allows",
        "yes",
        f"they need {first + second:.1f} dB of gain at {budget.launch_dbm:g} dBm",
        Verdict.NOT_REPRODUCIBLE,
        "how much gain the amplifiers have before noise counts is not printed",
    )


_NOTES = (
    (
        "A port of a splitter, coupler or combiner of n ports gets an n-th of the"
        " power: 15.1 dB less for 32 groups, 33.1 dB for the 2048 nodes of a group."
    ),
    "The launch power of 10 dBm is assumed; losses beyond splitting are left out.",
)

FIGURE = Fig6()
