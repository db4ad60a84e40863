"""Bounds on placements: what witnesses prove, stored or not, and which prove none."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import msgspec
import pytest

from lightloom.core.errors import InputError
from lightloom.core.task import Workload
from lightloom.problems import PROBLEMS
from lightloom.validate.certificates.makespan import (
    AFTER,
    BEFORE,
    NOWHERE,
    Case,
    CriticalPath,
    CrowdedOps,
    CrowdsInCases,
    PlacementQuestion,
    PlacementWitness,
    check_memory_witness,
    check_placement_witness,
    crowd_ps,
    displacements,
    placement_witness,
    ring_graph,
)
from lightloom.validate.certificates.makespan import (
    CrowdsInCases as Crowds,
)
from lightloom.validate.certificates.witness import NotProvenError
from tests.examples.small_workloads import placing, random_workload, shortest_by_search

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.validate.certificates.makespan import PlacementWitness

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

# The same six and their first and last again, behind the last.
TWICE = Workload(
    tuple("abcdefghijklmno"),
    (3, *[4] * 6, 5, *[4] * 6, 5),
    (0,) * 15,
    (*[0] * 6, *range(1, 7), *[7] * 6, *range(8, 14)),
    (*range(1, 7), *[7] * 6, *range(8, 14), *[14] * 6),
    (8,) * 24,
    8,
    2,
)

# Two that both others hear from, on four devices, at most one further.
SQUARE = Workload(
    tuple("abcd"), (1,) * 4, (0,) * 4, (0, 0, 1, 1), (2, 3, 2, 3), (8,) * 4, 4, 1
)


def test_a_path() -> None:
    """The bound of a path is the sum of its durations."""
    assert check_placement_witness(FAN, CriticalPath((0, 3, 7))) == 12
    assert check_placement_witness(FAN, CriticalPath((3,))) == 4


def _alone(ops: tuple[int, ...], centre: int | None = None, reach: int = 0) -> Crowds:
    """Return the witness of one crowd."""
    return Crowds((CrowdedOps(ops, centre, reach),))


def test_work_between_heads_and_tails() -> None:
    """All devices share the work; the path before and after is added."""
    few = msgspec.structs.replace(FAN, devices=4, duration_ps=(3, 9, 1, 1, 1, 1, 1, 5))
    assert check_placement_witness(few, _alone(tuple(range(1, 7)))) == 3 + 9 + 5
    even = msgspec.structs.replace(FAN, devices=4, duration_ps=(0, *[4] * 6, 5))
    assert check_placement_witness(even, _alone(tuple(range(1, 7)))) == 8 + 5
    assert check_placement_witness(few, _alone(tuple(range(8)))) == 17


def test_work_within_the_distance() -> None:
    """Six operations behind one are on three devices in a row."""
    assert check_placement_witness(FAN, _alone(tuple(range(1, 7)), 0, 1)) == 16
    assert check_placement_witness(FAN, _alone(tuple(range(1, 7)), 7, 1)) == 16
    # From one of the six the others are up to two devices up or down the ring.
    assert check_placement_witness(FAN, _alone(tuple(range(1, 7)), 3, 2)) == 16
    assert check_placement_witness(FAN, _alone((3, 4), 3, 2)) == 12


def test_crowds_one_after_another() -> None:
    """Six on three devices before the last, whose head they raise, and the first."""
    before = CrowdedOps(tuple(range(1, 7)), 7, 1, part=BEFORE)
    assert check_placement_witness(FAN, Crowds((before,))) == 3 + 8 + 5
    after = CrowdedOps(tuple(range(1, 7)), 0, 1, part=AFTER)
    assert check_placement_witness(FAN, Crowds((after,))) == 3 + 8 + 5
    two = TWICE
    crowds = tuple(
        CrowdedOps(tuple(range(hub - 6, hub)), hub, 1, part=BEFORE) for hub in (7, 14)
    )
    assert check_placement_witness(two, Crowds(crowds[:1])) == 3 + 8 + 5 + 4 + 5
    assert check_placement_witness(two, Crowds(crowds)) == 3 + 8 + 5 + 8 + 5


def test_crowds_in_cases() -> None:
    """Of two layers of two, one is on one device, as the other is its neighbour's."""
    known = displacements(ring_graph(SQUARE), 0, 2)
    assert known == {0: (0, 0), 2: (0, 1), 3: (0, 1), 1: (-1, 1)}
    crowds = (
        CrowdedOps((2, 3), 0, 2, 1, AFTER),
        CrowdedOps((0, 1), 0, 2, 3),
        CrowdedOps((2, 3), 0, 2, 4, AFTER),
    )
    cases = (
        Case(0, 0, 1, -1, -1, 2),
        Case(0, 0, 1, 0, 1, 2),
        Case(2, 0, 1, 0, 0, 2),
        Case(2, 0, 1, 1, 1, 2),
    )
    proven = check_placement_witness(SQUARE, Crowds(crowds, cases))
    assert proven == 3 == shortest_by_search(SQUARE)
    for left_out in range(3):
        fewer = crowds[:left_out] + crowds[left_out + 1 :]
        assert check_placement_witness(SQUARE, Crowds(fewer, cases)) == 2


def test_an_empty_case_changes_nothing() -> None:
    """One of two cases may have no places at all: the other is all placements."""
    cases = (Case(0, 1, 2, -2, -9, 2), Case(0, 1, 2, -8, 2, 2))
    crowd = CrowdedOps(tuple(range(1, 7)), 0, 1, 2)
    nowhere = CrowdedOps((), 1, 2, 1, NOWHERE)
    assert check_placement_witness(FAN, Crowds((crowd, nowhere), cases)) == 16
    with pytest.raises(InputError, match="where nothing can be placed"):
        check_placement_witness(FAN, Crowds((CrowdedOps((1, 2), 1, 2, 1),), cases))


def test_some_device_runs_several() -> None:
    """Seven of 4 ps on three devices: one runs three of them."""
    workload = Workload(tuple("abcdefg"), (4,) * 7, (0,) * 7, (), (), (), 3, 0)
    assert check_placement_witness(workload, _alone(tuple(range(7)))) == 12
    unequal = msgspec.structs.replace(workload, duration_ps=(9, 1, 1, 1, 1, 1, 1))
    assert check_placement_witness(unequal, _alone(tuple(range(7)))) == 9
    # Two of three devices run two: 10 + 10 and 9 + 12 at best, or one runs three.
    five = [(0, last, 0) for last in (9, 10, 10, 12, 30)]
    assert crowd_ps(five, 3) == max(30, -(-71 // 3), 9 + 12)


def test_jobs_that_wait_for_each_other() -> None:
    """Three with heads 0, 0, 6 on one device and on two."""
    jobs = [(0, 4, 1), (0, 4, 1), (6, 4, 1)]
    assert crowd_ps(jobs, 1) == 13
    assert crowd_ps(jobs, 2) == 11


def test_ranges_meet() -> None:
    """What lies between two that talk is between their devices, not round the ring."""
    names = tuple("abcd")
    chain = Workload(
        names, (1,) * 4, (0,) * 4, (0, 1, 2, 0), (1, 2, 3, 3), (1,) * 4, 9, 2
    )
    found = displacements(ring_graph(chain), 0, 4)
    assert found == {0: (0, 0), 1: (0, 2), 3: (0, 2), 2: (0, 2)}
    ring = msgspec.structs.replace(chain, devices=3, distance=1)
    assert 2 not in displacements(ring_graph(ring), 0, 4)  # 0, 1, 2, 0 is possible


def test_memory_that_few_devices_do_not_have() -> None:
    """Eight bytes within the distance of one operation, on three devices of two."""
    crowd = CrowdedOps(tuple(range(7)), centre=0, reach=1)
    assert check_memory_witness(FAN, crowd) == (7, 6)


HALVES = (Case(0, 1, 2, -2, 0, 2), Case(0, 1, 2, 1, 2, 2))
ONE = CrowdedOps((1, 2), case=1)
FALSE: list[tuple[PlacementWitness, str]] = [
    (CriticalPath(()), "no operation"),
    (CriticalPath((0, 7)), "unknown edge"),
    (CriticalPath((3, 0)), "unknown edge"),
    (CriticalPath((0, 8)), "unknown operation"),
    (CriticalPath((0, -1)), "unknown operation"),
    (CriticalPath((3, 3)), "one twice"),
    (Crowds(()), "no crowd"),
    (_alone(()), "no operation"),
    (_alone((1, 1)), "one twice"),
    (_alone((1, 9)), "unknown operation"),
    (_alone((1, 2), 9, 1), "unknown operation"),
    (_alone((1, 2), 1, 1), "too far from the centre"),
    (_alone((0, 7), 0, 1), "too far from the centre"),
    (_alone((1, 2), 0, -1), "invalid part or reach"),
    (Crowds((CrowdedOps((1, 2), 0, 1, part=4),)), "invalid part or reach"),
    (Crowds((CrowdedOps((1, 2), part=BEFORE),)), "without a centre"),
    (Crowds((CrowdedOps((1, 2), 0, 1, part=BEFORE),)), "not before the centre"),
    (Crowds((CrowdedOps((1, 2), 7, 1, part=AFTER),)), "not before the centre"),
    (Crowds((CrowdedOps((1, 2), case=1),)), "no undivided case"),
    (Crowds((CrowdedOps((1, 2), case=0),), HALVES), "no undivided case"),
    (Crowds((ONE,), HALVES[:1]), "leave nothing out"),
    (Crowds((ONE,), (HALVES[0], HALVES[0])), "leave nothing out"),
    (Crowds((ONE,), (Case(0, 1, 2, -2, -1, 2), HALVES[1])), "leave nothing out"),
    (Crowds((ONE,), (HALVES[0], Case(0, 1, 2, 1, 1, 2))), "leave nothing out"),
    (Crowds((ONE,), (HALVES[0], Case(0, 1, 3, 1, 2, 2))), "leave nothing out"),
    (Crowds((ONE,), (Case(0, 1, 2, 0, 0, 0), Case(0, 2, 1, 0, 0, 0))), "nothing out"),
    (Crowds((ONE,), (Case(1, 1, 2, -2, 0, 2), HALVES[1])), "invalid parent"),
    (Crowds((ONE,), (Case(0, 7, 0, 0, 0, 0), HALVES[1])), "against a path"),
    (Crowds((CrowdedOps((), 0, 2, 1, NOWHERE),), HALVES), "that have places"),
]


@pytest.mark.parametrize(("witness", "words"), FALSE)
def test_false_witnesses_are_refused(witness: PlacementWitness, words: str) -> None:
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
    for centre, reach in itertools.product(range(4), range(1, 4)):
        near = sorted(displacements(ring_graph(workload), centre, reach))
        for size in range(1, len(near) + 1):
            for ops in itertools.combinations(near, size):
                assert check_placement_witness(
                    workload, _alone(ops, centre, reach)
                ) <= (least)


FORK = Workload(
    ("read", "left", "right"), (2, 3, 4), (1, 1, 1), (0, 0), (1, 2), (8, 8), 4, 1, None
)
"""One operation, then two, on two of four devices."""


_HALVES = (Case(0, 1, 2, -1, 0, 2), Case(0, 1, 2, 1, 1, 2))


@pytest.mark.parametrize(
    "witness",
    [
        CriticalPath((0, 2)),
        CrowdsInCases((CrowdedOps((0, 1, 2)),)),
        CrowdsInCases((CrowdedOps((0,), 1, 1, 2, BEFORE),), _HALVES),
    ],
)
def test_stored_witnesses_prove_what_they_are(witness: PlacementWitness) -> None:
    """Storage loses nothing: exactly the bound is proven."""
    bound = check_placement_witness(FORK, witness)
    kind, told = placement_witness(witness)
    question = PlacementQuestion(FORK)
    question.prove(kind, told, bound)
    with pytest.raises(NotProvenError):
        question.prove(kind, told, bound + 1)


@pytest.mark.parametrize(
    ("kind", "witness"),
    [
        ("critical-path", {}),
        ("critical-path", {"operations": 0}),
        ("critical-path", {"operations": [0, 3]}),
        ("critical-path", {"operations": [1, 2]}),
        ("critical-path", {"operations": [0], "centre": 0}),
        ("crowded-operations", {"operations": [0, 0]}),
        (
            "crowded-operations",
            {"cases": [], "crowds": [[0, 2, -1]], "operations": [[0, 0]]},
        ),
        (
            "crowded-operations",
            {"cases": [], "crowds": [[0, 2, -1, 0]], "operations": [[1, 0]]},
        ),
        (
            "crowded-operations",
            {"cases": [], "crowds": [[0, 2, 1, 1]], "operations": [[0, 2]]},
        ),
        ("crowded-operations", {"cases": [], "crowds": [], "operations": []}),
    ],
)
def test_false_stored_witnesses_are_refused(kind: str, witness: Witness) -> None:
    """No path, operations twice or too far, keys that are missing."""
    with pytest.raises(InputError) as caught:
        PlacementQuestion(FORK).prove(kind, witness, 1)
    assert not isinstance(caught.value, NotProvenError)


@pytest.mark.parametrize("seed", range(5))
def test_bounds_of_instances_hold(seed: int) -> None:
    """No placement is shorter than the bound that the instance alone gives."""
    workload = random_workload(4, 2, 1, seed)
    (best,) = PROBLEMS["placement"].checked_bounds(placing(workload))
    shortest = shortest_by_search(workload)
    assert best.objective == "makespan"
    assert isinstance(best.bound, int)
    assert shortest is None or best.bound <= shortest
