"""Operations on a ring of devices, by list placement and moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.certificate import Certificate
from lightloom.core.errors import InputError
from lightloom.core.task import Workload
from lightloom.core.training import Training
from lightloom.problems import OwnAlgorithm, OwnAnswer, ProblemBounds
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

if TYPE_CHECKING:
    from lightloom.instances.instance import Instance


def solve(instance: Instance, seed: int) -> OwnAnswer:
    """Return the makespan of a placement, with the path or crowd that bounds it."""
    workload = _question(instance)
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
    return OwnAnswer(placement.makespan_ps, plan.bound_ps, detail, None)


def bounds(instance: Instance, seed: int) -> ProblemBounds:
    """Return the longest path, or the operations that are most crowded."""
    del seed
    workload = _question(instance)
    graph = op_graph(workload)
    refuse_unplaceable(graph)
    bound_ps, witness = best_witness(graph)
    kind, told = placement_witness(witness)
    certificate = Certificate(OBJECTIVE.name, kind, bound_ps, None, told)
    return ProblemBounds(PlacementQuestion(workload), (certificate,))


def _question(instance: Instance) -> Workload:
    """Return the workload of an instance; a model is cut for the whole fabric first."""
    task, fabric = instance.task, instance.fabric
    if isinstance(task, Training):
        ports = ports_of(fabric)
        # Raises where one replica cannot stand on all nodes.
        layout(fabric, Strategy(fabric.node_count, 1, task.batch_size))
        split = cut_replica(task, task.batch_size, fabric.node_count, ports=ports)
        return split.workload
    if not isinstance(task, Workload):
        what, fix = (
            "operations are placed, nothing else",
            "give a [workload] or a [computation]",
        )
        raise InputError(what, where=instance.name, fix=fix)
    return task


OWN = OwnAlgorithm("placement", "ps", solve, bounds)
