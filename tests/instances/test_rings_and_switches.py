"""Rings and optical switches as fabrics: usage by hand, tables, bad keys, names."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged, column
from lightloom.core.errors import InputError
from lightloom.core.fabric import CircuitFabric
from lightloom.core.task import Demand
from lightloom.instances.catalogue import cluster_sizes, demand_fabrics, named_instances
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.instance_file import parse_instance
from tests.examples.rings_and_switches import ring_circuits

OCS = Ocs(nodes=4, switches=3, bits_per_second_per_node=10**12)
RING = Ring(nodes=5, wavelengths=2, directions=2, reach=4)


def _taken(fabric: CircuitFabric, circuits: Circuits) -> dict[str, list[int]]:
    """Return the circuits that take each resource, by its name."""
    usage = fabric.usage(circuits)
    assert usage.amount.tolist() == [1] * len(usage.resource)
    assert fabric.capacity(usage.resource).tolist() == [1] * len(usage.resource)
    taken: dict[str, list[int]] = {}
    for row, resource in zip(
        usage.circuit.tolist(), usage.resource.tolist(), strict=True
    ):
        taken.setdefault(fabric.resource_name(resource), []).append(row)
    return {name: sorted(rows) for name, rows in taken.items()}


def test_a_circuit_of_a_switch_takes_two_ports() -> None:
    """An input and an output; rates are a share of the node's, rounded down."""
    circuits = Circuits(column([0, 2]), column([1, 1]))
    assert _taken(OCS, circuits) == {
        "input port of node 0": [0],
        "input port of node 2": [1],
        "output port of node 1": [0, 1],
    }
    assert OCS.circuit_bits_per_s(circuits).tolist() == [333_333_333_333] * 2
    assert OCS.node_bits_per_s == 999_999_999_999
    assert list(OCS.circuit_faults(circuits)) == []


def test_a_bidirectional_circuit_takes_its_ports_once() -> None:
    """The way back is on the same two ports; another partner takes them again."""
    fabric = Ocs(
        nodes=4, switches=3, bits_per_second_per_node=10**12, bidirectional=True
    )
    circuits = Circuits(column([1, 0, 1]), column([0, 1, 2]))
    taken = _taken(fabric, circuits)
    assert taken["port of node 0"] == [0]
    assert taken["port of node 1"] == [0, 2]
    assert taken["port of node 2"] == [2]


def test_a_circuit_of_a_ring_takes_its_spans() -> None:
    """Spans are walked in the circuit's direction, past the last node too."""
    circuits = ring_circuits([(3, 1, 0, [0]), (1, 3, 1, [0, 1])])
    assert _taken(RING, circuits) == {
        "laser 0 of node 3, direction 0": [0],
        "laser 0 of node 1, direction 1": [1],
        "laser 1 of node 1, direction 1": [1],
        "photodiode 0 of node 1, direction 0": [0],
        "photodiode 0 of node 3, direction 1": [1],
        "photodiode 1 of node 3, direction 1": [1],
        **{f"wavelength 0 on span {way}": [0] for way in ("3->4", "4->0", "0->1")},
        **{
            f"wavelength {colour} on span {way}": [1]
            for way in ("4->3", "0->4", "1->0")
            for colour in (0, 1)
        },
    }
    assert RING.circuit_bits_per_s(circuits).tolist() == [25 * 10**9, 50 * 10**9]


@pytest.mark.parametrize("direction", [0, 1])
def test_spans_of_a_way_are_what_its_circuit_takes(direction: int) -> None:
    """`spans`, `hops` and `usage` say the same of every pair, in numbers."""
    for src in range(RING.nodes):
        for dst in set(range(RING.nodes)) - {src}:
            spans = RING.spans(src, dst, direction)
            ends = column([src]), column([dst])
            hops = RING.hops(*ends, column([direction]))
            assert hops.tolist() == [len(spans)]
            circuits = Circuits(
                *ends, Ragged.from_lists([[1]]), None, column([direction])
            )
            names = set(_taken(RING, circuits))
            assert len([name for name in names if "span" in name]) == len(spans)
            first = spans[0] if direction == 0 else (spans[0] + 1) % RING.nodes
            assert first == src


def test_shared_transceivers_are_one_laser_both_ways() -> None:
    """The same laser feeds either fibre, and a node has half the rate."""
    shared = Ring(nodes=5, wavelengths=2, directions=2, shared_transceivers=True)
    circuits = ring_circuits([(0, 1, 0, [0]), (0, 4, 1, [0])])
    assert _taken(shared, circuits)["laser 0 of node 0"] == [0, 1]
    assert 2 * shared.node_bits_per_s == RING.node_bits_per_s


@pytest.mark.parametrize("fabric", [OCS, RING])
def test_tables_are_read_back(fabric: Ocs | Ring) -> None:
    """Every key is written, defaults filled in, and gives the same fabric."""
    assert load_fabric(fabric.table()) == fabric
    assert isinstance(fabric, CircuitFabric)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"kind": "ocs", "nodes": 4}, "switches"),
        ({"kind": "ocs", "nodes": 4, "switches": 0}, "fabric.switches"),
        (
            {"kind": "ocs", "nodes": 4, "switches": 9, "bits_per_second_per_node": 8},
            "less than a bit per second",
        ),
        ({"kind": "ring", "nodes": 4, "wave_lengths": 2}, "did you mean wavelengths"),
        (
            {"kind": "ring", "nodes": 4, "wavelengths": 2, "directions": 3},
            "fabric.directions",
        ),
        ({"kind": "ring", "nodes": 4, "wavelengths": 2, "reach": 0}, "fabric.reach"),
        (
            {
                "kind": "ring",
                "nodes": 4,
                "wavelengths": 2**16,
                "bits_per_second_per_wavelength": 10**18,
            },
            "too fast",
        ),
    ],
)
def test_bad_keys_are_named(table: dict[str, object], words: str) -> None:
    """What is missing, unknown or out of its domain is in the message."""
    with pytest.raises(InputError) as caught:
        load_fabric(table)
    assert words in str(caught.value)


def test_every_named_fabric_has_demands() -> None:
    """Demands are sound, distinct in name, and read back from their tables."""
    found: Counter[str] = Counter()
    for instance in named_instances():
        if not isinstance(instance.task, Demand):
            continue
        found[instance.name.split("/")[0]] += 1
        assert parse_instance({**instance.table()}, name=instance.name) == instance
        assert np.min(instance.task.bytes) > 0
    on_sipac = {name: found.pop(name) for name in list(found) if "sipac" in name}
    assert on_sipac == {f"sipac-{nodes}": 1 for nodes in cluster_sizes()}
    assert set(found) == set(demand_fabrics())
    assert set(found.values()) == {2}
