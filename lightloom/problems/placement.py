"""The problem of placing operations on devices: SiP-ML paper, section 3.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.certificate import Certificate
from lightloom.core.errors import InputError
from lightloom.core.task import Workload
from lightloom.core.training import Training
from lightloom.problems.problem import (
    Formulation,
    Problem,
    ProblemAnswer,
    WrongAnswerError,
)
from lightloom.training.fabric_networks import ports_of
from lightloom.training.node_layout import layout
from lightloom.training.placement.makespan_bounds import (
    best_witness,
    refuse_unplaceable,
)
from lightloom.training.placement.operation_graph import op_graph
from lightloom.training.placement.placement_search import place_operations
from lightloom.training.replica import cut_replica
from lightloom.training.strategy import Strategy
from lightloom.validate.certificates.makespan import (
    OBJECTIVE,
    PlacementQuestion,
    placement_witness,
)
from lightloom.validate.placement import check_placement

if TYPE_CHECKING:
    from lightloom.core.placement import Placement
    from lightloom.instances.instance import Instance
    from lightloom.validate.certificates.makespan import (
        PlacementWitness,
    )


def question(instance: Instance) -> PlacementQuestion:
    """Return the workload; a model to train is cut for the whole fabric first."""
    task, fabric = instance.task, instance.fabric
    if isinstance(task, Training):
        ports = ports_of(fabric)
        # Raises where one replica cannot stand on all nodes.
        layout(fabric, Strategy(fabric.node_count, 1, task.batch_size))
        split = cut_replica(task, task.batch_size, fabric.node_count, ports=ports)
        return PlacementQuestion(split.workload)
    if not isinstance(task, Workload):
        what = "operations are placed, nothing else"
        fix = "give a [workload] or a [computation]"
        raise InputError(what, where=instance.name, fix=fix)
    return PlacementQuestion(task)


def solve(instance: Instance, seed: int) -> ProblemAnswer:
    """Return a placement by lists and moves; a path or a crowd bounds its makespan."""
    workload = question(instance).workload
    plan = place_operations(workload, seed=seed)
    placement = plan.placement
    used = len(set(placement.device.tolist()))
    out, into = placement.degrees
    detail = (
        f"made by {plan.method}",
        f"bound by {plan.witness}",
        f"{used} of {workload.devices} devices used",
        f"a device sends to {out} others at most, and receives from {into}",
    )
    certificates = (_certificate(plan.bound_ps, plan.witness),)
    return ProblemAnswer(
        placement.makespan_ps, plan.bound_ps, detail, None, certificates, placement
    )


def bounds(asked: PlacementQuestion, seed: int) -> tuple[Certificate, ...]:
    """Return the longest path, or crowds that follow each other, in cases."""
    del seed
    graph = op_graph(asked.workload)
    refuse_unplaceable(graph)
    return (_certificate(*best_witness(graph)),)


def measure(instance: Instance, found: Placement) -> int:
    """Return the makespan of a placement that keeps to every rule.

    Raises `WrongAnswerError` if it breaks a rule; the message names the first.
    """
    if isinstance(instance.task, Workload) and found.workload != instance.task:
        message = "the placement is of another workload"
        raise WrongAnswerError(message)
    for violation in check_placement(found):
        message = f"{violation.rule}: {violation.message}"
        raise WrongAnswerError(message)
    return found.makespan_ps


def _certificate(bound_ps: int, witness: PlacementWitness) -> Certificate:
    kind, told = placement_witness(witness)
    return Certificate(OBJECTIVE.name, kind, bound_ps, None, told)


def _formulation() -> Formulation:
    from lightloom.models import placement

    return Formulation(
        placement.build, placement.decode, placement.objective, placement.size
    )


PROBLEM = Problem(
    name="placement",
    summary="operations on a ring of devices, soonest done (SiP-ML, section 3.2)",
    sense="minimise",
    unit="ps",
    tasks=(Workload, Training),
    question=question,
    solve=solve,
    bounds=bounds,
    formulation=_formulation,
    variants=(("pinned", "pin the first operation to device 0"),),
    measure=measure,
)
