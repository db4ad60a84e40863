"""RAMP Fig. 7: rate of a node against the number of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.papers.claims import (
    fact,
    holds,
    near,
    not_reproducible,
)
from lightloom.papers.ramp.components import RampParts
from lightloom.papers.reproduction import Figure
from lightloom.report.panel import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell

NUMBERS = 64
_EXAMPLE = (14, 12_544, 288)
"""Groups of the paper's example, its nodes, and their rate in Tb/s."""


def _compute(
    tell: Tell,
    *,
    groups: tuple[int, ...] = tuple(range(8, 33)),
    per_group: tuple[int, ...] = (1, 4, 16, 64, 256),
) -> Iterator[Row]:
    """Yield scale and rate of every configuration.

    `per_group` are transceivers of a group, b in the paper.
    """
    tell("every configuration")
    for each in per_group:
        for x in groups:
            parts = _parts(x, each)
            served = "yes" if is_served(x) else "no"
            yield x, each, parts.nodes, parts.node_gbit_per_s / 1000, served


def is_served(groups: int) -> bool:
    """Return whether x groups of x racks of 64 nodes have the paper's four steps."""
    try:
        Ramp(groups=groups, racks=groups, nodes_per_rack=NUMBERS)
    except InputError:
        return False
    return True


def _parts(groups: int, per_group: int) -> RampParts:
    return RampParts(groups, groups, NUMBERS, per_group)


def _claims(_: Data) -> Iterator[Comparison]:
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
        points=fact("served", so=is_served(groups)),
        why=f"{groups} does not divide {NUMBERS}: there are no device groups of x",
    )
    yield not_reproducible(
        "other systems in the figure",
        "points of 13 systems",
        "-",
        "their coordinates are not printed",
    )


def _panels(data: Data) -> Iterator[Panel]:
    series: list[Series] = []
    for place, each in enumerate(data.sizes("per_group")):
        curve = data.curve("nodes", "node_tbit_per_s", per_group=each)
        label = f"{each} transceiver{'s' * (each > 1)} a group"
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


_NOTES = (
    (
        "Nodes are 64 x^2, the rate of a node is b x times 400 Gb/s. Marked points have"
        " an x that divides 64, as the subgroups of the four steps need."
    ),
)

FIGURE = Figure(
    name="ramp-fig7",
    title="rate of a node against scale, x groups of x racks of 64 nodes",
    columns=("groups", "per_group", "nodes", "node_tbit_per_s", "served"),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=_NOTES,
)
