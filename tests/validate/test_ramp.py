"""RAMP: whole schedules, what each resource is called, and the three subnets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lightloom.core.circuit import ALONE
from lightloom.core.fabric import CircuitFabric
from lightloom.core.schedule import Segment
from lightloom.instances.fabrics import load_fabric
from lightloom.synth.bounds import all_bounds
from lightloom.validate import RULES, verify
from lightloom.validate.checks.circuits import inspect, overused
from tests.validate.ramp import (
    FABRIC,
    FAMILIES,
    GRATED,
    MUTANTS,
    SWITCHED,
    broadcast,
    lit,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.schedule import Schedule
    from lightloom.instances.fabrics.ramp import Ramp
    from tests.validate.ramp import Row

NAMES = {
    "racks that meet in a subnet": "wavelength 2 of subnet 0 from group 0 to 1",
    "two racks behind a switch input": (
        "input 0 of switch 0 of subnet 0 from group 0 to 1"
    ),
    "a transmitter to two groups": "transmitter 1 of node 1",
    "a receiver from two groups": "receiver 1 of node 10",
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


@pytest.mark.parametrize("make", FAMILIES)
def test_no_bound_forgets_that_many_may_listen(make: Callable[[], Schedule]) -> None:
    """No bound exceeds the time: not even where two ports reach three nodes at once."""
    made = make()
    assert made.footer is not None
    for bound in all_bounds(load_fabric(made.fabric), made.task).values():
        assert bound.bound <= made.footer.completion_time_ps, bound


@pytest.mark.parametrize("name", sorted(NAMES))
def test_the_overused_resource_is_named(name: str) -> None:
    """One resource is reported, by its place on the fabric, with the excess."""
    make = next(make for mutant, _, make in MUTANTS if mutant == name)
    first, *_ = verify(make()).violations
    assert first.resource == NAMES[name]
    assert first.excess == 1


def _clean(fabric: Ramp, rows: list[Row]) -> bool:
    segment = Segment(0, 0, lit(rows))
    inspection = inspect(fabric, segment)
    assert inspection.violations == ()
    assert inspection.sound is not None
    return not list(overused(fabric, segment, inspection.sound))


@pytest.mark.parametrize(
    ("first", "second", "select", "broadcast", "switch"),
    [
        # Same source number, other racks: the couplers mix them, switches do not.
        ((1, 10), (5, 14), False, False, True),
        # Other source numbers, other racks: gratings give them different wavelengths.
        ((1, 10), (6, 14), False, True, True),
        # Other source numbers of one rack: a switch has one input for both.
        ((1, 10), (3, 14), False, True, False),
        # Other numbers at the destination never meet.
        ((1, 10), (5, 15), True, True, True),
    ],
)
def test_where_two_circuits_meet(
    first: tuple[int, int],
    second: tuple[int, int],
    *,
    select: bool,
    broadcast: bool,
    switch: bool,
) -> None:
    """The three subnets differ in what two circuits of one transceiver share."""
    rows = [(*first, 0, ALONE), (*second, 0, ALONE)]
    assert _clean(FABRIC, rows) == select
    assert _clean(GRATED, rows) == broadcast
    assert _clean(SWITCHED, rows) == switch


def test_multicast_is_sent_once() -> None:
    """One transmitter, one wavelength of each subnet, and a receiver each."""
    usage = FABRIC.usage(broadcast().segments[0].circuits)
    names = sorted(map(FABRIC.resource_name, usage.resource.tolist()))
    assert names == [
        "receiver 0 of node 12",
        "receiver 0 of node 4",
        "receiver 0 of node 8",
        "transmitter 0 of node 0",
        "wavelength 0 of subnet 0 from group 0 to 0",
        "wavelength 0 of subnet 0 from group 0 to 1",
    ]
