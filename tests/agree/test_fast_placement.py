"""Placement: bound <= exact <= heuristic, by exhaustive search and by the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.outcome import Reason
from lightloom.models.placement import build, decode
from lightloom.solvers import run
from lightloom.training.placement.makespan_bounds import best_witness
from lightloom.training.placement.operation_graph import op_graph
from lightloom.training.placement.placement_search import place_operations
from lightloom.training.placement.sipml_algorithm_1 import algorithm_one
from lightloom.validate.certificates.makespan import check_placement_witness
from lightloom.validate.placement import check_placement
from tests.examples.layered_workloads import layered_workload
from tests.examples.small_workloads import (
    placing,
    random_workload,
    shortest_by_search,
)

if TYPE_CHECKING:
    from lightloom.core.task import Workload

SMALL = [
    (ops, devices, distance, memory, seed)
    for seed, (ops, devices, distance, memory) in enumerate(
        (ops, devices, distance, memory)
        for ops in (1, 3, 4, 5)
        for devices in (1, 2, 4)
        for distance in (0, 1, 2)
        for memory in (None, 5, 9)
    )
]


@pytest.mark.parametrize(("ops", "devices", "distance", "memory", "seed"), SMALL)
def test_small_workloads(
    ops: int, devices: int, distance: int, memory: int | None, seed: int
) -> None:
    """Nothing is called impossible that is not; the rest is between bound and best.

    Where memory is tight a placement may be missed, which is said and not claimed.
    """
    workload = random_workload(ops, devices, distance, seed, most_memory=memory)
    least = shortest_by_search(workload)
    try:
        plan = place_operations(workload, seed=0, effort_percent=10)
    except InfeasibleError:
        assert least is None
        return
    except NoAnswerError:
        assert memory is not None
        return
    assert least is not None
    assert not list(check_placement(plan.placement))
    assert check_placement_witness(workload, plan.witness) == plan.bound_ps
    assert plan.bound_ps <= least <= plan.placement.makespan_ps
    assert plan.placement.makespan_ps <= 1.1 * least


LARGER = [(3, 4, 4, 1, 0), (3, 4, 4, 2, 1), (4, 3, 5, 1, 2), (3, 5, 6, 2, 3)]


@pytest.mark.parametrize(("depth", "width", "devices", "distance", "seed"), LARGER)
def test_within_a_tenth_of_the_model(
    depth: int, width: int, devices: int, distance: int, seed: int
) -> None:
    """CP-SAT proves its optimum; Algorithm 1 is never better than it either."""
    workload = layered_workload(depth, width, devices, distance, seed)
    best = _optimum(workload)
    plan = place_operations(workload, seed=0, effort_percent=30)
    assert plan.bound_ps <= best <= plan.placement.makespan_ps <= 1.1 * best
    answer = algorithm_one(op_graph(workload))
    assert not list(check_placement(answer.placement))
    assert answer.placement.makespan_ps >= best


def _optimum(workload: Workload) -> int:
    """Return the least makespan, as CP-SAT proves it."""
    model = build(placing(workload), pinned=True)
    outcome = run(model, "cp-sat")
    assert outcome.reason is Reason.PROVEN_OPTIMAL
    return decode(model).makespan_ps


@settings(max_examples=40)
@given(st.integers(2, 6), st.integers(2, 5), st.integers(0, 3), st.integers(0, 10**6))
def test_cases_never_prove_too_much(
    ops: int, devices: int, distance: int, seed: int
) -> None:
    """The bound by cases is between the one without them and the shortest makespan."""
    workload = random_workload(ops, min(devices, 9 - ops), distance, seed)
    least = shortest_by_search(workload)
    assert least is not None
    graph = op_graph(workload)
    plain, _ = best_witness(graph, cases_percent=0)
    bound, witness = best_witness(graph, cases_percent=20)
    assert plain <= bound <= least
    assert check_placement_witness(workload, witness) == bound
