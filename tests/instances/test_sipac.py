"""SiPAC as a fabric: peers, the shuffle, usage by hand, tables, bad keys."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightloom.core.circuit import ALONE, Circuits
from lightloom.core.columns import Ragged, column
from lightloom.core.errors import InputError
from lightloom.core.fabric import CircuitFabric
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.sipac import Sipac

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.fabric import FabricTable

FOUR = Sipac(radix=4)
FIXED = Sipac(radix=4, switching="fixed", wavelengths_per_peer=2)

fabrics = st.builds(
    Sipac,
    radix=st.integers(2, 5),
    level=st.integers(1, 2),
    wavelengths_per_peer=st.integers(1, 3),
    loopback=st.booleans(),
)


def lit(
    rows: Sequence[tuple[int, int, list[int]]], multicast: list[int] | None = None
) -> Circuits:
    """Return circuits of (src, dst, wavelengths) rows."""
    return Circuits(
        column(row[0] for row in rows),
        column(row[1] for row in rows),
        Ragged.from_lists([row[2] for row in rows]),
        multicast=None if multicast is None else column(multicast),
    )


def every_pair(fabric: Sipac) -> Circuits:
    """Return all that the shuffle joins, one circuit a pair."""
    count = fabric.node_count
    src, dst = (ends.reshape(-1) for ends in np.mgrid[:count, :count])
    near = fabric.level_of(src, dst) >= 0
    pairs = list(zip(src[near].tolist(), dst[near].tolist(), strict=True))
    return lit([(a, b, fabric.shuffled(a, b)) for a, b in pairs])


def taken(fabric: Sipac, circuits: Circuits) -> dict[str, list[int]]:
    """Return the circuits that take each resource, by its name."""
    usage = fabric.usage(circuits)
    assert usage.amount.tolist() == [1] * len(usage.resource)
    assert fabric.capacity(usage.resource).tolist() == [1] * len(usage.resource)
    found: dict[str, list[int]] = {}
    for row, resource in zip(
        usage.circuit.tolist(), usage.resource.tolist(), strict=True
    ):
        name = fabric.resource_name(resource)
        assert name.startswith(fabric.resource_rule(resource)[:-1])
        found.setdefault(name, []).append(row)
    return found


def test_sixteen_units_have_six_peers_each() -> None:
    """SiPAC(4, 1): 3 on a node's switch of level 0, 3 on that of level 1."""
    circuits = every_pair(FOUR)
    peers = Counter(circuits.src.tolist())
    assert peers == dict.fromkeys(range(16), FOUR.ports_per_node)
    assert FOUR.ports_per_node == 6
    of_five = circuits.dst[circuits.src == 5].tolist()
    assert of_five == [1, 4, 6, 7, 9, 13]
    level = FOUR.level_of(column([5] * 6), column(of_five)).tolist()
    assert level == [1, 0, 0, 0, 1, 1]


@given(fabrics)
def test_all_peers_are_one_hop_away_without_contention(fabric: Sipac) -> None:
    """All pairs of all switches at once: (l + 1)(r - 1) peers, nothing used twice."""
    circuits = every_pair(fabric)
    peers = fabric.levels * (fabric.radix - 1)
    assert len(circuits) == fabric.node_count * peers
    assert list(fabric.circuit_faults(circuits)) == []
    usage = fabric.usage(circuits)
    assert len(np.unique(usage.resource)) == len(usage.resource)
    rates = set(fabric.circuit_bits_per_s(circuits).tolist())
    assert rates == {
        fabric.wavelengths_per_peer * fabric.bits_per_second_per_wavelength
    }


@given(fabrics)
def test_the_shuffle_is_a_latin_square(fabric: Sipac) -> None:
    """An input's wavelengths leave on all buses alike; no bus has one twice."""
    port, wavelength = np.mgrid[: fabric.radix, : fabric.wavelengths]
    bus = fabric.output_bus(port, wavelength)
    for row, out in enumerate(bus):
        seen = Counter(out.tolist())
        own = {row} if not fabric.loopback else set()
        others = set(range(fabric.radix)) - own
        assert seen == dict.fromkeys(others, fabric.wavelengths_per_peer)
    for colour in range(fabric.wavelengths):
        assert len(set(bus[:, colour].tolist())) == fabric.radix


def test_the_switch_of_the_paper_drops_three_wavelengths_at_a_ring() -> None:
    """Fig. 1b: 3 ports, 9 wavelengths, every third of an input on one bus."""
    switch = Sipac(radix=3, wavelengths_per_peer=3, loopback=True)
    assert switch.wavelengths == 9
    assert switch.shuffled(0, 1) == [1, 4, 7]
    assert switch.shuffled(0, 2) == [2, 5, 8]
    assert switch.shuffled(2, 0) == [1, 4, 7]


def test_a_circuit_takes_a_laser_and_a_photodiode_for_each_wavelength() -> None:
    """Node 1 to node 9 is level 1; each end has its own wavelengths there."""
    assert taken(FOUR, lit([(1, 9, [0, 2]), (1, 2, [0])])) == {
        "laser 0 of node 1 at level 1": [0],
        "laser 2 of node 1 at level 1": [0],
        "photodiode 0 of node 9 at level 1": [0],
        "photodiode 2 of node 9 at level 1": [0],
        "laser 0 of node 1 at level 0": [1],
        "photodiode 0 of node 2 at level 0": [1],
    }


def test_multicast_takes_its_laser_once_on_each_level() -> None:
    """Nodes 1 and 2 share switches of node 0 on level 0, node 4 one on level 1."""
    rows = [(0, 1, [0]), (0, 2, [0]), (0, 4, [0])]
    found = taken(FOUR, lit(rows, [7, 7, 7]))
    assert found["laser 0 of node 0 at level 0"] == [0]
    assert found["laser 0 of node 0 at level 1"] == [2]
    assert len(found) == 5
    apart = taken(FOUR, lit(rows, [ALONE, ALONE, ALONE]))
    assert apart["laser 0 of node 0 at level 0"] == [0, 1]


@pytest.mark.parametrize(
    ("fabric", "row", "rule", "words"),
    [
        (FOUR, (0, 5, [0]), "one-switch", "differ in several digits"),
        (FOUR, (0, 1, [3]), "wavelength-range", "allowed 0 to 2"),
        (FOUR, (0, 1, [-1]), "wavelength-range", "allowed 0 to 2"),
        (FOUR, (0, 1, []), "wavelength-range", "no wavelength"),
        (FOUR, (0, 1, [1, 1]), "wavelength-range", "repeat"),
        (FIXED, (0, 1, [1]), "shuffle", "joins the nodes by [0, 3]"),
        (FIXED, (0, 5, [0]), "one-switch", "differ in several digits"),
    ],
)
def test_faults(
    fabric: Sipac, row: tuple[int, int, list[int]], rule: str, words: str
) -> None:
    """Each circuit that no switch could make is refused under its rule."""
    (fault,) = fabric.circuit_faults(lit([(0, 1, fabric.shuffled(0, 1)), row]))
    assert (fault.row, fault.rule) == (1, rule)
    assert words in fault.message


def test_only_tunable_switches_share_a_wavelength() -> None:
    """Fixed rings drop a wavelength once, so there is no multicast column."""
    assert FOUR.circuit_columns == ("wavelengths", "multicast")
    assert FIXED.circuit_columns == ("wavelengths",)


def test_a_node_has_its_rate_on_all_levels_together() -> None:
    """2048 Gb/s over 2 levels of 3 wavelengths, rounded down."""
    assert FOUR.bits_per_second_per_wavelength == 341_333_333_333
    assert FOUR.node_bits_per_s == 2_047_999_999_998
    assert Sipac(radix=8, level=2).node_count == 512


def test_no_switch_no_shuffle() -> None:
    """Nodes without a common switch are not joined by any wavelength."""
    with pytest.raises(ValueError, match="no switch has nodes 0 and 5"):
        FOUR.shuffled(0, 5)


@pytest.mark.parametrize("fabric", [FOUR, FIXED])
def test_tables_are_read_back(fabric: Sipac) -> None:
    """Every key is written, defaults filled in, and gives the same fabric."""
    assert load_fabric(fabric.table()) == fabric
    assert isinstance(fabric, CircuitFabric)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"kind": "sipac"}, "radix"),
        ({"kind": "sipac", "radix": 1}, "radix"),
        ({"kind": "sipac", "radix": 4, "level": 0}, "level"),
        ({"kind": "sipac", "radix": 32, "level": 4}, "radix ** (level + 1)"),
        ({"kind": "sipac", "radix": 4, "switching": "slow"}, "switching"),
        ({"kind": "sipac", "radix": 4, "levels": 2}, "did you mean level"),
        (
            {"kind": "sipac", "radix": 4, "bits_per_second_per_node": 5},
            "at least 6",
        ),
    ],
)
def test_bad_keys_are_named(table: FabricTable, words: str) -> None:
    """What is missing, unknown or out of its domain is in the message."""
    with pytest.raises(InputError) as caught:
        load_fabric(table)
    assert words in str(caught.value)
