"""Schedules that cannot be replayed are refused in one line, never mistimed."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import numpy as np
import pytest

from lightloom.core.circuit import Circuits
from lightloom.core.errors import InputError
from lightloom.core.schedule import Algorithm, Schedule, Segment, StepPart, Transfers
from lightloom.core.task import Collective
from lightloom.formats.schedule_reader import read_schedule
from lightloom.replay import replay
from tests.replay.plane_fabric import (
    CircuitRow,
    PlaneFabric,
    fluid,
    schedule_of,
    segment,
)

if TYPE_CHECKING:
    from lightloom.core.fabric import FabricTable

DATA = Path(__file__).parents[1] / "formats" / "data"
FABRIC = PlaneFabric(
    node_count=3,
    plane_count=2,
    alpha_ps=1,
    reconfiguration_ps=10,
    initial_configuration_charged=True,
    dark_while_reconfiguring="plane",
)
TO_1: list[CircuitRow] = [(0, 1, (0,), (0, 1))]
TO_2: list[CircuitRow] = [(0, 2, (0,), (0, 2))]
TWO_SEGMENTS = [segment(0, 0, TO_1), segment(0, 1, TO_2)]
MOVE_1, MOVE_2 = [(0, 1, 5)], [(0, 2, 5)]

CASES = {
    "segment that does not exist": (TWO_SEGMENTS, [fluid(0, 0, 2, MOVE_2)]),
    "plane that has no segments": (TWO_SEGMENTS, [fluid(0, 1, 0, MOVE_1)]),
    "no plane": (TWO_SEGMENTS, [fluid(0, None, None, MOVE_1)]),
    "pair without circuit": (TWO_SEGMENTS, [fluid(0, 0, 0, MOVE_2)]),
    "reverse of a circuit": (TWO_SEGMENTS, [fluid(0, 0, 0, [(1, 0, 5)])]),
    "back to a segment": (
        TWO_SEGMENTS,
        [fluid(0, 0, 1, MOVE_2), fluid(1, 0, 0, MOVE_1)],
    ),
    "step skipped": (
        TWO_SEGMENTS,
        [fluid(0, 0, 0, MOVE_1), fluid(2, 0, 0, MOVE_1)],
    ),
    "step that goes back": (
        TWO_SEGMENTS,
        [fluid(0, 0, 0, MOVE_1), fluid(1, 0, 0, MOVE_1), fluid(0, 0, 0, MOVE_1)],
    ),
    "first step not 0": (TWO_SEGMENTS, [fluid(1, 0, 0, MOVE_1)]),
    "segment skipped": ([TWO_SEGMENTS[1]], []),
    "segment twice": ([TWO_SEGMENTS[0], TWO_SEGMENTS[0]], []),
    "plane outside": ([segment(2, 0, TO_1)], []),
    "node outside a transfer": (TWO_SEGMENTS, [fluid(0, 0, 0, [(0, 3, 5)])]),
    "negative node": (TWO_SEGMENTS, [fluid(0, 0, 0, [(-1, 1, 5)])]),
    "node outside a circuit": ([segment(0, 0, [(0, 3, (0,), (0, 3))])], []),
    "circuit without wavelength": (
        [segment(0, 0, [(0, 1, (), (0, 1))])],
        [fluid(0, 0, 0, MOVE_1)],
    ),
    "missing column": (
        [Segment(0, 0, Circuits(np.array([0]), np.array([1])))],
        [fluid(0, 0, 0, MOVE_1)],
    ),
    "negative bytes": (TWO_SEGMENTS, [fluid(0, 0, 0, [(0, 1, -1)])]),
    "bytes beyond 63 bits": (
        TWO_SEGMENTS,
        [fluid(0, 0, 0, [(0, 1, 2**62), (0, 1, 2**62)])],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_unsound_references_are_refused(name: str) -> None:
    """Every case raises InputError with one line that is not empty."""
    segments, parts = CASES[name]
    with (
        mock.patch("lightloom.replay.execute.load_fabric", return_value=FABRIC),
        pytest.raises(InputError) as caught,
    ):
        replay(schedule_of(segments, parts))
    assert caught.value.where
    assert "\n" not in str(caught.value)


LONG_CASES = {
    "one transfer": [fluid(0, 0, 0, [(0, 1, 2**63 - 1)])],
    "one pair": [fluid(0, 0, 0, [(0, 1, 2**61)] * 3)],
    "steps": [fluid(step, 0, 0, [(0, 1, 2**61)]) for step in range(3)],
    "alpha": [fluid(0, 0, 0, [(0, 1, 2**62 + 2**61)])],
}


@pytest.mark.parametrize("name", LONG_CASES)
def test_106_days_are_refused(name: str) -> None:
    """Times beyond 63 bits are refused; they never wrap round."""
    slow = dataclasses.replace(FABRIC, bits_per_s=16 * 10**12 // 3, alpha_ps=2**60)
    with (
        mock.patch("lightloom.replay.execute.load_fabric", return_value=slow),
        pytest.raises(InputError, match="106 days"),
    ):
        replay(schedule_of(TWO_SEGMENTS, LONG_CASES[name]))


@pytest.mark.parametrize("rows", [1, 40])
def test_rates_beyond_63_bits_are_refused(rows: int) -> None:
    """Neither many wavelengths of a circuit nor many circuits of a pair wrap round."""
    fast = dataclasses.replace(FABRIC, bits_per_s=2**58)
    spread = [tuple(range(40 // rows))] * rows
    circuits = segment(0, 0, [(0, 1, lit, (0, 1)) for lit in spread])
    with (
        mock.patch("lightloom.replay.execute.load_fabric", return_value=fast),
        pytest.raises(
            InputError, match="rate of a circuit" if rows == 1 else "rate of a pair"
        ),
    ):
        replay(schedule_of([circuits], [fluid(0, 0, 0, MOVE_1)]))


SWITCH: FabricTable = {"kind": "ideal-switch", "nodes": 3}


def test_segments_on_a_packet_fabric_are_refused() -> None:
    """A fabric without circuits has neither segments nor planes."""
    with pytest.raises(InputError, match="no circuits"):
        replay(schedule_of([TWO_SEGMENTS[0]], [], SWITCH))
    with pytest.raises(InputError, match="no planes"):
        replay(schedule_of([], [fluid(0, 0, 0, MOVE_1)], SWITCH))


def _chunked(lo: int, hi: int, chunks: int = 4, size: int = 8) -> Schedule:
    one = np.ones(1, np.int64)
    moves = Transfers(0 * one, one, lo * one, hi * one, 0 * one)
    task = Collective("broadcast", (0, 1), size, chunks)
    part = StepPart(0, None, None, moves)
    return Schedule(SWITCH, task, Algorithm("test"), (), (part,))


@pytest.mark.parametrize("span", [(-1, 2), (3, 2), (0, 2**62)])
def test_impossible_chunk_ranges_are_refused(span: tuple[int, int]) -> None:
    """A range that ends before it begins, or has more bytes than can be counted."""
    with pytest.raises(InputError):
        replay(_chunked(*span))


def test_a_collective_that_is_none_is_refused() -> None:
    """Chunks that do not divide the buffer would give wrong sizes."""
    with pytest.raises(InputError, match="chunks must divide"):
        replay(_chunked(0, 1, chunks=3))
    with pytest.raises(InputError, match="chunks must divide"):
        replay(_chunked(0, 1, chunks=0))


def test_chunks_of_a_demand_are_refused() -> None:
    """Chunk transfers have no size where the task is a demand."""
    moves = _chunked(0, 1).parts[0]
    with pytest.raises(InputError, match="belong to a collective"):
        replay(schedule_of([], [moves], SWITCH))


def test_an_unknown_fabric_is_refused() -> None:
    """The kind of fabric must be in the catalogue."""
    with pytest.raises(InputError, match="unknown kind of fabric"):
        replay(schedule_of([], [], {"kind": "telepathy"}))


def test_a_schedule_without_steps_takes_no_time() -> None:
    """Nothing to do is done at once, even while planes still walk on."""
    schedule = read_schedule(DATA / "all-gather-2x2.v1.jsonl")
    bare = Schedule(
        schedule.fabric, schedule.task, schedule.algorithm, schedule.segments, ()
    )
    timeline = replay(bare)
    assert timeline.completion_time_ps == 0
    assert len(timeline.reconfigurations) == 2
    assert timeline.transfers == ()
