"""Rings and optical switches: whole schedules, and what each resource is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lightloom.core.fabric import CircuitFabric
from lightloom.instances.fabrics import load_fabric
from lightloom.validate import RULES, verify
from tests.examples.rings_and_switches import (
    FAMILIES,
    MUTANTS,
    ring_circuits,
    ring_demand,
)
from tests.examples.small_schedules import with_circuits

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.schedule import Schedule

NAMES = {
    "overlap on a span": "wavelength 2 on span 1->2",
    "overlap past the last node": "wavelength 2 on span 3->0",
    "overlap on the way back": "wavelength 2 on span 0->3",
    "a laser both ways": "laser 2 of node 0",
    "a photodiode both ways": "photodiode 2 of node 2",
    "two circuits into a switch": "input port of node 0",
    "two circuits out of one": "output port of node 1",
    "a port with two partners": "port of node 3",
}


@pytest.mark.parametrize("make", FAMILIES)
def test_whole_schedules_are_valid(make: Callable[[], Schedule]) -> None:
    """They verify, and every resource that they take has a rule of the ledger."""
    made = make()
    assert verify(made).violations == ()
    fabric = load_fabric(made.fabric)
    assert isinstance(fabric, CircuitFabric)
    for segment in made.segments:
        for resource in fabric.usage(segment.circuits).resource.tolist():
            assert fabric.resource_rule(resource) in RULES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_the_overused_resource_is_named(name: str) -> None:
    """One resource is reported, by its place on the fabric, with the excess."""
    make = next(make for mutant, _, make in MUTANTS if mutant == name)
    (violation,) = verify(make()).violations
    assert violation.resource == NAMES[name]
    assert violation.excess == 1


def test_a_transceiver_each_way_has_a_laser_each_way() -> None:
    """What one transceiver cannot do, two can: a wavelength out both ways at once."""
    rows = ring_circuits(
        [(0, 2, 0, [0]), (2, 3, 0, [0, 1]), (3, 2, 1, [0]), (3, 1, 1, [1])]
    )
    for shared in (False, True):
        verdict = verify(with_circuits(ring_demand(shared=shared), 0, rows))
        assert verdict.valid == (not shared)
    found = {violation.resource for violation in verdict.violations}
    assert found == {"photodiode 0 of node 2"}
