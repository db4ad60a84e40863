"""Traces: slices that Perfetto can draw, with exact times."""

from __future__ import annotations

import json
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.formats.perfetto import write_trace
from lightloom.formats.schedule_reader import read_schedule
from lightloom.replay import replay
from lightloom.replay.trace import trace_events
from tests.replay.plane_fabric import fabrics, plane_schedules

if TYPE_CHECKING:
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
