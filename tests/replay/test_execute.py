"""Replay against simulations that step from event to event, and in batches."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.fabric import CircuitFabric
from lightloom.instances.fabrics import FABRICS, load_fabric
from lightloom.replay import (
    circuit_table,
    completion_time_ps,
    execute,
    replay,
    timeline,
    transfer_rows,
)
from lightloom.replay.transfer_rows import stable_order
from lightloom.testing.strategies import schedules
from tests.oracle.circuit_agreement import agree_on_circuits
from tests.oracle.event_stepping import Simulation
from tests.oracle.packet_links import PACKETS
from tests.oracle.packet_stepping import agree_on_packets
from tests.replay.plane_fabric import fabrics, fluid, plane_schedules, schedule_of

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule
    from tests.replay.plane_fabric import PlaneFabric


drawn = fabrics.flatmap(
    lambda fabric: st.tuples(st.just(fabric), plane_schedules(fabric))
)


@settings(max_examples=400, deadline=None)
@given(drawn)
def test_every_time_agrees(case: tuple[PlaneFabric, Schedule]) -> None:
    """Transfers, reconfigurations and completion are those of the simulation."""
    fabric, schedule = case
    with mock.patch("lightloom.replay.execute.load_fabric", return_value=fabric):
        timeline = replay(schedule)
    naive = Simulation(fabric, schedule).run()
    assert timeline.completion_time_ps == naive.completion_time_ps
    times = {
        (part, row): (int(start), int(end))
        for part, columns in enumerate(timeline.transfers)
        for row, (start, end) in enumerate(
            zip(columns.start_ps, columns.end_ps, strict=True)
        )
    }
    assert times == naive.times
    found = [
        (done.plane, done.segment, done.start_ps, done.end_ps)
        for done in timeline.reconfigurations
    ]
    assert sorted(found) == sorted(naive.reconfigurations)


@settings(max_examples=150, deadline=None)
@given(drawn)
def test_summaries_follow_from_the_times(case: tuple[PlaneFabric, Schedule]) -> None:
    """Steps, nodes and utilisation are sums over the transfers, plainly counted."""
    fabric, schedule = case
    with mock.patch("lightloom.replay.execute.load_fabric", return_value=fabric):
        timeline = replay(schedule)
    rows = [
        (part.index, int(src), int(dst), int(size), int(start), int(end))
        for part, times in zip(schedule.parts, timeline.transfers, strict=True)
        for src, dst, size, start, end in zip(
            part.transfers.src,
            part.transfers.dst,
            schedule.transfer_bytes(part),
            times.start_ps,
            times.end_ps,
            strict=True,
        )
    ]
    for step in timeline.steps:
        mine = [row for row in rows if row[0] == step.index]
        assert step.transfers == len(mine)
        assert step.bytes == sum(row[3] for row in mine)
        assert all(step.release_ps <= row[4] <= row[5] <= step.end_ps for row in mine)
        assert step.end_ps == max((row[5] for row in mine), default=step.release_ps)
        assert step.duration_ps == step.end_ps - step.release_ps
    for node in range(fabric.node_count):
        touched = [row for row in rows if node in row[1:3]]
        busy = {tick for row in touched for tick in range(row[4], row[5])}
        assert timeline.nodes.busy_ps[node] == len(busy)
        idle = timeline.completion_time_ps - len(busy)
        assert timeline.nodes.idle_ps[node] == idle
        sent = sum(row[3] for row in rows if row[1] == node)
        assert timeline.nodes.sent_bytes[node] == sent
        received = sum(row[3] for row in rows if row[2] == node)
        assert timeline.nodes.received_bytes[node] == received
    moved = 8 * 10**12 * sum(row[3] for row in rows)
    assert timeline.utilisation.moved == moved
    active = {node for row in rows if row[3] for node in row[1:3]}
    possible = len(active) * fabric.node_bits_per_s * timeline.completion_time_ps
    assert timeline.utilisation.possible == possible


CIRCUITS = ("lightpath", "ocs", "ramp", "ring", "ring-2d", "sipac")


def test_every_fabric_with_circuits_is_simulated() -> None:
    """A new one belongs in `CIRCUITS`, and its rate in `naive_rates`."""
    with_circuits = {
        name
        for name, kind in FABRICS.items()
        if hasattr(kind.record, "circuit_columns")
    }
    assert with_circuits == set(CIRCUITS)


@pytest.mark.parametrize("kind", CIRCUITS)
@settings(max_examples=30)
@given(st.data())
def test_every_time_on_circuits_agrees(kind: str, data: st.DataObject) -> None:
    """Transfers, reconfigurations and completion agree to the picosecond."""
    _check_times(kind, data)


@pytest.mark.slow
@pytest.mark.parametrize("kind", CIRCUITS)
@settings(max_examples=200)
@given(st.data())
def test_every_time_of_many_schedules_agrees(kind: str, data: st.DataObject) -> None:
    """The same, for many more schedules."""
    _check_times(kind, data)


def _check_times(kind: str, data: st.DataObject) -> None:
    made = data.draw(schedules([kind]))
    assert isinstance(load_fabric(made.fabric), CircuitFabric)
    agree_on_circuits(made)


# Larger than strategies draw them: ways of many links, trunks that fill up.
LARGE: list[dict[str, Any]] = [
    {"kind": "bcube", "radix": 3, "level": 2, "hop_latency_ps": 5},
    {"kind": "bcube", "radix": 5, "level": 1},
    {"kind": "electrical-cluster", "nodes": 11, "nodes_per_server": 4},
    {
        "kind": "electrical-cluster",
        "nodes": 9,
        "nodes_per_server": 3,
        "uplinks": "node",
    },
    {
        "kind": "fat-tree",
        "nodes": 23,
        "nodes_per_leaf": 3,
        "leaves_per_pod": 2,
        "oversubscription": 2,
        "pod_oversubscription": 3,
        "switch_latency_ps": 7,
    },
    {"kind": "fat-tree", "nodes": 12, "nodes_per_leaf": 3, "leaves_per_pod": 4},
    {"kind": "ideal-switch", "nodes": 9, "switch_latency_ps": 3},
    {
        "kind": "superpod",
        "nodes": 22,
        "gpus_per_server": 3,
        "servers_per_unit": 2,
        "intra_to_inter": 4,
        "oversubscription": 3,
        "switch_latency_ps": 7,
    },
    {"kind": "topoopt", "nodes": 25, "degree": 3, "hop_latency_ps": 5},
    {"kind": "topoopt", "nodes": 16, "degree": 1},
    {"kind": "torus", "rows": 4, "cols": 6, "hop_latency_ps": 5},
    {"kind": "torus", "rows": 2, "cols": 3, "layers": 4, "hop_latency_ps": 5},
]


ONE_LEAF: dict[str, Any] = {
    "kind": "superpod",
    "nodes": 6,
    "gpus_per_server": 1,
    "servers_per_unit": 8,
    "switch_latency_ps": 7,
}


def test_every_packet_fabric_is_simulated() -> None:
    """A new packet fabric has to join `packet_links`."""
    without_circuits = {
        name
        for name, kind in FABRICS.items()
        if not hasattr(kind.record, "circuit_columns")
    }
    assert without_circuits == set(PACKETS) == {table["kind"] for table in LARGE}


@pytest.mark.parametrize("kind", PACKETS)
@settings(max_examples=20, deadline=None)
@given(st.data())
def test_valid_schedules_agree(kind: str, data: st.DataObject) -> None:
    """Small fabrics with every choice of keys, and tasks that are done."""
    agree_on_packets(data.draw(schedules([kind])))


def test_servers_of_one_gpu_on_one_leaf() -> None:
    """A way over one leaf has one switch, though it leaves the server."""
    fabric = load_fabric(ONE_LEAF).table()
    agree_on_packets(schedule_of([], [fluid(0, None, None, [(0, 1, 100)])], fabric))


@pytest.mark.parametrize("table", LARGE, ids=lambda table: table["kind"])
@settings(max_examples=10, deadline=None)
@given(st.data())
def test_any_traffic_agrees(table: dict[str, Any], data: st.DataObject) -> None:
    """Random bytes between random nodes of larger fabrics, steps without any too."""
    fabric = load_fabric(table).table()
    node = st.integers(0, load_fabric(table).node_count - 1)
    row = st.tuples(node, node, st.integers(0, 10**6)).filter(lambda r: r[0] != r[1])
    steps = data.draw(st.lists(st.lists(row, max_size=12), max_size=4))
    parts = [fluid(index, None, None, rows) for index, rows in enumerate(steps)]
    agree_on_packets(schedule_of([], parts, fabric))


LIMITS = (
    (transfer_rows, "BATCH_TRANSFERS"),
    (circuit_table, "BATCH_CIRCUITS"),
    (execute, "_PLACES_A_ROW"),
    (timeline, "_PLACES_A_PAIR"),
)


def _plain(value: object) -> object:
    """Return a record as nested lists, which can be compared."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if is_dataclass(value):
        return [_plain(getattr(value, field.name)) for field in fields(value)]
    return value


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_batches_do_not_matter(data: st.DataObject) -> None:
    """Whole timelines are the same, on planes of any kind and on real fabrics."""
    with pytest.MonkeyPatch.context() as patch:
        if data.draw(st.booleans()):
            fabric = data.draw(fabrics)
            made = data.draw(plane_schedules(fabric))
            patch.setattr("lightloom.replay.execute.load_fabric", lambda _: fabric)
        else:
            made = data.draw(schedules())
        whole = replay(made)
        assert completion_time_ps(made) == whole.completion_time_ps
        for module, name in LIMITS:
            patch.setattr(module, name, data.draw(st.integers(1, 4)) - ("A_" in name))
        assert _plain(replay(made)) == _plain(whole)


keys = st.integers(0, 5) | st.integers(2**62, 2**62 + 5)


@given(st.lists(keys, max_size=20))
def test_order_is_that_of_a_stable_sort(values: list[int]) -> None:
    """Sorted or not, and whether or not keys and rows fit one integer."""
    order = stable_order(np.array(values, dtype=np.int64)).tolist()
    assert order == sorted(range(len(values)), key=values.__getitem__)
