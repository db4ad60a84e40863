"""Replay on packet fabrics against a simulation, link by link."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.instances.fabrics import FABRICS, load_fabric
from lightloom.testing.strategies import schedules
from tests.oracle.packet_links import PACKETS
from tests.oracle.packet_stepping import agree_on_packets
from tests.replay.plane_fabric import fluid, schedule_of

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
