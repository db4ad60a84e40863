"""Traces of iterations: every span once, exact, on tracks that can draw it."""

from __future__ import annotations

import json
from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings

from lightloom.core.circuit import Circuits
from lightloom.core.columns import column
from lightloom.formats.perfetto import write_trace
from lightloom.instances.fabrics.ideal_switch import IdealSwitch
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.replay.trace import iteration_trace
from lightloom.replay.workload import (
    HeldCircuits,
    Launch,
    PlaneConfiguration,
    SharedLinks,
    replay_iteration,
)
from tests.examples.iterations import iteration, iterations

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.core.iteration import Iteration

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
