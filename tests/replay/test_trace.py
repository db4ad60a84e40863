"""Traces of schedules and of iterations: what viewers read."""

from __future__ import annotations

import json
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.circuit import Circuits
from lightloom.core.columns import column
from lightloom.formats.json_file import write_trace
from lightloom.formats.schedule_reader import read_schedule
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.replay import replay
from lightloom.replay.trace import iteration_trace, trace_events
from lightloom.replay.workload import (
    HeldCircuits,
    Launch,
    PlaneConfiguration,
    SharedLinks,
    replay_iteration,
)
from tests.examples.iterations import iteration, iterations
from tests.replay.plane_fabric import fabrics, plane_schedules

if TYPE_CHECKING:
    from lightloom.core.iteration import Iteration
    from lightloom.core.schedule import Schedule
    from tests.replay.plane_fabric import PlaneFabric


DATA = Path(__file__).parents[1] / "formats" / "data"


def _written(schedule: Schedule, path: Path) -> dict[str, Any]:
    write_trace(trace_events(schedule, replay(schedule)), path)
    trace: dict[str, Any] = json.loads(path.read_bytes(), parse_float=Decimal)
    return trace


def test_the_trace_of_the_all_gather(tmp_path: Path) -> None:
    """Eight sends, two steps, two reconfigurations, to the picosecond."""
    schedule = read_schedule(DATA / "all-gather-2x2.v1.jsonl")
    trace = _written(schedule, tmp_path / "trace.json")
    assert trace["displayTimeUnit"] == "ns"
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert len(slices) == 8 + 2 + 2
    assert slices[0]["name"] == "reconfigure to segment 0"
    sends = {event["name"]: event for event in slices if "->" in event["name"]}
    assert sends["0 -> 1"]["ts"] == Decimal("3.7")
    assert sends["0 -> 1"]["dur"] == Decimal("0.754614")
    rate = 150_000_000_000
    assert sends["0 -> 1"]["args"] == {"bytes": 1024, "chunks": 1, "bits_per_s": rate}
    names = {
        event["args"]["name"]
        for event in trace["traceEvents"]
        if event["name"] == "thread_name"
    }
    assert names == {"plane 0", "steps", "node 0", "node 1", "node 2", "node 3"}


def test_a_packet_fabric_has_no_planes(tmp_path: Path) -> None:
    """Its trace is steps and nodes alone."""
    schedule = read_schedule(DATA / "demand-ideal-switch.v1.jsonl")
    trace = _written(schedule, tmp_path / "trace.json")
    processes = [
        event["args"]["name"]
        for event in trace["traceEvents"]
        if event["name"] == "process_name"
    ]
    assert processes == ["steps (by-hand)", "nodes (sends)"]


@settings(max_examples=100, deadline=None)
@given(
    fabrics.flatmap(lambda fabric: st.tuples(st.just(fabric), plane_schedules(fabric)))
)
def test_slices_of_a_track_nest_or_are_apart(
    case: tuple[PlaneFabric, Schedule],
) -> None:
    """Each pair has its slice once, and no two slices of a track cross."""
    fabric, schedule = case
    with mock.patch("lightloom.replay.execute.load_fabric", return_value=fabric):
        timeline = replay(schedule)
    events: list[dict[str, Any]] = trace_events(schedule, timeline)
    slices = [event for event in events if event["ph"] == "X"]
    count = len(timeline.pairs) + len(timeline.steps) + len(timeline.reconfigurations)
    assert len(slices) == count
    named = [
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name"
    ]
    assert len(named) == len(set(named))
    tracks = defaultdict(list)
    for event in slices:
        assert (event["pid"], event["tid"]) in named
        start = event["ts"]
        tracks[event["pid"], event["tid"]].append((start, start + event["dur"]))
    for spans in tracks.values():
        for one, (start, end) in enumerate(spans):
            for other_start, other_end in spans[one + 1 :]:
                apart = end <= other_start or other_end <= start
                outside = start <= other_start and other_end <= end
                inside = other_start <= start and end <= other_end
                assert apart or outside or inside


FREE = Launch(0, 0)


def test_the_trace_of_a_small_iteration(tmp_path: Path) -> None:
    """Planes, devices and traffic, read back from the file to the picosecond."""
    fabric = Ocs(
        nodes=2,
        switches=1,
        bits_per_second_per_node=8 * 10**12,
        alpha_ps=1,
        reconfiguration_ps=10,
    )
    both = Circuits(column([0, 1]), column([1, 0]))
    network = HeldCircuits(fabric, (PlaneConfiguration(0, both, 4),))
    made = iteration(2, [(0, 3), (1, 2), (1, 0)], [(0, 1, 5), (1, 3, 0)], [(8, [1, 0])])
    path = tmp_path / "trace.json"
    write_trace(iteration_trace(made, replay_iteration(made, network, FREE)), path)
    trace: dict[str, Any] = json.loads(path.read_bytes(), parse_float=Decimal)
    slices = [
        (event["pid"], event["name"], event["ts"] * 10**6, event["dur"] * 10**6)
        for event in trace["traceEvents"]
        if event["ph"] == "X"
    ]
    assert slices == [
        (1, "reconfigure", 4, 10),
        (2, "op0", 0, 3),
        (2, "op1", 19, 2),
        (3, "0 -> 1", 3, 16),
        (3, "all-reduce", 21, 2 + 8),
        (3, "all-reduce", 21, 2 + 8),
    ]
    names = [
        event["args"]["name"]
        for event in trace["traceEvents"]
        if event["name"] == "thread_name"
    ]
    assert names == ["plane 0", "device 0", "device 1", "device 0", "device 1"]


@given(iterations())
@settings(max_examples=40, deadline=None)
def test_slices_of_a_track_are_nested_or_apart(made: Iteration) -> None:
    """And each operation, transfer and seat in a collective has one."""
    fabric = IdealSwitch(nodes=4, alpha_ps=2)
    events = iteration_trace(made, replay_iteration(made, SharedLinks(fabric), FREE))
    tracks: dict[object, list[tuple[Decimal, Decimal]]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            start, lasts = event["ts"], event["dur"]
            assert isinstance(start, Decimal)
            assert isinstance(lasts, Decimal)
            tracks[event["pid"], event["tid"]].append((start, start + lasts))
    expected = int((made.operations.duration_ps > 0).sum()) + int(
        made.is_transfer.sum()
    )
    expected += len(made.collectives.devices.values)
    assert sum(len(rows) for rows in tracks.values()) == expected
    for rows in tracks.values():
        for number, (start, end) in enumerate(rows):
            for begin, until in rows[:number]:
                apart = until <= start or end <= begin
                assert apart or (begin <= start and end <= until)
