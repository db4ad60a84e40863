"""Bounds of placements as stored witnesses: the same proofs, strictly read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lightloom.core.errors import InputError
from lightloom.core.task import Workload
from lightloom.problems import PROBLEMS
from lightloom.validate.certificates.makespan import (
    BEFORE,
    Case,
    CriticalPath,
    CrowdedOps,
    CrowdsInCases,
    PlacementQuestion,
    check_placement_witness,
    placement_witness,
)
from lightloom.validate.certificates.witness import NotProvenError
from tests.examples.small_workloads import placing, random_workload, shortest_by_search

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.validate.certificates.makespan import (
        PlacementWitness,
    )

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
def test_false_witnesses_are_refused(kind: str, witness: Witness) -> None:
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
