"""Small schedules on rings and optical switches, and broken ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged, column
from lightloom.core.schedule import Algorithm, Schedule, Segment, StepPart
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ring import Ring
from tests.examples.small_schedules import fluid, sealed, with_circuits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lightloom.core.fabric import CircuitFabric

RingCircuit = tuple[int, int, int, list[int]]
"""src, dst, direction, wavelengths."""
Pair = tuple[int, int]

LIT: list[RingCircuit] = [(0, 2, 0, [0]), (2, 3, 0, [0, 1]), (3, 2, 1, [1])]


def ring_circuits(rows: Sequence[RingCircuit]) -> Circuits:
    """Return circuits of a ring."""
    return Circuits(
        column(row[0] for row in rows),
        column(row[1] for row in rows),
        Ragged.from_lists([row[3] for row in rows]),
        direction=column(row[2] for row in rows),
    )


def ring_demand(*, shared: bool = True) -> Schedule:
    """Three pairs on a ring of four with two fibres, as far as light reaches."""
    fabric = Ring(
        nodes=4, wavelengths=3, directions=2, reach=2, shared_transceivers=shared
    )
    rows = [(0, 2, 1000), (2, 3, 500), (3, 2, 700)]
    return _held(fabric, rows, [ring_circuits(LIT)], [rows])


def ocs_demand() -> Schedule:
    """Three pairs on two switches, one pair on both of them."""
    fabric = Ocs(nodes=4, switches=2, bits_per_second_per_node=10**12)
    held = [[(0, 1), (2, 0)], [(0, 1), (1, 3)]]
    return _on_switches(fabric, held)


def matched_demand() -> Schedule:
    """Bidirectional circuits on two switches, one of them used both ways."""
    fabric = Ocs(
        nodes=6, switches=2, bits_per_second_per_node=10**12, bidirectional=True
    )
    held = [[(0, 1), (1, 0), (2, 3)], [(1, 3), (3, 1)]]
    return _on_switches(fabric, held)


FAMILIES = (ring_demand, ocs_demand, matched_demand)


def _on_switches(fabric: Ocs, held: Sequence[Sequence[Pair]]) -> Schedule:
    """Return a kilobyte on every circuit."""
    rows = [[(*pair, 1000) for pair in pairs] for pairs in held]
    planes = [_pairs(pairs) for pairs in held]
    return _held(fabric, [row for moved in rows for row in moved], planes, rows)


def _pairs(pairs: Sequence[Pair]) -> Circuits:
    return Circuits(column(a for a, _ in pairs), column(b for _, b in pairs))


def _held(
    fabric: CircuitFabric,
    demand: Sequence[tuple[int, int, int]],
    planes: Sequence[Circuits],
    moved: Sequence[Sequence[tuple[int, int, int]]],
) -> Schedule:
    """Return one segment a plane and one step, sealed."""
    made = Schedule(
        fabric.table(),
        Demand.from_rows(list(demand)),
        Algorithm("by hand"),
        tuple(Segment(plane, 0, rows) for plane, rows in enumerate(planes)),
        tuple(StepPart(0, plane, 0, fluid(rows)) for plane, rows in enumerate(moved)),
    )
    return sealed(made)


def _lit(*more: RingCircuit, shared: bool = True) -> Callable[[], Schedule]:
    """Return the maker of the ring with more circuits."""
    rows = ring_circuits([*LIT, *more])
    return lambda: with_circuits(ring_demand(shared=shared), 0, rows)


def _joined(
    make: Callable[[], Schedule], plane: int, pairs: Sequence[Pair]
) -> Callable[[], Schedule]:
    """Return the maker of switches of which one holds more circuits."""

    def broken() -> Schedule:
        rows = make().segments[plane].circuits
        src = column([*rows.src.tolist(), *(a for a, _ in pairs)])
        dst = column([*rows.dst.tolist(), *(b for _, b in pairs)])
        return with_circuits(make(), plane, replace(rows, src=src, dst=dst))

    return broken


def _without_direction() -> Schedule:
    whole = ring_demand()
    circuits = replace(whole.segments[0].circuits, direction=None)
    segment = replace(whole.segments[0], circuits=circuits)
    return replace(whole, segments=(segment,))


def _with_direction() -> Schedule:
    whole = ocs_demand()
    circuits = whole.segments[0].circuits
    turned = replace(circuits, direction=column([0] * len(circuits)))
    segments = (replace(whole.segments[0], circuits=turned), whole.segments[1])
    return replace(whole, segments=segments)


MUTANTS: tuple[tuple[str, str, Callable[[], Schedule]], ...] = (
    ("ring without directions", "circuit-columns", _without_direction),
    ("switch with directions", "circuit-columns", _with_direction),
    ("third direction", "direction-range", _lit((1, 2, 2, [2]))),
    ("backward direction", "direction-range", _lit((1, 2, -1, [2]))),
    ("circuit beyond reach", "reach", _lit((1, 2, 1, [2]))),
    ("circuit all but round", "reach", _lit((3, 2, 0, [2]))),
    ("wavelength the ring lacks", "wavelength-range", _lit((0, 1, 0, [3]))),
    ("wavelength of a ring twice", "wavelength-range", _lit((1, 2, 0, [2, 2]))),
    ("no wavelength on a ring", "wavelength-range", _lit((1, 2, 0, []))),
    ("overlap on a span", "spans", _lit((0, 2, 0, [2]), (1, 3, 0, [2]))),
    ("overlap past the last node", "spans", _lit((2, 0, 0, [2]), (3, 1, 0, [2]))),
    ("overlap on the way back", "spans", _lit((1, 3, 1, [2]), (0, 2, 1, [2]))),
    ("a laser both ways", "lasers", _lit((0, 1, 0, [2]), (0, 3, 1, [2]))),
    ("a photodiode both ways", "photodiodes", _lit((1, 2, 0, [2]), (3, 2, 1, [2]))),
    ("two circuits into a switch", "switch-inputs", _joined(ocs_demand, 0, [(0, 3)])),
    ("two circuits out of one", "switch-outputs", _joined(ocs_demand, 1, [(2, 1)])),
    ("a port with two partners", "switch-ports", _joined(matched_demand, 0, [(3, 4)])),
)
