"""The problem of circuits of parallel switches: SiP-ML paper, appendix A.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lightloom.core.errors import InputError
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.problems.problem import (
    Formulation,
    Problem,
    ProblemAnswer,
    asked_of,
    refuse_relays,
)
from lightloom.synth.ocs.switch_circuits import (
    ocs_schedule,
    port_certificates,
    switch_circuits,
)
from lightloom.validate.certificates.circuits_per_byte import (
    OBJECTIVE,
    PortsQuestion,
)

if TYPE_CHECKING:
    from lightloom.core.certificate import Certificate
    from lightloom.instances.instance import Instance


def question(instance: Instance) -> PortsQuestion:
    """Return the switches and the demand."""
    fabric, demand = instance.fabric, instance.task
    if not isinstance(fabric, Ocs) or not isinstance(demand, Demand):
        what = "circuits of switches serve a demand on a fabric of kind ocs"
        raise InputError(what, where=instance.name, found=asked_of(instance))
    refuse_relays(instance.name, demand)
    return PortsQuestion(fabric, demand)


def solve(instance: Instance, seed: int) -> ProblemAnswer:
    """Return the circuits a byte of the slowest pair, by counting and edge colouring.

    The bound is the saturated port.
    """
    del seed
    asked = question(instance)
    plan = switch_circuits(asked.fabric, asked.demand)
    schedule = ocs_schedule(asked.fabric, plan)
    if plan.ratio is None or plan.witness is None:
        return ProblemAnswer(0, 0, ("nothing to serve",), lambda: schedule, ())
    return ProblemAnswer(
        plan.ratio,
        plan.witness.ratio,
        (f"{plan.witness.side} of node {plan.witness.node} is saturated",),
        lambda: schedule,
        port_certificates(plan),
    )


def bounds(asked: PortsQuestion, seed: int) -> tuple[Certificate, ...]:
    """Return the most crowded port, whichever way circuits run."""
    del seed
    # What circuits in one direction cannot do, bidirectional ones cannot either.
    one_way = msgspec.structs.replace(asked.fabric, bidirectional=False)
    return port_certificates(switch_circuits(one_way, asked.demand, spare=False))


def _formulation() -> Formulation:
    from lightloom.models import ocs

    return Formulation(ocs.build, ocs.decode, ocs.objective, ocs.size, ocs.schedule)


PROBLEM = Problem(
    name="ocs",
    summary="circuits of parallel switches, slowest pair fastest (SiP-ML, A.2)",
    sense="maximise",
    unit="circuits per byte of the slowest pair",
    fabric=Ocs,
    tasks=(Demand,),
    question=question,
    solve=solve,
    bounds=bounds,
    formulation=_formulation,
    variants=(
        ("statement", "`levels`: integers only, exact; or `ratio`, as printed"),
        ("pinned", "pin the order of the switches"),
    ),
    schedule_objective=OBJECTIVE.name,
)
