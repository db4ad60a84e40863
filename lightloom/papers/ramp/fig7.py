"""RAMP Fig. 7: rate of a node against the number of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.papers.claims import holds, near
from lightloom.papers.ramp.components import RampParts
from lightloom.papers.reproduction import Comparison, Reproduction, Verdict
from lightloom.report.plots import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NUMBERS = 64
GROUPS = tuple(range(8, 33))
PER_GROUP = (1, 4, 16, 64, 256)
"""Transceivers of a group, b in the paper."""
_EXAMPLE = (14, 12_544, 288)
"""Groups of the paper's example, its nodes, and their rate in Tb/s."""


@dataclass(frozen=True)
class Fig7:
    """The figure, for numbers of groups and of transceivers of a group."""

    groups: tuple[int, ...] = GROUPS
    per_group: tuple[int, ...] = PER_GROUP
    name: str = "ramp-fig7"
    title: str = "rate of a node against scale, x groups of x racks of 64 nodes"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Compute scale and rate of every configuration."""
        progress("every configuration")
        rows = tuple(
            (
                x,
                each,
                _parts(x, each).nodes,
                _parts(x, each).node_gbit_per_s / 1000,
                "yes" if is_served(x) else "no",
            )
            for each in self.per_group
            for x in self.groups
        )
        series: list[Series] = []
        for place, each in enumerate(self.per_group):
            own = [row for row in rows if row[1] == each]
            nodes, rates = [row[2] for row in own], [row[3] for row in own]
            label = f"{each} transceiver{'s' * (each > 1)} a group"
            series.append(Series(label, nodes, rates, ":", place, markers=False))
        served = [row for row in rows if row[4] == "yes"]
        nodes, rates = [row[2] for row in served], [row[3] for row in served]
        series.append(Series("x divides 64", nodes, rates, "", 6))
        panel = Panel(
            "x from 8 to 32",
            "nodes",
            "rate of a node (Tb/s)",
            series,
            x_log=2,
            y_log=10,
            x_ticks=[(2**k, f"{2**k:,}") for k in (12, 13, 14, 15, 16)],
        )
        return Reproduction(
            self.name,
            self.title,
            ("groups", "per_group", "nodes", "node_tbit_per_s", "served"),
            rows,
            tuple(_claims()),
            _NOTES,
            (panel,),
        )


def is_served(groups: int) -> bool:
    """Return whether x groups of x racks of 64 nodes have the paper's four steps."""
    try:
        Ramp(groups=groups, racks=groups, nodes_per_rack=NUMBERS)
    except InputError:
        return False
    return True


def _parts(groups: int, per_group: int) -> RampParts:
    return RampParts(groups, groups, NUMBERS, per_group)


def _claims() -> Iterator[Comparison]:
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
    found = _parts(groups, per_group)
    yield near("nodes of the example", nodes, found.nodes, "nodes")
    rate = found.node_gbit_per_s / 1000
    yield near(f"their rate, with b = {per_group}", wanted, rate, "Tb/s")
    yield holds(
        f"the example, x = {groups}, is a RAMP",
        "yes",
        "yes" if is_served(groups) else "no",
        holds=is_served(groups),
        why=f"{groups} does not divide {NUMBERS}: there are no device groups of x",
    )
    yield Comparison(
        "other systems in the figure",
        "points of 13 systems",
        "-",
        Verdict.NOT_REPRODUCIBLE,
        "their coordinates are not printed",
    )


_NOTES = (
    (
        "Nodes are 64 x^2, the rate of a node is b x times 400 Gb/s. Marked points have"
        " an x that divides 64, as the subgroups of the four steps need."
    ),
)

FIGURE = Fig7()
