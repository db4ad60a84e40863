"""RAMP as a fabric: numbering, wavelengths, rates, slots and preconditions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightloom.core.circuit import ALONE, Circuits
from lightloom.core.columns import column
from lightloom.core.errors import InputError
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.ramp import Ramp

FULL = Ramp(groups=32, racks=32, nodes_per_rack=64)


def test_numbers_of_the_paper() -> None:
    """65,536 nodes of 12.8 Tb/s; a slot of 20 ns carries 950 bytes."""
    assert FULL.node_count == 65536
    assert FULL.node_bits_per_s == 12_800 * 10**9
    assert FULL.slot_bytes == 950
    assert FULL.plane_count == 1
    wide = Ramp(groups=10, racks=10, nodes_per_rack=60, transceivers_per_group=256)
    circuits = Circuits(column([0]), column([1]), transceiver=column([0]))
    assert wide.circuit_bits_per_s(circuits).tolist() == [256 * 400 * 10**9]


def test_numbering() -> None:
    """Node (g, j, lam) is (g J + j) L + lam, and back."""
    fabric = Ramp(groups=4, racks=3, nodes_per_rack=8)
    nodes = np.arange(fabric.node_count)
    group, rack, number = fabric.coordinates(nodes)
    assert (group[50], rack[50], number[50]) == (2, 0, 2)
    assert fabric.node(group, rack, number).tolist() == nodes.tolist()


@pytest.mark.parametrize(
    ("subnet", "wavelength"),
    [
        ("broadcast-and-select", [5, 2]),
        ("route-and-broadcast", [2, 5]),
        ("route-and-switch", [2, 5]),
    ],
)
def test_wavelengths(subnet: str, wavelength: list[int]) -> None:
    """That of the receiver, or by what gratings route: 3 to 5, and 5 to 2 of 8."""
    table = {"kind": "ramp", "groups": 4, "racks": 3, "nodes_per_rack": 8}
    fabric = load_fabric({**table, "subnet": subnet})
    assert isinstance(fabric, Ramp)
    found = fabric.wavelength(column([3, 5]), column([24 + 5, 8 + 2]))
    assert found.tolist() == wavelength


def test_the_table_is_read_back() -> None:
    """Every default is filled in."""
    table = FULL.table()
    assert load_fabric(table) == FULL
    assert table["subnet"] == "broadcast-and-select"
    assert set(table) == set(Ramp.__struct_fields__)


@given(st.integers(1, 40), st.integers(1, 50), st.integers(1, 400))
def test_preconditions(groups: int, racks: int, numbers: int) -> None:
    """What is refused is what breaks a condition; what is proposed is accepted."""
    sound = numbers % groups == 0 and racks <= groups and numbers <= groups**2
    sizes = {"groups": groups, "racks": racks, "nodes_per_rack": numbers}
    if sound:
        assert load_fabric({"kind": "ramp", **sizes})
        return
    with pytest.raises(InputError) as caught:
        load_fabric({"kind": "ramp", **sizes})
    proposed = caught.value.fix.split(": ")[1].split(" or ")
    for text in proposed:
        x, racks, numbers = (int(part) for part in text.strip("()").split(","))
        assert Ramp(groups=x, racks=racks, nodes_per_rack=numbers)


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("slot_ps", 1000, "longer than the reconfiguration"),
        ("subnet", "broadcast", "fabric.subnet"),
        ("transceivers_per_group", 0, "fabric.transceivers_per_group"),
        ("wavelengths", 64, "unknown key"),
    ],
)
def test_wrong_values(key: str, value: object, says: str) -> None:
    """The key is named."""
    table = {"kind": "ramp", "groups": 2, "racks": 2, "nodes_per_rack": 4}
    with pytest.raises(InputError, match=says):
        load_fabric({**table, key: value})


def test_transmissions() -> None:
    """Rows of a multicast circuit count as its first row, others as themselves."""
    ids = column([7, ALONE, 3, 7, ALONE, 3, 0])
    rows = Circuits(column(range(7)), column(range(7)), multicast=ids)
    assert rows.transmissions().tolist() == [0, 1, 2, 0, 4, 2, 6]
    alone = Circuits(column(range(3)), column(range(3)))
    assert alone.transmissions().tolist() == [0, 1, 2]
