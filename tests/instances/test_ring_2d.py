"""2D rings: usage by hand, faults, power, tables."""

from __future__ import annotations

from itertools import product

import pytest

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged, column
from lightloom.core.errors import InputError
from lightloom.core.fabric import CircuitFabric
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.ring_2d import Ring2d, reach_of_budget
from lightloom.replay import replay
from lightloom.validate import RULES, verify
from tests.examples.rings_2d import MUTANTS, grid_demand
from tests.examples.rings_and_switches import ring_circuits

GRID = Ring2d(rows=3, cols=4, row_wavelengths=2, column_wavelengths=1, directions=2)


def _taken(circuits: Circuits) -> dict[str, list[int]]:
    usage = GRID.usage(circuits)
    taken: dict[str, list[int]] = {}
    for row, resource in zip(
        usage.circuit.tolist(), usage.resource.tolist(), strict=True
    ):
        taken.setdefault(GRID.resource_name(resource), []).append(row)
    return taken


def test_circuits_take_what_is_on_their_ring() -> None:
    """Node 6 is (1, 2): back to (1, 0) along row 1, and up column 2 past its end."""
    circuits = ring_circuits([(6, 4, 1, [1]), (6, 2, 2, [0])])
    assert list(GRID.circuit_faults(circuits)) == []
    assert _taken(circuits) == {
        "laser 1 of node 2, direction 1 of row 1": [0],
        "photodiode 1 of node 0, direction 1 of row 1": [0],
        "wavelength 1 on span 2->1 of row 1": [0],
        "wavelength 1 on span 1->0 of row 1": [0],
        "laser 0 of node 1, direction 0 of column 2": [1],
        "photodiode 0 of node 0, direction 0 of column 2": [1],
        "wavelength 0 on span 1->2 of column 2": [1],
        "wavelength 0 on span 2->0 of column 2": [1],
    }
    assert GRID.circuit_bits_per_s(circuits).tolist() == [25 * 10**9] * 2
    assert (GRID.ports_per_node, GRID.node_bits_per_s) == (6, 150 * 10**9)


def test_every_resource_is_one_of_one_ring() -> None:
    """Circuits of one hop, all of them: two of no pair share anything."""
    rows = []
    for row, col, way in product(range(3), range(4), range(4)):
        near = [(row, col + 1), (row, col - 1), (row + 1, col), (row - 1, col)][way]
        dst = near[0] % 3 * 4 + near[1] % 4
        lit = [0, 1] if way < 2 else [0]
        rows += [(row * 4 + col, dst, way, [colour]) for colour in lit]
    circuits = ring_circuits(rows)
    assert list(GRID.circuit_faults(circuits)) == []
    usage = GRID.usage(circuits)
    assert len(set(usage.resource.tolist())) == 3 * len(rows) == len(usage.resource)
    assert set(usage.amount.tolist()) == {1} == set(GRID.capacity(usage.resource))
    names = {GRID.resource_name(each) for each in usage.resource.tolist()}
    assert len(names) == len(usage.resource)
    rules = {GRID.resource_rule(each) for each in usage.resource.tolist()}
    assert rules == {"lasers", "photodiodes", "spans"} <= set(RULES)


def test_light_that_leaves_its_ring_is_a_fault_once() -> None:
    """How far it would have gone is then not asked; what else is wrong is said too."""
    circuits = Circuits(
        column([0, 0]),
        column([7, 5]),
        Ragged.from_lists([[0], [1]]),
        direction=column([0, 2]),
    )
    short = Ring2d(
        rows=3,
        cols=4,
        row_wavelengths=2,
        column_wavelengths=1,
        power_budget_millidb=625,
    )
    faults = [(fault.rule, fault.row) for fault in short.circuit_faults(circuits)]
    assert faults == [
        ("shared-ring", 0),
        ("shared-ring", 1),
        ("wavelength-range", 1),
    ]
    back = Circuits(
        column([1]), column([0]), Ragged.from_lists([[0]]), direction=column([1])
    )
    (fault,) = short.circuit_faults(back)
    assert fault.rule == "direction-range"
    assert fault.message == "direction 1, allowed 0, 2"


def test_a_schedule_on_a_grid_is_verified_and_replayed() -> None:
    """25 us to set, alpha, then 900 bytes at 25 Gb/s."""
    whole = grid_demand()
    assert verify(whole).violations == ()
    assert replay(whole).completion_time_ps == 25_000_000 + 700_000 + 288_000


@pytest.mark.parametrize(
    ("mutant", "resource"),
    [
        ("a laser both ways along a row", "laser 0 of node 0 of row 0"),
        ("a photodiode both ways up a column", "photodiode 0 of node 2 of column 1"),
        ("overlap on a span of a row", "wavelength 2 on span 1->2 of row 1"),
        ("overlap on a span of a column", "wavelength 1 on span 1->2 of column 0"),
    ],
)
def test_the_overused_resource_is_named(mutant: str, resource: str) -> None:
    """The message names the ring and the place on it."""
    make = next(make for name, _, make in MUTANTS if name == mutant)
    (violation,) = verify(make()).violations
    assert violation.resource == resource


def test_power_limits_how_far_light_goes() -> None:
    """The paper's figures: 10 dB, and 0.625 or 0.525 dB a node, are 16 and 19 spans."""
    assert reach_of_budget() == 16
    assert reach_of_budget(10_000, 525) == 19
    assert reach_of_budget(624, 625) == 0
    assert GRID.reach == 16
    with pytest.raises(InputError, match="a node without loss; found 0"):
        reach_of_budget(10_000, 0)
    with pytest.raises(InputError, match="a negative power budget"):
        reach_of_budget(-1)


def test_tables_are_read_back() -> None:
    """Every key is written, defaults filled in, and gives the same fabric."""
    assert load_fabric(GRID.table()) == GRID
    assert isinstance(GRID, CircuitFabric)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"power_budget_millidb": 600}, "light does not reach the next node"),
        ({"rows": 2**11, "cols": 2**11}, "too many nodes; found 4194304"),
        ({"bits_per_second_per_wavelength": 10**18}, "too fast"),
        ({"row_wavelengths": 0}, "fabric.row_wavelengths"),
        ({"reach": 3}, "reach"),
    ],
)
def test_bad_keys_are_named(keys: dict[str, object], words: str) -> None:
    """What is unknown, out of its domain, or does not fit is in the message."""
    with pytest.raises(InputError) as caught:
        load_fabric({**GRID.table(), **keys})
    assert words in str(caught.value)
