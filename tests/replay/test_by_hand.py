"""Schedules whose times were computed by hand, on tiles, rings and switches."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged, column
from lightloom.core.schedule import (
    Algorithm,
    FluidTransfers,
    Schedule,
    Segment,
    StepPart,
    Transfers,
)
from lightloom.core.task import Collective, Demand
from lightloom.core.units import PS_PER_US, transmission_ps
from lightloom.formats.schedule_reader import read_schedule
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ring import Ring
from lightloom.replay import replay
from lightloom.validate import verify
from tests.replay.plane_fabric import fluid, schedule_of

DATA = Path(__file__).parents[1] / "formats" / "data"


def test_all_gather_on_four_tiles() -> None:
    """3.7 us + 0.7 us + 1 KiB at 150 Gb/s, then the same with 2 KiB."""
    timeline = replay(read_schedule(DATA / "all-gather-2x2.v1.jsonl"))
    first, second = timeline.steps
    assert (first.release_ps, first.end_ps) == (0, 3_700_000 + 700_000 + 54_614)
    assert first.end_ps == 4_454_614
    assert timeline.completion_time_ps == 4_454_614 + 3_700_000 + 700_000 + 109_227
    assert (second.transfers, second.bytes, second.segments) == (4, 8192, ((0, 1),))
    assert [(done.start_ps, done.end_ps) for done in timeline.reconfigurations] == [
        (0, 3_700_000),
        (4_454_614, 8_154_614),
    ]
    assert timeline.every_round_charged_ps == timeline.completion_time_ps
    assert timeline.nodes.busy_ps.tolist() == [754_614 + 809_227] * 4
    assert timeline.nodes.sent_bytes.tolist() == [3072] * 4
    assert timeline.pairs.chunks.tolist() == [1] * 4 + [2] * 4


def test_steps_that_share_a_segment_pay_once() -> None:
    """Nothing is reconfigured between them; the paper's count charges both."""
    timeline = replay(read_schedule(DATA / "all-reduce-pair.v1.jsonl"))
    assert timeline.completion_time_ps == 3_700_000 + 2 * (700_000 + 8_000)
    assert timeline.every_round_charged_ps == timeline.completion_time_ps + 3_700_000
    assert len(timeline.reconfigurations) == 1


def test_a_demand_on_the_ideal_switch() -> None:
    """Egress of node 0 carries 3000 bytes at a byte a picosecond."""
    timeline = replay(read_schedule(DATA / "demand-ideal-switch.v1.jsonl"))
    assert [step.end_ps for step in timeline.steps] == [1_003_000, 2_003_007]
    assert timeline.reconfigurations == ()
    assert timeline.every_round_charged_ps == 2_003_007
    assert timeline.nodes.busy_ps.tolist() == [1003000, 1003000, 2003007, 2003007]


def test_the_order_of_parts_means_nothing() -> None:
    """Segments of a plane are taken by number; a part without rows holds nothing up."""
    whole = read_schedule(DATA / "all-gather-2x2.v1.jsonl")
    parts = [dataclasses.replace(part, index=0) for part in whole.parts]
    first, second = (
        dataclasses.replace(whole, parts=(parts[a], parts[1 - a])) for a in range(2)
    )
    assert replay(first).completion_time_ps == replay(second).completion_time_ps
    assert replay(first).completion_time_ps == whole.footer.completion_time_ps
    empty = dataclasses.replace(
        parts[1], transfers=Transfers(*(np.zeros(0, np.int64) for _ in range(5)))
    )
    idle = dataclasses.replace(whole, parts=(parts[0], empty))
    assert replay(idle).completion_time_ps == replay(whole).steps[0].end_ps
    late = dataclasses.replace(empty, index=1)
    later = replay(dataclasses.replace(whole, parts=(parts[0], late))).steps
    assert later[1].end_ps == later[1].release_ps == later[0].end_ps


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.glob("*.jsonl")))
def test_the_fixtures_claim_what_replay_says(name: str) -> None:
    """Completion times worked out by hand are those of replay."""
    schedule = read_schedule(DATA / name)
    assert schedule.footer is not None
    claimed = schedule.footer.completion_time_ps
    assert replay(schedule).completion_time_ps == claimed


def test_the_footer_is_ignored() -> None:
    """A schedule without a footer, or with a false one, takes the same time."""
    schedule = read_schedule(DATA / "all-gather-2x2.v1.jsonl")
    bare = dataclasses.replace(schedule, footer=None)
    assert replay(bare).completion_time_ps == replay(schedule).completion_time_ps


@pytest.mark.parametrize("nodes", [2, 3, 8, 13])
@pytest.mark.parametrize("block_bytes", [1, 1000, 2**20])
def test_ring_all_reduce_on_the_ideal_switch(nodes: int, block_bytes: int) -> None:
    """2 (N - 1) steps of alpha + B / (N rate), each rounded up."""
    rate, alpha_ps = 300_000_000_000, 700_000
    rank = np.arange(nodes)
    parts = []
    for step in range(2 * (nodes - 1)):
        block = (rank - step) % nodes
        op = np.full(nodes, int(step < nodes - 1))
        moves = Transfers(rank, (rank + 1) % nodes, block, block + 1, op)
        parts.append(StepPart(step, None, None, moves))
    task = Collective("all-reduce", tuple(range(nodes)), nodes * block_bytes, nodes)
    fabric: dict[str, int | str | bool] = {
        "kind": "ideal-switch",
        "nodes": nodes,
        "bits_per_second_per_node": rate,
        "alpha_ps": alpha_ps,
    }
    timeline = replay(Schedule(fabric, task, Algorithm("ring"), (), tuple(parts)))
    step_ps = alpha_ps + transmission_ps(block_bytes, rate)
    assert timeline.completion_time_ps == 2 * (nodes - 1) * step_ps
    assert timeline.nodes.idle_ps.tolist() == [0] * nodes


def test_links_add_up_over_transfers_and_are_rounded_once() -> None:
    """Three bytes into one node at 8 / 7 bytes a ps take ceil(21 / 8), not 3 * 1."""
    fabric: dict[str, int | str | bool] = {
        "kind": "ideal-switch",
        "nodes": 4,
        "bits_per_second_per_node": 64 * 10**12 // 7,
        "alpha_ps": 0,
        "switch_latency_ps": 5,
    }
    rows = [(0, 3, 1), (1, 3, 1), (2, 3, 1), (3, 0, 1)]
    timeline = replay(schedule_of([], [fluid(0, None, None, rows)], fabric))
    assert timeline.completion_time_ps == 5 + 3


def test_exact_where_floats_are_not() -> None:
    """An odd number of bytes near 2**53 at a prime rate is rounded up exactly."""
    size, rate = 2**53 + 1, 999_999_999_989
    fabric: dict[str, int | str | bool] = {
        "kind": "ideal-switch",
        "nodes": 2,
        "bits_per_second_per_node": rate,
        "alpha_ps": 0,
    }
    schedule = schedule_of([], [fluid(0, None, None, [(0, 1, size // 10**5)])], fabric)
    expected = -(-(size // 10**5) * 8 * 10**12 // rate)
    assert replay(schedule).completion_time_ps == expected


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
