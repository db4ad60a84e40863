"""Time on rings and optical switches: published numbers, and what stays lit."""

from __future__ import annotations

import pytest

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged, column
from lightloom.core.schedule import (
    Algorithm,
    FluidTransfers,
    Schedule,
    Segment,
    StepPart,
)
from lightloom.core.task import Demand
from lightloom.core.units import PS_PER_US
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ring import Ring
from lightloom.replay import replay
from lightloom.validate import verify

MB = 10**6
TRAFFIC = Demand.from_rows(
    [(i, (i + 1) % 8, 174 * MB) for i in range(8)]
    + [(i, i + 9, 174 * MB) for i in range(8)]
)
"""Eight of 64 nodes send to the next one of them, and to one nine further on."""
COMPUTE_US = 599


def _served(fabric: Ocs | Ring, planes: list[Circuits], shares: int) -> Schedule:
    """Return the traffic on circuits, an equal share of each pair on some planes."""
    size = column(one // shares for one in TRAFFIC.bytes)
    src, dst = column(TRAFFIC.src), column(TRAFFIC.dst)
    parts = []
    for plane, rows in enumerate(planes):
        pairs = set(zip(rows.src.tolist(), rows.dst.tolist(), strict=True))
        held = [pair in pairs for pair in zip(TRAFFIC.src, TRAFFIC.dst, strict=True)]
        moved = FluidTransfers(src[held], dst[held], size[held])
        parts.append(StepPart(0, plane, 0, moved))
    segments = tuple(Segment(plane, 0, rows) for plane, rows in enumerate(planes))
    return Schedule(fabric.table(), TRAFFIC, Algorithm("given"), segments, tuple(parts))


def test_eight_circuits_of_sixteen_switches() -> None:
    """The published 3383 us, of which 599 compute: 174 MB at half a Tb/s."""
    fabric = Ocs(
        nodes=64,
        switches=16,
        bits_per_second_per_node=10**12,
        alpha_ps=0,
        initial_configuration_charged=False,
    )
    near = Circuits(column(range(8)), column((i + 1) % 8 for i in range(8)))
    far = Circuits(column(range(8)), column(i + 9 for i in range(8)))
    schedule = _served(fabric, [near] * 8 + [far] * 8, shares=8)
    assert verify(schedule).violations == ()
    time_ps = replay(schedule).completion_time_ps
    assert time_ps == 2784 * PS_PER_US
    assert time_ps + COMPUTE_US * PS_PER_US == 3383 * PS_PER_US


def test_two_wavelengths_a_pair_on_a_ring() -> None:
    """The published 28,439 us, of which 599 compute: 174 MB at 50 Gb/s."""
    fabric = Ring(
        nodes=64,
        wavelengths=40,
        reach=63,
        alpha_ps=0,
        initial_configuration_charged=False,
    )
    # The pair that goes on round the ring crosses every span but the first seven.
    rows = [*((i, (i + 1) % 8, [0, 1]) for i in range(8))]
    rows += [(i, i + 9, [2 * i + 2, 2 * i + 3]) for i in range(8)]
    circuits = Circuits(
        column(row[0] for row in rows),
        column(row[1] for row in rows),
        Ragged.from_lists([row[2] for row in rows]),
        direction=column([0] * len(rows)),
    )
    schedule = _served(fabric, [circuits], shares=1)
    assert verify(schedule).violations == ()
    time_ps = replay(schedule).completion_time_ps
    assert time_ps + COMPUTE_US * PS_PER_US == 28_439 * PS_PER_US


@pytest.mark.parametrize(("second", "end_ps"), [(0, 2_000), (1, 2_007)])
def test_a_circuit_turned_round_goes_dark(second: int, end_ps: int) -> None:
    """Same pair and wavelength the other way round a ring is another light path."""
    fabric = Ring(
        nodes=2,
        wavelengths=1,
        bits_per_second_per_wavelength=8 * 10**12,
        directions=2,
        alpha_ps=0,
        reconfiguration_ps=7,
        initial_configuration_charged=False,
        dark_while_reconfiguring="changed-circuits",
    )
    segments, parts = [], []
    for index, direction in enumerate((0, second)):
        rows = Circuits(
            column([0]),
            column([1]),
            Ragged.from_lists([[0]]),
            None,
            column([direction]),
        )
        segments.append(Segment(0, index, rows))
        moved = FluidTransfers(column([0]), column([1]), column([1000]))
        parts.append(StepPart(index, 0, index, moved))
    schedule = Schedule(
        fabric.table(),
        Demand((0,), (1,), (2000,)),
        Algorithm("by hand"),
        tuple(segments),
        tuple(parts),
    )
    assert verify(schedule).violations == ()
    assert replay(schedule).completion_time_ps == end_ps
