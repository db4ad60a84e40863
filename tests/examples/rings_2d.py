"""A small schedule on a 2D ring, and broken ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.schedule import Algorithm, Schedule, Segment, StepPart
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ring_2d import Ring2d
from tests.examples.rings_and_switches import ring_circuits
from tests.examples.small_schedules import fluid, sealed, with_circuits

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.examples.rings_and_switches import RingCircuit

LIT: list[RingCircuit] = [
    (0, 2, 0, [0]),
    (2, 0, 1, [1]),
    (1, 9, 2, [0]),
    (9, 1, 3, [1]),
]


def grid_demand(*, shared: bool = True) -> Schedule:
    """Four pairs on three rows of four, as far as light reaches."""
    fabric = Ring2d(
        rows=3,
        cols=4,
        row_wavelengths=3,
        column_wavelengths=2,
        directions=2,
        shared_transceivers=shared,
        power_budget_millidb=1300,
    )
    rows = [(src, dst, 900) for src, dst, _, _ in LIT]
    made = Schedule(
        fabric.table(),
        Demand.from_rows(rows),
        Algorithm("by hand"),
        (Segment(0, 0, ring_circuits(LIT)),),
        (StepPart(0, 0, 0, fluid(rows)),),
    )
    return sealed(made)


FAMILIES = (grid_demand,)


def _lit(*more: RingCircuit) -> Callable[[], Schedule]:
    rows = ring_circuits([*LIT, *more])
    return lambda: with_circuits(grid_demand(), 0, rows)


MUTANTS: tuple[tuple[str, str, Callable[[], Schedule]], ...] = (
    ("a row's circuit to another row", "shared-ring", _lit((4, 1, 0, [0]))),
    ("a column's circuit in a row", "shared-ring", _lit((4, 5, 2, [0]))),
    ("fifth direction of a grid", "direction-range", _lit((4, 5, 4, [0]))),
    ("all but round a row", "reach", _lit((4, 7, 0, [0]))),
    ("wavelength a column lacks", "wavelength-range", _lit((0, 4, 2, [2]))),
    ("a laser both ways along a row", "lasers", _lit((0, 3, 1, [0]))),
    ("a photodiode both ways up a column", "photodiodes", _lit((5, 9, 3, [0]))),
    ("overlap on a span of a row", "spans", _lit((4, 6, 0, [2]), (5, 7, 0, [2]))),
    ("overlap on a span of a column", "spans", _lit((0, 8, 2, [1]), (4, 0, 2, [1]))),
)
