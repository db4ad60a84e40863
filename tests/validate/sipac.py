"""Small schedules on SiPAC, and broken ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.circuit import ALONE, Circuits
from lightloom.core.columns import Ragged, column
from lightloom.core.schedule import Algorithm, Schedule, Segment, StepPart
from lightloom.core.task import Collective, Demand
from lightloom.instances.fabrics.sipac import Sipac
from tests.examples.small_schedules import fluid, moves, sealed, with_circuits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.examples.small_schedules import Move

Lit = tuple[int, int, list[int]]
"""src, dst, wavelengths."""

SHUFFLED: list[Lit] = [(0, 1, [0]), (1, 2, [0]), (2, 0, [0]), (0, 3, [0]), (3, 6, [0])]
TO_ALL: list[Lit] = [(0, 1, [0, 1]), (0, 2, [0, 1]), (0, 3, [0, 1])]


def sipac_circuits(rows: Sequence[Lit], multicast: list[int] | None = None) -> Circuits:
    """Return circuits of SiPAC."""
    return Circuits(
        column(row[0] for row in rows),
        column(row[1] for row in rows),
        Ragged.from_lists([row[2] for row in rows]),
        multicast=None if multicast is None else column(multicast),
    )


def shuffled_demand() -> Schedule:
    """Five pairs on the fixed shuffle of SiPAC(3, 1)."""
    rows = [(src, dst, 900) for src, dst, _ in SHUFFLED]
    fabric = Sipac(radix=3, switching="fixed")
    made = Schedule(
        fabric.table(),
        Demand.from_rows(rows),
        Algorithm("by hand"),
        (Segment(0, 0, sipac_circuits(SHUFFLED)),),
        (StepPart(0, 0, 0, fluid(rows)),),
    )
    return sealed(made)


def multicast_broadcast() -> Schedule:
    """Node 0 tells two nodes of its switch, and one of level 1, all it has."""
    task = Collective("broadcast", (0, 1, 2, 3), 4096, 4)
    made = Schedule(
        Sipac(radix=3).table(),
        task,
        Algorithm("by hand"),
        (Segment(0, 0, sipac_circuits(TO_ALL, [0, 0, ALONE])),),
        (StepPart(0, 0, 0, moves([(0, 1, 0, 4), (0, 2, 0, 4), (0, 3, 0, 4)])),),
    )
    return sealed(made)


def with_moves(rows: Sequence[Move]) -> Callable[[], Schedule]:
    """Return the maker of the broadcast with other transfers, more steps after."""

    def broken() -> Schedule:
        whole = multicast_broadcast()
        parts = (
            StepPart(0, 0, 0, moves(rows)),
            StepPart(1, 0, 0, moves([(0, 1, 0, 4), (0, 2, 0, 4), (0, 3, 0, 4)])),
        )
        return sealed(
            Schedule(whole.fabric, whole.task, whole.algorithm, whole.segments, parts)
        )

    return broken


FAMILIES = (shuffled_demand, multicast_broadcast)


def _more(*more: Lit) -> Callable[[], Schedule]:
    rows = sipac_circuits([*SHUFFLED, *more])
    return lambda: with_circuits(shuffled_demand(), 0, rows)


def _cast(rows: list[Lit], multicast: list[int]) -> Callable[[], Schedule]:
    circuits = sipac_circuits([*TO_ALL, *rows], [0, 0, ALONE, *multicast])
    return lambda: with_circuits(multicast_broadcast(), 0, circuits)


def _multicast_on_fixed() -> Schedule:
    circuits = sipac_circuits(SHUFFLED, [ALONE] * len(SHUFFLED))
    return with_circuits(shuffled_demand(), 0, circuits)


MUTANTS: tuple[tuple[str, str, Callable[[], Schedule]], ...] = (
    ("two digits at once", "one-switch", _more((1, 5, [0]))),
    ("against the shuffle", "shuffle", _more((1, 0, [0]))),
    ("wavelength SiPAC lacks", "wavelength-range", _more((1, 0, [2]))),
    ("multicast on fixed switches", "circuit-columns", _multicast_on_fixed),
    ("a laser of SiPAC twice", "lasers", _cast([(0, 6, [1])], [ALONE])),
    ("a bus with a wavelength twice", "photodiodes", _cast([(2, 1, [1])], [ALONE])),
    ("two transmissions of one laser", "lasers", _cast([(0, 6, [0])], [1])),
    (
        "wavelengths of one circuit in another order",
        "multicast-circuit",
        lambda: with_circuits(
            multicast_broadcast(),
            0,
            sipac_circuits([TO_ALL[0], (0, 2, [1, 0]), TO_ALL[2]], [0, 0, ALONE]),
        ),
    ),
    (
        "different chunks to the ears of one circuit",
        "multicast-data",
        with_moves([(0, 1, 0, 2), (0, 2, 2, 4)]),
    ),
)
