"""Placements: each broken one trips its rule and no other; partners are counted."""

from __future__ import annotations

import msgspec
import pytest

from lightloom.core.columns import column
from lightloom.core.placement import Placement
from lightloom.core.task import Workload
from lightloom.validate.placement import (
    PLACEMENT_RULES,
    check_placement,
)

# a -> b -> d, a -> c -> d, and m, which takes no time.
WORKLOAD = Workload(
    ("a", "b", "c", "d", "m"),
    (2, 5, 4, 1, 0),
    (1, 2, 3, 4, 0),
    (0, 0, 1, 2),
    (1, 2, 3, 3),
    (8, 8, 8, 8),
    4,
    1,
    7,
)
DEVICE = (3, 3, 0, 0, 0)
START = (0, 2, 2, 7, 3)


def _rules(
    device: tuple[int, ...] = DEVICE,
    start: tuple[int, ...] = START,
    workload: Workload = WORKLOAD,
) -> set[str]:
    """Return the rules that a placement breaks."""
    placement = Placement(workload, column(device), column(start))
    return {violation.rule for violation in check_placement(placement)}


def test_a_whole_placement_is_valid() -> None:
    """It goes round the ring, and what takes no time runs beside something else."""
    assert not _rules()
    assert not _rules((2, 2, 2, 3, 2), (0, 2, 7, 11, 1))


MUTANTS = [
    ("placement-rows", DEVICE[:-1], START),
    ("placement-rows", DEVICE, (*START, 0)),
    ("placement-device", (3, 3, 4, 0, 0), START),
    ("placement-device", (-1, 3, 0, 0, 0), START),
    ("placement-start", DEVICE, (-1, 2, 2, 7, 3)),
    ("placement-start", DEVICE, (0, 2, 2, 7, 2**63 - 1)),
    ("placement-window", (2, 3, 0, 0, 0), START),
    ("placement-window", (0, 0, 3, 0, 0), START),
    ("placement-order", DEVICE, (0, 2, 1, 7, 3)),
    ("placement-alone", (3, 3, 3, 3, 3), (0, 2, 3, 7, 3)),
    ("placement-memory", (3, 3, 3, 3, 3), (0, 2, 7, 11, 3)),
]


@pytest.mark.parametrize(("rule", "device", "start"), MUTANTS)
def test_mutant_trips_its_rule(
    rule: str, device: tuple[int, ...], start: tuple[int, ...]
) -> None:
    """What is broken is reported; memory is full where all share a device."""
    also = {"placement-memory"} if device == (3,) * 5 else set()
    assert _rules(device, start) == {rule} | also


def test_every_rule_has_a_mutant() -> None:
    """Each rule has a mutant."""
    assert {rule for rule, *_ in MUTANTS} == set(PLACEMENT_RULES)


def test_violations_say_where_and_by_how_much() -> None:
    """Names, numbers found and allowed, and the excess."""
    placement = Placement(WORKLOAD, column((1, 3, 0, 0, 0)), column(START))
    (first, second) = sorted(check_placement(placement), key=lambda v: v.resource)
    assert first.resource == "edge 'a' -> 'b'"
    assert first.message == "2 devices down the ring, allowed 1"
    assert (first.excess, second.excess) == (1, 2)


def test_one_long_operation_over_several() -> None:
    """Each that starts before it has ended is found, not its neighbour alone."""
    workload = Workload(("x", "y", "z"), (9, 1, 1), (0,) * 3, (), (), (), 1, 0)
    placement = Placement(workload, column((0, 0, 0)), column((0, 2, 5)))
    found = [violation.resource for violation in check_placement(placement)]
    assert found == ["operation 'y' on device 0", "operation 'z' on device 0"]


def test_memory_does_not_overflow() -> None:
    """Sums of sizes beyond 64 bits are exact."""
    huge = 2**60 - 1
    workload = Workload(
        tuple(map(str, range(20))), (0,) * 20, (huge,) * 20, (), (), (), 2, 1, 2**62
    )
    placement = Placement(workload, column([0] * 20), column([0] * 20))
    (violation,) = check_placement(placement)
    assert violation.excess == 20 * huge - 2**62


def _gather(devices: int, distance: int) -> Workload:
    """Return eight operations that a ninth hears from."""
    return Workload(
        tuple(f"op{row}" for row in range(9)),
        (10,) * 9,
        (1,) * 9,
        tuple(range(8)),
        (8,) * 8,
        (64,) * 8,
        devices,
        distance,
    )


def test_a_gather_from_everywhere_is_refused() -> None:
    """Without repair Algorithm 1 gives a device seven partners where two are allowed.

    Sources go to the device that is free first, one each; the window of the ninth is
    empty, and no place keeps the edges within the distance.
    """
    workload = _gather(8, 2)
    device = column([*range(8), 7])
    placement = Placement(workload, device, column([0] * 8 + [10]))
    assert placement.degrees == (1, 7)
    broken = list(check_placement(placement))
    assert {violation.rule for violation in broken} == {"placement-window"}
    assert len(broken) == 5


def test_several_edges_make_one_partner() -> None:
    """Circuits are pairs of devices; what stays on a device needs none."""
    workload = _gather(2, 1)
    placement = Placement(workload, column([0] * 4 + [1] * 5), column([0] * 9))
    src, dst = placement.circuits()
    assert (src.tolist(), dst.tolist()) == ([0], [1])
    assert placement.degrees == (1, 1)


def test_distance_of_all_devices_is_no_limit() -> None:
    """Any device may talk to any other."""
    workload = msgspec.structs.replace(WORKLOAD, distance=3)
    assert not _rules((2, 0, 3, 1, 0), START, workload)
