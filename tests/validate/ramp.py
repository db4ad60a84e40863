"""Small schedules on RAMP, with circuits of one and of many destinations; broken ones.

The network has two groups of two racks of four: node (g, j, lam) is 8 g + 4 j + lam.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lightloom.core.circuit import ALONE, Circuits
from lightloom.core.columns import column
from lightloom.core.task import Collective, Demand
from lightloom.instances.fabrics.ramp import Ramp
from tests.examples.small_schedules import fluid, moves, schedule, with_circuits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lightloom.core.schedule import Schedule

Row = tuple[int, int, int, int]
"""src, dst, transceiver, multicast."""

FABRIC = Ramp(groups=2, racks=2, nodes_per_rack=4)
SWITCHED = Ramp(groups=2, racks=2, nodes_per_rack=4, subnet="route-and-switch")
GRATED = Ramp(groups=2, racks=2, nodes_per_rack=4, subnet="route-and-broadcast")

CLASS: list[Row] = [(0, 4, 0, 0), (0, 8, 0, 0), (0, 12, 0, 0)]


def lit(rows: Sequence[Row]) -> Circuits:
    """Return circuits of RAMP."""
    src, dst, used, shared = (column(row[place] for row in rows) for place in range(4))
    return Circuits(src, dst, transceiver=used, multicast=shared)


def broadcast() -> Schedule:
    """Node 0 sends once; the three others of its number hear it."""
    return schedule(
        FABRIC.table(),
        Collective("broadcast", (0, 4, 8, 12), 1000, 2),
        [lit(CLASS)],
        [(0, moves([(0, node, 0, 2) for node in (4, 8, 12)]))],
    )


def exchange() -> Schedule:
    """Two nodes of different groups, racks and numbers exchange on all they have."""
    rows = [(0, 13, 0), (0, 13, 1), (13, 0, 0), (13, 0, 1)]
    src, dst, used = (column(row[place] for row in rows) for place in range(3))
    return schedule(
        FABRIC.table(),
        Collective("all-gather", (0, 13), 1000, 2),
        [Circuits(src, dst, transceiver=used)],
        [(0, moves([(0, 13, 0, 1), (13, 0, 1, 2)]))],
    )


def demand() -> Schedule:
    """Bytes for one of those who hear; the others listen in vain."""
    return schedule(
        FABRIC.table(),
        Demand.from_rows([(0, 8, 500)]),
        [lit(CLASS)],
        [(0, fluid([(0, 8, 500)]))],
    )


FAMILIES = (broadcast, exchange, demand)


def _more(*rows: Row) -> Callable[[], Schedule]:
    """Return the maker of the broadcast with more circuits."""
    return lambda: with_circuits(broadcast(), 0, lit([*CLASS, *rows]))


def _without_transceivers() -> Schedule:
    bare = replace(broadcast().segments[0].circuits, transceiver=None)
    segment = replace(broadcast().segments[0], circuits=bare)
    return replace(broadcast(), segments=(segment,))


def _other_pieces() -> Schedule:
    """Return the broadcast in which one destination wants pieces of its own."""
    rows = [(0, 4, 0, 2), (0, 8, 0, 2), (0, 12, 1, 2), (0, 12, 0, 1)]
    made = broadcast()
    part = replace(made.parts[0], transfers=moves(rows))
    assert made.footer is not None
    footer = replace(made.footer, transfers=4)
    return replace(made, parts=(part,), footer=footer)


def _two_demands() -> Schedule:
    return schedule(
        FABRIC.table(),
        Demand.from_rows([(0, 8, 500), (0, 12, 500)]),
        [lit(CLASS)],
        [(0, fluid([(0, 8, 500), (0, 12, 500)]))],
    )


def _on_switches() -> Schedule:
    """Two racks of a group behind one input of a crossbar switch."""
    made = broadcast()
    return schedule(
        SWITCHED.table(),
        made.task,
        [made.segments[0].circuits],
        [(0, made.parts[0].transfers)],
    )


MUTANTS: tuple[tuple[str, str, Callable[[], Schedule]], ...] = (
    ("no transceivers", "circuit-columns", _without_transceivers),
    ("multicast of two sources", "multicast-circuit", _more((4, 0, 0, 0))),
    ("multicast of two transceivers", "multicast-circuit", _more((0, 1, 1, 0))),
    ("multicast twice to a node", "multicast-circuit", _more((0, 4, 0, 0))),
    ("multicast below alone", "multicast-circuit", _more((0, 1, 1, -2))),
    ("multicast on two wavelengths", "multicast-wavelength", _more((0, 1, 0, 0))),
    ("multicast in other pieces", "multicast-data", _other_pieces),
    ("multicast and more for one", "multicast-data", _more((0, 4, 1, ALONE))),
    ("multicast of two demands", "multicast-data", _two_demands),
    ("third transceiver", "transceiver-range", _more((0, 1, 2, ALONE))),
    ("transceiver below none", "transceiver-range", _more((0, 1, -1, ALONE))),
    (
        "racks that meet in a subnet",
        "subnets",
        _more((1, 10, 0, ALONE), (5, 14, 0, ALONE)),
    ),
    ("two racks behind a switch input", "subnets", _on_switches),
    (
        "a transmitter to two groups",
        "transmitters",
        _more((1, 2, 1, ALONE), (1, 11, 1, ALONE)),
    ),
    (
        "a receiver from two groups",
        "receivers",
        _more((1, 10, 1, ALONE), (13, 10, 1, ALONE)),
    ),
)
