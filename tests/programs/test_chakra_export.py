"""Chakra traces: read back, and run by a simulator that knows only the format."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.circuit import Circuits
from lightloom.core.columns import column
from lightloom.core.errors import FormatError, InputError
from lightloom.core.schedule import Algorithm, Schedule, Segment, StepPart
from lightloom.core.task import Collective
from lightloom.formats.chakra import (
    COLLECTIVES,
    NodeType,
    TraceNode,
    chakra_bytes,
    read_chakra,
)
from lightloom.instances.catalogue import load_instance
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.instance import Instance
from lightloom.programs.chakra_export import chakra_export
from lightloom.replay import replay
from lightloom.synth.synthesise import synthesise
from lightloom.testing.strategies import schedules
from tests.examples.small_schedules import moves
from tests.oracle.trace_simulator import finish_times, node_times
from tests.programs.lowered import schedule_of

GIB = 2**30


def traces_of(
    files: dict[str, bytes], folder: Path
) -> tuple[list[list[TraceNode]], int, Fraction]:
    """Return traces, latency and bytes a tick from the files alone."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    lines = (folder / "network.yml").read_text(encoding="utf-8").splitlines()
    values = dict(line.split("#")[0].split(": ") for line in lines)
    ranks, latency = (
        int(values[key].strip(" []")) for key in ("npus_count", "latency")
    )
    rate = Fraction(values["bandwidth"].strip(" []")) * GIB / 10**9
    traces = [read_chakra(folder / f"collective.{rank}.et") for rank in range(ranks)]
    return traces, latency, rate


def transfers_before(schedule: Schedule) -> list[int]:
    """Return how many transfers end at most by each step, the longest way."""
    pairs: Counter[tuple[int, ...]] = Counter()
    for part in schedule.parts:
        ends = (part.transfers.src.tolist(), part.transfers.dst.tolist())
        place = part.index, part.plane or 0, part.segment or 0
        pairs.update((*place, src, dst) for src, dst in zip(*ends, strict=True))
    rows: Counter[tuple[int, int, int]] = Counter()
    for (step, plane, segment, _, _), count in pairs.items():
        rows[step, plane, segment] = max(rows[step, plane, segment], count)
    steps: Counter[int] = Counter()
    for (step, _, _), count in rows.items():
        steps[step] += count
    return list(accumulate(steps[step] for step in range(schedule.step_count)))


def check_times(schedule: Schedule, folder: Path) -> None:
    """Assert that every message ends as `replay` says, to a picosecond a transfer.

    However messages begin: when the sender is ready, or when both sides are.
    """
    export = chakra_export(schedule)
    timeline = replay(schedule)
    assert export.completion_time_ps == timeline.completion_time_ps
    traces, latency, rate = traces_of(export.files, folder)
    allowed = transfers_before(schedule)
    pairs = timeline.pairs
    for rendezvous in (False, True):
        times = node_times(traces, latency, rate, rendezvous=rendezvous)
        for rank, nodes in zip(times, traces, strict=True):
            for node in nodes:
                start, end = rank[node.id]
                assert end <= timeline.completion_time_ps or node.name == "idle"
                if node.type == NodeType.COMPUTE:
                    continue
                row = node.attributes["comm_tag"]
                slack = allowed[pairs.step[row]]
                assert 0 <= pairs.end_ps[row] - end <= slack
                assert start >= pairs.start_ps[row] - slack
        last = max((end for rank in times for _, end in rank.values()), default=0)
        slack = max(allowed, default=0)
        assert timeline.completion_time_ps - slack <= last


CIRCUITS = ("lightpath", "ocs", "ramp", "ring", "ring-2d", "sipac")
AGREEING = [
    *itertools.product(
        (
            f"lightpath-{nodes}/{op}-1MiB"
            for nodes in (8, 16)
            for op in ("all-reduce", "all-gather", "reduce-scatter")
        ),
        ("auto", "ring", "lumorph-2", "multiport"),
    ),
    ("lightpath-16/all-to-all-1MiB", "auto"),
    ("ring-2d-16/all-reduce-1MiB", "auto"),
    ("sipac-16/all-to-all-1MiB", "auto"),
    ("ramp-16/all-reduce-1MiB", "auto"),
    ("ocs-16/all-reduce-1MiB", "auto"),
    ("ring-16/all-reduce-1MiB", "auto"),
]


@pytest.mark.parametrize(("name", "algorithm"), AGREEING)
def test_the_simulator_agrees_with_replay(
    name: str, algorithm: str, tmp_path: Path
) -> None:
    """Reconfigurations included, to a picosecond a transfer on the path."""
    check_times(schedule_of(name, algorithm), tmp_path)


def test_segments_of_a_plane_follow_one_another(tmp_path: Path) -> None:
    """Each node of four sends to the others over one switch, one after another."""
    rates = {"bits_per_second_per_node": 10**11, "reconfiguration_ps": 10**7}
    fabric = Ocs(nodes=4, switches=1, **rates)
    task = Collective("all-to-all", (0, 1, 2, 3), 2**20)
    made = synthesise(Instance(fabric, task)).incumbent
    assert made is not None
    check_times(made.schedule, tmp_path)
    files = chakra_export(made.schedule).files
    assert replay(made.schedule).completion_time_ps > 3 * fabric.reconfiguration_ps
    for nodes in traces_of(files, tmp_path)[0]:
        changes = [node for node in nodes if "reconfigure" in node.name]
        assert [len(node.data_deps) for node in changes] == [0, 2, 2]


def test_a_plane_first_used_late_is_set_at_the_start(tmp_path: Path) -> None:
    """No rank waits for its change when it comes to use it."""
    schedule = schedule_of("ocs-64/all-reduce-1MiB")
    timeline = replay(schedule)
    pairs = timeline.pairs
    users = np.stack([pairs.plane, pairs.src])
    at_once = users[:, pairs.step == 0]
    assert len(np.unique(at_once, axis=1).T) < len(np.unique(users, axis=1).T)
    check_times(schedule, tmp_path)


def two_planes(*segments: tuple[int, int, int]) -> Schedule:
    """Return transfers 0 -> 1 of (plane, segment, chunks) in one step on two planes."""
    fabric = Ocs(nodes=2, switches=2, bits_per_second_per_node=2 * 10**12)
    held = Circuits(column([0]), column([1]))
    parts, low = [], 0
    for plane, segment, chunks in segments:
        moved = moves([(0, 1, low, low + chunks)])
        parts.append(StepPart(0, plane, segment, moved))
        low += chunks
    return Schedule(
        fabric.table(),
        Collective("all-reduce", (0, 1), 1000 * low, low),
        Algorithm("by-hand"),
        tuple(Segment(*place, held) for place in sorted({row[:2] for row in segments})),
        tuple(parts),
    )


@pytest.mark.parametrize(
    "segments",
    [
        [(0, 0, 6), (1, 0, 6)],
        [(0, 0, 6), (1, 0, 9)],
        [(0, 0, 10**5), (1, 0, 5), (1, 1, 5)],
        [(0, 0, 5), (1, 0, 10**5), (0, 1, 10**5)],
    ],
)
def test_a_wire_of_two_planes(
    segments: list[tuple[int, int, int]], tmp_path: Path
) -> None:
    """Planes serve a pair at once; its wire does so message by message, in time."""
    schedule = two_planes(*segments)
    export = chakra_export(schedule)
    ends = finish_times(*traces_of(export.files, tmp_path))
    assert ends == [replay(schedule).completion_time_ps] * 2


def test_rates_that_are_no_whole_bytes(tmp_path: Path) -> None:
    """A wire has the rate of its pair, whatever is left over by eight bits."""
    fabric = Ocs(nodes=2, switches=1, bits_per_second_per_node=10**9 + 7)
    made = synthesise(Instance(fabric, Collective("all-gather", (0, 1), 2 * 10**6)))
    assert made.incumbent is not None
    check_times(made.incumbent.schedule, tmp_path)


@pytest.mark.parametrize("kind", CIRCUITS)
@settings(max_examples=12)
@given(st.data())
def test_random_schedules(kind: str, data: st.DataObject) -> None:
    """Several segments a step, late planes, circuits that stay lit."""
    check_random(kind, data)


@pytest.mark.slow
@pytest.mark.parametrize("kind", CIRCUITS)
@settings(max_examples=84)
@given(st.data())
def test_many_random_schedules(kind: str, data: st.DataObject) -> None:
    """The same of 504 schedules."""
    check_random(kind, data)


def check_random(kind: str, data: st.DataObject) -> None:
    """Check a schedule, in a folder of its own."""
    schedule = data.draw(schedules([kind], COLLECTIVES.values()))
    with TemporaryDirectory() as folder:
        check_times(schedule, Path(folder))


def ring_of_eight(rank: int) -> list[TraceNode]:
    """Return a rank's trace: 7 steps that add what arrives, then 7 that do not."""
    made: list[TraceNode] = []
    before: tuple[int, ...] = ()
    for step in range(14):
        for place, kind in enumerate((NodeType.SEND, NodeType.RECEIVE)):
            src = (rank - place) % 8
            given = {
                "comm_src": src,
                "comm_dst": (src + 1) % 8,
                "comm_tag": step,
                "comm_size": 131072,
            }
            made.append(TraceNode(len(made), "", kind, before, 0, given))
        before = (made[-2].id, made[-1].id)
        if step < 7:
            made.append(TraceNode(len(made), "add", NodeType.COMPUTE, before))
            before = (made[-1].id,)
    return made


def test_the_ring_of_eight(tmp_path: Path) -> None:
    """41,181 ns at 50 GiB/s and 500 ns, as the public simulator was measured to say."""
    traces = []
    for rank in range(8):
        made = ring_of_eight(rank)
        path = tmp_path / f"ring.{rank}.et"
        path.write_bytes(chakra_bytes(made))
        traces.append(read_chakra(path))
        assert traces[-1] == made
    ends = finish_times(traces, 500, Fraction(50 * GIB, 10**9))
    assert set(ends) == {14 * (2441 + 500) + 7} == {41181}


@pytest.mark.parametrize("cut", [1, 7, 30, 100])
def test_damaged_traces_are_refused(cut: int, tmp_path: Path) -> None:
    """A file that ends within a message is no trace."""
    export = chakra_export(schedule_of("lightpath-8/all-reduce-1MiB"))
    path = tmp_path / "x.et"
    path.write_bytes(export.files["collective.0.et"][:-cut])
    with pytest.raises(FormatError, match="damaged"):
        read_chakra(path)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("lightpath-8/broadcast-1MiB", "no implementation"),
        ("ideal-switch-8/all-reduce-1MiB", "wires do not"),
    ],
)
def test_what_a_simulator_cannot_say(name: str, says: str) -> None:
    """One error, and what would do."""
    with pytest.raises(InputError, match=says):
        chakra_export(schedule_of(name))


def test_a_demand_is_no_collective() -> None:
    """It has no operation."""
    made = synthesise(load_instance("sipac-16/hybrid-parallel-100MB")).incumbent
    assert made is not None
    with pytest.raises(InputError, match="no collective"):
        chakra_export(made.schedule)
