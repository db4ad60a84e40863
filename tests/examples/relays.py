"""A demand on a ring of circuits whose bytes are relayed, and broken ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from lightloom.core.circuit import Circuits
from lightloom.core.columns import column
from lightloom.core.schedule import (
    Algorithm,
    FluidTransfers,
    Schedule,
    Segment,
    StepPart,
)
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ocs import Ocs
from tests.examples.small_schedules import sealed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Row = tuple[int, int, int, int, int]
"""src, dst, bytes, origin, final."""

SWITCH = Ocs(
    nodes=3,
    switches=1,
    bits_per_second_per_node=8_000_000_000,  # a byte takes a nanosecond
    alpha_ps=1_000,
    reconfiguration_ps=1_000_000,
)
ASKED = Demand.from_rows([(0, 1, 1000), (0, 2, 500), (1, 2, 700)], relays=True)
FIRST: tuple[Row, ...] = (
    (0, 1, 1000, 0, 1),
    (0, 1, 500, 0, 2),
    (1, 2, 700, 1, 2),
)
SECOND: tuple[Row, ...] = ((1, 2, 500, 0, 2),)


def relayed(rows: Sequence[Row]) -> FluidTransfers:
    """Return transfers with the ends of their pairs."""
    return FluidTransfers(
        *(column(row[place] for row in rows) for place in range(len(rows[0])))
    )


def over_relay(*steps: Sequence[Row], asked: Demand = ASKED) -> Schedule:
    """Return a demand on circuits 0 -> 1 -> 2 -> 0, by default over node 1."""
    ends = column([0, 1, 2]), column([1, 2, 0])
    parts = [
        StepPart(index, 0, 0, relayed(rows))
        for index, rows in enumerate(steps or (FIRST, SECOND))
    ]
    made = Schedule(
        SWITCH.table(),
        asked,
        Algorithm("by-hand"),
        (Segment(0, 0, Circuits(*ends)),),
        tuple(parts),
    )
    return sealed(made)


def short_final() -> Schedule:
    """Return a schedule with the final nodes of the last step left out."""
    whole = over_relay()
    moved = whole.parts[1].transfers
    assert isinstance(moved, FluidTransfers)
    part = replace(whole.parts[1], transfers=replace(moved, final=None))
    return sealed(replace(whole, parts=(whole.parts[0], part)))


STRAIGHT = msgspec.structs.replace(ASKED, relays=False)

MUTANTS: tuple[tuple[str, str, Callable[[], Schedule]], ...] = (
    (
        "relay that sends while it receives",
        "demand-relays",
        lambda: over_relay([*FIRST, *SECOND]),
    ),
    (
        "relay that sends before it receives",
        "demand-relays",
        lambda: over_relay([FIRST[0], FIRST[2], *SECOND], [FIRST[1]]),
    ),
    (
        "relay that sends a byte too early",
        "demand-relays",
        lambda: over_relay(
            [*FIRST[:1], (0, 1, 400, 0, 2), FIRST[2]],
            [(0, 1, 100, 0, 2), (1, 2, 401, 0, 2)],
            [(1, 2, 99, 0, 2)],
        ),
    ),
    (
        "a byte sent twice by its origin",
        "demand-bytes",
        lambda: over_relay([*FIRST, (0, 1, 1, 0, 2)], SECOND),
    ),
    ("bytes that stay at the relay", "demand-bytes", lambda: over_relay(FIRST)),
    (
        "bytes of a pair that did not ask",
        "demand-bytes",
        lambda: over_relay(FIRST, [*SECOND, (2, 0, 5, 2, 0)]),
    ),
    (
        "relayed though the demand does not allow it",
        "demand-relays",
        lambda: over_relay(asked=STRAIGHT),
    ),
    (
        "origin outside the fabric",
        "node-range",
        lambda: over_relay(FIRST, [(1, 2, 500, 9, 2)]),
    ),
    ("origin without final nodes", "transfer-columns", short_final),
)
"""Name, rule, and the broken schedule, which breaks no other."""

BROKEN = (
    *MUTANTS,
    (
        "relay that sends more than it received",
        "demand-bytes",
        lambda: over_relay(FIRST, SECOND, [(1, 2, 1, 0, 2)]),
    ),
    (
        "bytes that reach another node",
        "demand-bytes",
        lambda: over_relay(FIRST, [(1, 2, 499, 0, 2)], [(2, 0, 1, 0, 2)]),
    ),
    (
        "three circuits",
        "demand-relays",
        lambda: over_relay(
            [(0, 1, 7, 0, 0)],
            [(1, 2, 7, 0, 0)],
            [(2, 0, 7, 0, 0)],
            FIRST,
            SECOND,
        ),
    ),
)
"""Those, and some that break several rules."""
