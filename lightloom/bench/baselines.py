"""What our algorithms are measured beside: other ways to answer, for suites.

Each is called with an instance and a seed, as `module:function` in a suite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.core.task import Demand, Workload
from lightloom.instances.fabrics.ring import Ring
from lightloom.problems import ProblemAnswer
from lightloom.validate.placement import check_placement

if TYPE_CHECKING:
    from lightloom.instances.instance import Instance


def divide_and_conquer(instance: Instance, seed: int) -> ProblemAnswer:
    """Return the rounds of section 3.2 of the LUMORPH paper."""
    from lightloom.problems.fewest_rounds.few_rounds import METHODS, few_rounds

    found = few_rounds(instance, method=METHODS[1], seed=seed)
    certificates = (found.bound.certificate,)
    return ProblemAnswer(
        found.rounds, found.bound.rounds, (), found.schedule, certificates
    )


def ring_controller(instance: Instance, seed: int) -> ProblemAnswer:
    """Return the circuits that the flow heuristic of SiP-ML (A.1) sets."""
    from lightloom.synth.ring.flow_heuristic import control_ring
    from lightloom.synth.ring.wavelengths import ring_schedule

    fabric, demand = instance.fabric, instance.task
    if not isinstance(fabric, Ring) or not isinstance(demand, Demand):
        what = "the controller serves a demand on a fabric of kind ring"
        raise InputError(what, where=instance.name, found=fabric.kind)
    plan = control_ring(fabric, demand, seed=seed)
    return ProblemAnswer(plan.ratio or 0, None, (), lambda: ring_schedule(fabric, plan))


def algorithm_one(instance: Instance, seed: int) -> ProblemAnswer:
    """Return the makespan of SiP-ML's Algorithm 1 with its repair."""
    from lightloom.training.placement.operation_graph import op_graph
    from lightloom.training.placement.sipml_algorithm_1 import algorithm_one as place

    del seed
    if not isinstance(instance.task, Workload):
        raise InputError("not a workload", where=instance.name)
    placement = place(op_graph(instance.task)).placement
    for violation in check_placement(placement):
        raise InputError(str(violation), where=instance.name)
    return ProblemAnswer(placement.makespan_ps, None, (), None)
