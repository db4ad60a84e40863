"""RAMP: what circuits share in its three subnets, and what one of many ends takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lightloom.core.circuit import ALONE
from lightloom.core.schedule import Segment
from lightloom.validate.checks.circuits import inspect, overused
from tests.validate.ramp import (
    FABRIC,
    GRATED,
    SWITCHED,
    broadcast,
    lit,
)

if TYPE_CHECKING:
    from lightloom.instances.fabrics.ramp import Ramp
    from tests.validate.ramp import Row


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
