"""A fabric of several planes for tests, and random fluid schedules on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.fabric import CircuitFault, FabricTable, Usage
from lightloom.core.schedule import (
    Algorithm,
    FluidTransfers,
    Schedule,
    Segment,
    StepPart,
)
from lightloom.core.task import Demand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray

CircuitRow = tuple[int, int, tuple[int, ...], tuple[int, ...]]
"""(src, dst, wavelengths, route)."""


@dataclass(frozen=True)
class PlaneFabric:
    """Planes without limits: whatever circuits a segment lists are there."""

    node_count: int
    plane_count: int
    alpha_ps: int
    reconfiguration_ps: int
    initial_configuration_charged: bool
    dark_while_reconfiguring: str
    bits_per_s: int = 8 * 10**12
    kind: str = "planes"
    circuit_columns: tuple[str, ...] = ("wavelengths", "route")
    ports_per_node: int = 16

    @property
    def node_bits_per_s(self) -> int:
        """Rate of a node."""
        return self.ports_per_node * self.bits_per_s

    def table(self) -> FabricTable:
        """Return nothing: the tests hand the fabric over as it is."""
        return {}

    def circuit_faults(self, circuits: Circuits) -> Iterator[CircuitFault]:
        """Yield nothing."""
        del circuits
        yield from ()

    def usage(self, circuits: Circuits) -> Usage:
        """Return that nothing is used."""
        del circuits
        none = np.empty(0, np.int64)
        return Usage(none, none, none)

    def capacity(self, resources: IntArray) -> IntArray:
        """Return ones."""
        return np.ones(len(resources), np.int64)

    def resource_rule(self, resource: int) -> str:
        """Return a rule."""
        return f"rule {resource}"

    def resource_name(self, resource: int) -> str:
        """Return a name."""
        return f"resource {resource}"

    def circuit_bits_per_s(self, circuits: Circuits) -> IntArray:
        """Return the rate of each circuit."""
        assert circuits.wavelengths is not None
        return circuits.wavelengths.lengths * self.bits_per_s


def segment(plane: int, index: int, rows: list[CircuitRow]) -> Segment:
    """Return a segment of circuit rows."""
    return Segment(
        plane,
        index,
        Circuits(
            np.array([row[0] for row in rows], np.int64),
            np.array([row[1] for row in rows], np.int64),
            Ragged.from_lists([row[2] for row in rows]),
            Ragged.from_lists([row[3] for row in rows]),
        ),
    )


def fluid(
    step: int,
    plane: int | None,
    segment_index: int | None,
    rows: list[tuple[int, int, int]],
) -> StepPart:
    """Return a part that moves (src, dst, bytes) rows."""
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    return StepPart(step, plane, segment_index, FluidTransfers(*columns))


def schedule_of(
    segments: list[Segment],
    parts: list[StepPart],
    fabric: FabricTable | None = None,
) -> Schedule:
    """Return a fluid schedule whose task nobody reads."""
    task = Demand((0,), (1,), (1,))
    table = {} if fabric is None else fabric
    return Schedule(table, task, Algorithm("test"), tuple(segments), tuple(parts))


fabrics = st.builds(
    PlaneFabric,
    node_count=st.integers(2, 4),
    plane_count=st.integers(1, 3),
    alpha_ps=st.sampled_from([0, 1, 7]),
    reconfiguration_ps=st.sampled_from([0, 5, 40]),
    initial_configuration_charged=st.booleans(),
    dark_while_reconfiguring=st.sampled_from(["plane", "changed-circuits"]),
    bits_per_s=st.sampled_from([8 * 10**12, 3 * 10**12, 7 * 10**11]),
)


@st.composite
def plane_schedules(draw: st.DrawFn, fabric: PlaneFabric) -> Schedule:
    """Draw a replayable schedule: planes walk on, steps use what they hold."""
    nodes = range(fabric.node_count)
    pairs = [(src, dst) for src in nodes for dst in nodes if src != dst]
    paths = st.tuples(
        st.sampled_from(pairs),
        st.sampled_from([(0,), (1,), (0, 1), (1, 0)]),
        st.booleans(),
    ).map(lambda drawn: _row(*drawn))
    segments, circuits = [], {}
    for plane in range(fabric.plane_count):
        rows: list[CircuitRow] = []
        for index in range(draw(st.integers(1, 4))):
            kept = [row for row in rows if draw(st.booleans())]
            rows = kept + draw(st.lists(paths, min_size=not kept, max_size=3))
            rows = draw(st.permutations(rows))
            circuits[plane, index] = rows
            segments.append(segment(plane, index, rows))
    parts = []
    reached = dict.fromkeys(range(fabric.plane_count), 0)
    for step in range(draw(st.integers(0, 5))):
        used = []
        for plane in range(fabric.plane_count):
            last = max(index for number, index in circuits if number == plane)
            choice = st.integers(reached[plane], last)
            for index in sorted(set(draw(st.lists(choice, max_size=2)))):
                reached[plane] = index
                used.append((plane, index))
        empty: list[tuple[int, int, int]] = []
        if not used:
            used, empty = [(0, reached[0])], []
            parts.append(fluid(step, 0, reached[0], empty))
            continue
        for plane, index in draw(st.permutations(used)):
            held = sorted({row[:2] for row in circuits[plane, index]})
            moves = st.tuples(st.sampled_from(held), st.integers(0, 50))
            rows_moved = draw(st.lists(moves, max_size=4))
            parts.append(
                fluid(step, plane, index, [(*pair, size) for pair, size in rows_moved])
            )
    return schedule_of(segments, parts)


def _row(
    pair: tuple[int, int],
    wavelengths: tuple[int, ...],
    detour: bool,  # noqa: FBT001
) -> CircuitRow:
    route = (pair[0], 9, pair[1]) if detour else pair
    return (*pair, wavelengths, route)
