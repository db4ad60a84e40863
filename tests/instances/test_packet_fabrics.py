"""Packet fabrics: links on a way by hand, loads in closed form, tables, bad keys."""

from __future__ import annotations

from collections import Counter
from math import gcd
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightloom.core.columns import column
from lightloom.core.errors import InputError
from lightloom.core.fabric import PacketFabric
from lightloom.instances.catalogue import clusters
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.packet_forwarding import BCube, TopoOpt, Torus
from lightloom.instances.fabrics.packet_tiers import FatTree, SuperPod

if TYPE_CHECKING:
    from lightloom.core.fabric import FabricTable

TORUS = Torus(rows=3, cols=4)
BCUBE = BCube(radix=4, level=1)
TREE = FatTree(nodes=12, nodes_per_leaf=2, leaves_per_pod=3, oversubscription=2)
POD = SuperPod(nodes=12, gpus_per_server=2, servers_per_unit=3)
RINGS = TopoOpt(nodes=15, degree=3)
ALL = (TORUS, BCUBE, TREE, POD, RINGS)


def names(fabric: PacketFabric, src: int, dst: int) -> list[str]:
    """Return the links that one packet crosses."""
    usage = fabric.link_usage(column([src]), column([dst]))
    assert usage.circuit.tolist() == [0] * len(usage.resource)
    assert usage.amount.tolist() == [1] * len(usage.resource)
    return [fabric.resource_name(link) for link in usage.resource.tolist()]


def loads(fabric: PacketFabric) -> dict[str, int]:
    """Return how many pairs of an all-to-all cross each link."""
    src, dst = (
        ends.reshape(-1) for ends in np.mgrid[: fabric.node_count, : fabric.node_count]
    )
    apart = src != dst
    usage = fabric.link_usage(src[apart], dst[apart])
    found = Counter(usage.resource.tolist())
    return {fabric.resource_name(link): count for link, count in found.items()}


def test_a_torus_is_crossed_row_first_the_shorter_way_round() -> None:
    """From (0, 0) to (2, 3) it is one link back along the row, one back up."""
    assert names(TORUS, 0, 11) == [
        "link of node 0 along its row, -",
        "link of node 3 along its column, -",
    ]
    assert names(TORUS, 11, 0) == [
        "link of node 11 along its row, +",
        "link of node 8 along its column, +",
    ]


def test_halfway_round_a_torus_depends_on_the_source() -> None:
    """Two columns further in a row of four: even columns go on, odd ones back."""
    assert names(TORUS, 0, 2) == [
        "link of node 0 along its row, +",
        "link of node 1 along its row, +",
    ]
    assert names(TORUS, 1, 3) == [
        "link of node 1 along its row, -",
        "link of node 0 along its row, -",
    ]


@pytest.mark.parametrize("size", [4, 8])
def test_all_to_all_loads_every_link_of_a_square_torus_alike(size: int) -> None:
    """Of k x k nodes: k^3 / 8 pairs on each, what a cut in two halves demands."""
    found = loads(Torus(rows=size, cols=size))
    assert len(found) == 4 * size**2
    assert set(found.values()) == {size**3 // 8}


def test_three_dimensions_take_six_links() -> None:
    """Layers come last, and a node's rate is cut into as many as it has links."""
    torus = Torus(rows=2, cols=3, layers=4, bits_per_second_per_node=600)
    assert torus.bits_per_second_per_link == 100
    assert (
        names(torus, 0, 3 * 2 * 1 + 3 + 1)[-1] == "link of node 4 along its layers, +"
    )
    flat = Torus(rows=1, cols=3, bits_per_second_per_node=7)
    assert (flat.bits_per_second_per_link, flat.node_bits_per_s) == (3, 6)


def test_bcube_corrects_the_highest_digit_first() -> None:
    """From (0, 1) to (2, 3): over the switch of level 1, then that of level 0."""
    assert names(BCUBE, 1, 11) == [
        *("egress of node 1 at level 1", "ingress of node 9 at level 1"),
        *("egress of node 9 at level 0", "ingress of node 11 at level 0"),
    ]


def test_all_to_all_loads_every_port_of_a_bcube_alike() -> None:
    """N (r - 1) / r pairs differ in a digit at each of the N ports of its level."""
    found = loads(BCUBE)
    assert len(found) == 2 * 2 * 16
    assert set(found.values()) == {16 * 3 // 4}


def test_a_fat_tree_is_climbed_no_higher_than_needed() -> None:
    """In a leaf, in a pod, and across: 2, 4 and 6 links."""
    assert names(TREE, 0, 1) == ["uplink of node 0", "downlink of node 1"]
    assert names(TREE, 0, 5)[2:] == ["uplink of leaf 0", "downlink of leaf 2"]
    assert names(TREE, 0, 11)[4:] == ["uplink of pod 0", "downlink of pod 1"]
    rate = TREE.node_bits_per_s
    usage = TREE.link_usage(column([0]), column([11]))
    rates = TREE.link_bits_per_s(usage.resource).tolist()
    assert rates == [rate, rate, rate, rate, 3 * rate, 3 * rate]


def test_all_to_all_on_a_fat_tree_by_hand() -> None:
    """12 nodes in leaves of 2 and pods of 6: 2 * 10 pairs leave a leaf, 36 a pod."""
    found = loads(TREE)
    assert found["uplink of node 7"] == 11
    assert found["downlink of leaf 3"] == 20
    assert found["uplink of pod 1"] == 36


def test_a_superpod_uses_ports_only_between_servers() -> None:
    """NVLink inside; one leaf for equal rails of a unit; trunks for the rest."""
    assert names(POD, 0, 1) == ["NVLink of node 0, out", "NVLink of node 1, in"]
    assert names(POD, 0, 4) == [
        "network port of node 0, out",
        "network port of node 4, in",
    ]
    assert names(POD, 0, 5)[2:] == [
        *("uplinks of leaf 0 of unit 0", "downlinks of leaf 1 of unit 0"),
    ]
    assert names(POD, 0, 6)[2:] == [
        *("uplinks of leaf 0 of unit 0", "downlinks of leaf 0 of unit 1"),
    ]


def test_rates_of_a_superpod_are_in_their_ratio() -> None:
    """By default 2.4 Tb/s inside and 200 Gb/s outside; a leaf has one for a server."""
    assert POD.nvlink_bits_per_s == 2_400_000_000_000
    assert POD.network_bits_per_s == 200_000_000_000
    assert POD.leaf_bits_per_s == 600_000_000_000
    usage = POD.link_usage(column([0]), column([6]))
    assert POD.link_bits_per_s(usage.resource).tolist() == [
        *(200_000_000_000, 200_000_000_000, 600_000_000_000, 600_000_000_000),
    ]


def test_rates_that_do_not_divide_are_rounded_down_part_by_part() -> None:
    """A port is a part of the whole, a trunk of ports; NVLink has what is left."""
    pod = SuperPod(
        nodes=9,
        gpus_per_server=2,
        servers_per_unit=3,
        bits_per_second_per_node=1000,
        intra_to_inter=6,
        oversubscription=4,
    )
    rates = pod.network_bits_per_s, pod.nvlink_bits_per_s, pod.leaf_bits_per_s
    assert rates == (1000 // 7, 1000 - 1000 // 7, 3 * (1000 // 7) // 4)
    tree = FatTree(
        nodes=9,
        nodes_per_leaf=5,
        leaves_per_pod=3,
        oversubscription=3,
        pod_oversubscription=7,
        bits_per_second_per_node=1001,
    )
    assert (tree.leaf_bits_per_s, tree.pod_bits_per_s) == (1668, 3 * 1668 // 7)


@given(st.integers(1, 60), st.data())
def test_strides_of_topoopt_are_those_of_the_specification(
    nodes: int, data: st.DataObject
) -> None:
    """One after another the nearest to a power of n that is left, the lesser of two."""
    left = [p for p in range(1, max(nodes, 2)) if gcd(p, nodes) == 1]
    degree = data.draw(st.integers(1, min(len(left), 5)))
    chosen = []
    for power in range(degree):
        stride = min(left, key=lambda p: (abs(p**degree - nodes**power), p))
        left.remove(stride)
        chosen.append(stride)
    assert TopoOpt(nodes=nodes, degree=degree).strides == tuple(sorted(chosen))


def test_strides_of_topoopt_are_near_powers() -> None:
    """15 nodes, 3 rings: 1, then what is nearest to 15 ** (1/3) and 15 ** (2/3)."""
    assert RINGS.strides == (1, 2, 7)
    assert TopoOpt(nodes=64, degree=2).strides == (1, 7)
    assert TopoOpt(nodes=1, degree=1).strides == (1,)


@given(st.integers(2, 40), st.data())
def test_ways_of_topoopt_are_chains_of_rings(nodes: int, data: st.DataObject) -> None:
    """Every way starts at its source, ends at its destination, link by link."""
    rings = sum(gcd(p, nodes) == 1 for p in range(1, nodes))
    fabric = TopoOpt(nodes=nodes, degree=data.draw(st.integers(1, min(rings, 4))))
    assert all(gcd(stride, nodes) == 1 for stride in fabric.strides)
    src = data.draw(st.integers(0, nodes - 1))
    dst = (src + data.draw(st.integers(1, nodes - 1))) % nodes
    usage = fabric.link_usage(column([src]), column([dst]))
    now = dst
    for link in usage.resource.tolist():  # from the last link back to the first
        tail, ring = divmod(link, fabric.degree)
        assert (tail + fabric.strides[ring]) % nodes == now
        now = tail
    assert now == src


@given(st.sampled_from(ALL), st.data())
def test_a_way_begins_and_ends_where_it_should(
    fabric: PacketFabric, data: st.DataObject
) -> None:
    """Columns say what row by row says, and a way never crosses a link twice."""
    count = fabric.node_count
    node = st.integers(0, count - 1)
    rows = data.draw(st.lists(st.tuples(node, node), max_size=6))
    rows = [(src, dst) for src, dst in rows if src != dst]
    usage = fabric.link_usage(column(a for a, _ in rows), column(b for _, b in rows))
    for row, (src, dst) in enumerate(rows):
        alone = fabric.link_usage(column([src]), column([dst])).resource.tolist()
        mine = usage.resource[usage.circuit == row].tolist()
        assert sorted(mine) == sorted(alone)
        assert len(set(mine)) == len(mine) > 0
    assert (fabric.link_bits_per_s(usage.resource) > 0).all()


@pytest.mark.parametrize("fabric", ALL, ids=lambda fabric: fabric.kind)
def test_tables_are_read_back(fabric: PacketFabric) -> None:
    """Every key is written, defaults filled in, and gives the same fabric."""
    assert load_fabric(fabric.table()) == fabric
    assert isinstance(fabric, PacketFabric)


@pytest.mark.parametrize("fabric", ALL, ids=lambda fabric: fabric.kind)
def test_latency_grows_with_the_longest_way(fabric: PacketFabric) -> None:
    """A step pays for the longest way there is, whatever it moves."""
    key = (
        "hop_latency_ps" if "hop_latency_ps" in fabric.table() else "switch_latency_ps"
    )
    longest = {"torus": 3, "bcube": 2, "fat-tree": 5, "superpod": 3, "topoopt": 4}
    slower = load_fabric({**fabric.table(), key: 1000})
    assert isinstance(slower, PacketFabric)
    assert slower.latency_ps == 1000 * longest[fabric.kind]


def test_clusters_have_equal_rates() -> None:
    """Every cluster of a size has its nodes and 2048 Gb/s each, to the rounding."""
    for nodes in (16, 64, 512):
        for fabric in clusters(nodes).values():
            assert fabric.node_count == nodes
            assert 0 <= 2_048_000_000_000 - fabric.node_bits_per_s < 64


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"kind": "torus", "rows": 4}, "cols"),
        ({"kind": "torus", "rows": 2048, "cols": 1024}, "rows * cols <= 1048576"),
        (
            {"kind": "torus", "rows": 4, "cols": 4, "bits_per_second_per_node": 3},
            "at least 4",
        ),
        ({"kind": "bcube", "radix": 1}, "radix"),
        ({"kind": "bcube", "radix": 32, "level": 4}, "radix ** (level + 1)"),
        (
            {"kind": "bcube", "radix": 4, "bits_per_second_per_node": 1},
            "at least 2",
        ),
        ({"kind": "fat-tree", "nodes": 4, "oversubscription": 0}, "oversubscription"),
        (
            {"kind": "fat-tree", "nodes": 4, "bits_per_second_per_node": 10**18},
            "a trunk is too slow or too fast",
        ),
        ({"kind": "superpod", "nodes": 8, "gpus_per_server": 0}, "gpus_per_server"),
        (
            {"kind": "superpod", "nodes": 8, "bits_per_second_per_node": 12},
            "a network port",
        ),
        (
            {"kind": "topoopt", "nodes": 6, "degree": 3},
            "6 nodes have 2 different rings",
        ),
        ({"kind": "topoopt", "nodes": 6, "rings": 2}, "rings"),
        (
            {"kind": "topoopt", "nodes": 16, "bits_per_second_per_node": 3},
            "at least 4",
        ),
    ],
)
def test_bad_keys_are_named(table: FabricTable, words: str) -> None:
    """What is missing, unknown or out of its domain is in the message."""
    with pytest.raises(InputError) as caught:
        load_fabric(table)
    assert words in str(caught.value)
