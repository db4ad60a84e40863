"""Switches by counting: exhaustive search = model = the threshold algorithm."""

from __future__ import annotations

import pytest

from lightloom.core.errors import InfeasibleError
from lightloom.core.outcome import Reason
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.models.ocs import build, decode, objective
from lightloom.solvers import run
from lightloom.synth.ocs.switch_circuits import ocs_schedule, switch_circuits
from lightloom.validate import verify
from lightloom.validate.certificates.circuits_per_byte import check_saturated_port
from tests.examples.small_demands import best_of_switches, random_demand, threshold

SIZES = (1, 2, 3, 5, 8, 13)


def _switches(nodes: int, switches: int) -> Ocs:
    return Ocs(nodes=nodes, switches=switches, bits_per_second_per_node=10**12)


@pytest.mark.parametrize("seed", range(40))
def test_counting_meets_the_exhaustive_search(seed: int) -> None:
    """Over every state of every switch nothing serves the slowest pair better."""
    nodes, switches = 3 + seed % 2, 2 + seed % 3
    fabric = _switches(nodes, switches)
    instance = random_demand(fabric, 3 + seed % 4, seed, SIZES)
    demand = instance.communication
    assert isinstance(demand, Demand)
    plan = switch_circuits(fabric, demand)
    assert plan.witness is not None
    check_saturated_port(fabric, demand, plan.witness)
    assert (plan.ratio or None) == best_of_switches(instance, fabric)
    assert (plan.ratio or None) == threshold(instance, switches)
    if plan.ratio:
        assert verify(ocs_schedule(fabric, plan)).violations == ()


@pytest.mark.parametrize("seed", range(12))
def test_counting_meets_the_model(seed: int) -> None:
    """The solver's optimum is the certified one, infeasible where that is 0."""
    fabric = _switches(5 + seed % 3, 4 + seed % 3)
    instance = random_demand(fabric, 9 + seed, 100 + seed, SIZES)
    demand = instance.communication
    assert isinstance(demand, Demand)
    plan = switch_circuits(fabric, demand)
    try:
        model = build(instance)
    except InfeasibleError:
        assert plan.ratio == 0
        return
    assert run(model, "cp-sat").reason is Reason.PROVEN_OPTIMAL
    assert objective(decode(model)) == plan.ratio
