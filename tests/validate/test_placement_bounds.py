"""Bounds on placements: what witnesses prove, and those that prove nothing."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from lightloom.core.errors import InputError
from lightloom.core.task import Workload
from lightloom.validate.certificates.proofs.makespan import (
    CriticalPath,
    CrowdedOps,
    check_memory_witness,
    check_placement_witness,
    near_ops,
    paths_before_and_after,
)
from tests.examples.small_workloads import random_workload, shortest_by_search

# One in front of six, and one behind them, on eight devices, at most two further.
FAN = Workload(
    tuple("abcdefgh"),
    (3, *[4] * 6, 5),
    (1,) * 8,
    (*[0] * 6, *range(1, 7)),
    (*range(1, 7), *[7] * 6),
    (8,) * 12,
    8,
    2,
    2,
)


def test_a_path() -> None:
    """The bound of a path is the sum of its durations."""
    assert check_placement_witness(FAN, CriticalPath((0, 3, 7))) == 12
    assert check_placement_witness(FAN, CriticalPath((3,))) == 4


def test_work_between_heads_and_tails() -> None:
    """All devices share the work; the path before and after is added."""
    few = msgspec.structs.replace(FAN, devices=4, duration_ps=(3, 9, 1, 1, 1, 1, 1, 5))
    assert check_placement_witness(few, CrowdedOps(tuple(range(1, 7)))) == 3 + 4 + 5
    assert check_placement_witness(few, CrowdedOps(tuple(range(8)))) == 6


def test_work_within_the_distance() -> None:
    """Six operations behind one are on three devices in a row."""
    crowd = CrowdedOps(tuple(range(1, 7)), centre=0, forth=1)
    assert check_placement_witness(FAN, crowd) == 3 + 8 + 5
    crowd = CrowdedOps(tuple(range(1, 7)), centre=7, back=1)
    assert check_placement_witness(FAN, crowd) == 3 + 8 + 5
    crowd = CrowdedOps(tuple(range(1, 7)), centre=3, back=1, forth=1)
    assert check_placement_witness(FAN, crowd) == 3 + 8 + 5
    crowd = CrowdedOps((3, 4), centre=3, back=1, forth=1)
    assert check_placement_witness(FAN, crowd) == 3 + 4 + 5


def test_some_device_runs_several() -> None:
    """Seven of 4 ps on three devices: one runs three of them."""
    workload = Workload(tuple("abcdefg"), (4,) * 7, (0,) * 7, (), (), (), 3, 0)
    assert check_placement_witness(workload, CrowdedOps(tuple(range(7)))) == 12
    unequal = msgspec.structs.replace(workload, duration_ps=(9, 1, 1, 1, 1, 1, 1))
    assert check_placement_witness(unequal, CrowdedOps(tuple(range(7)))) == 5


def test_paths_before_and_after() -> None:
    """The longest, without the operation itself."""
    before, after = paths_before_and_after(FAN)
    assert before == [0, *[3] * 6, 7]
    assert after == [9, *[5] * 6, 0]


def test_ways_count_edges_each_way() -> None:
    """From one of the six: the first is one back, the last one forth."""
    near = {
        (back, forth): set(near_ops(FAN, 2, back, forth).nonzero()[0].tolist())
        for back, forth in itertools.product(range(2), repeat=2)
    }
    assert near[0, 0] == {2}
    assert near[1, 0] == {0, 2}
    assert near[0, 1] == {2, 7}
    assert near[1, 1] == set(range(8))


def test_memory_that_few_devices_do_not_have() -> None:
    """Eight bytes within the distance of one operation, on three devices of two."""
    crowd = CrowdedOps(tuple(range(7)), centre=0, forth=1)
    assert check_memory_witness(FAN, crowd) == (7, 6)


FALSE = [
    (CriticalPath(()), "no operation"),
    (CriticalPath((0, 7)), "unknown edge"),
    (CriticalPath((3, 0)), "unknown edge"),
    (CriticalPath((0, 8)), "unknown operation"),
    (CriticalPath((0, -1)), "unknown operation"),
    (CriticalPath((3, 3)), "one twice"),
    (CrowdedOps(()), "no operation"),
    (CrowdedOps((1, 1)), "one twice"),
    (CrowdedOps((1, 9)), "unknown operation"),
    (CrowdedOps((1, 2), centre=9, forth=1), "unknown operation"),
    (CrowdedOps((1, 2), centre=1, forth=1), "too far from the centre"),
    (CrowdedOps((0, 7), centre=0, forth=1), "too far from the centre"),
    (CrowdedOps((1, 2), centre=0, back=1), "too far from the centre"),
    (CrowdedOps((1, 2), centre=0, back=-1, forth=1), "invalid number of edges"),
]


@pytest.mark.parametrize(("witness", "words"), FALSE)
def test_false_witnesses_are_refused(
    witness: CriticalPath | CrowdedOps, words: str
) -> None:
    """Each false witness is refused with the reason."""
    with pytest.raises(InputError, match=words):
        check_placement_witness(FAN, witness)


def test_memory_that_suffices_is_no_witness() -> None:
    """All eight operations fit eight devices; without a limit all do."""
    with pytest.raises(InputError, match="the operations fit"):
        check_memory_witness(FAN, CrowdedOps(tuple(range(8))))
    free = msgspec.structs.replace(FAN, device_memory_bytes=None)
    with pytest.raises(InputError, match="no limit"):
        check_memory_witness(free, CrowdedOps((0,)))


@pytest.mark.parametrize("seed", range(12))
def test_no_witness_proves_too_much(seed: int) -> None:
    """Whatever is near whatever: no bound exceeds the shortest makespan there is."""
    workload = random_workload(4, 3 + seed % 3, seed % 2, seed)
    least = shortest_by_search(workload)
    assert least is not None
    for centre, back, forth in itertools.product(range(4), range(3), range(3)):
        near = near_ops(workload, centre, back, forth).nonzero()[0].tolist()
        for size in range(1, len(near) + 1):
            for ops in itertools.combinations(near, size):
                crowd = CrowdedOps(ops, centre, back, forth)
                assert check_placement_witness(workload, crowd) <= least
