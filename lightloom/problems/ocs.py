"""Circuits of parallel switches, by counting and edge colouring."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lightloom.core.errors import InputError
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.problems import OwnAlgorithm, OwnAnswer, ProblemBounds, asked_of
from lightloom.synth.ocs.switch_circuits import (
    ocs_schedule,
    port_certificates,
    switch_circuits,
)
from lightloom.validate.certificates.circuits_per_byte import (
    PortsQuestion,
)

if TYPE_CHECKING:
    from lightloom.instances.instance import Instance


def solve(instance: Instance, seed: int) -> OwnAnswer:
    """Return the circuits a byte of the slowest pair, with the saturated port."""
    del seed
    fabric, demand = _question(instance)
    plan = switch_circuits(fabric, demand)
    schedule = ocs_schedule(fabric, plan)
    if plan.ratio is None or plan.witness is None:
        return OwnAnswer(0, 0, ("nothing to serve",), lambda: schedule)
    port = f"{plan.witness.side} of node {plan.witness.node} is saturated"
    return OwnAnswer(
        plan.ratio,
        plan.witness.ratio,
        (port,),
        lambda: schedule,
        port_certificates(plan),
    )


def bounds(instance: Instance, seed: int) -> ProblemBounds:
    """Return the most crowded port, whichever way circuits run."""
    del seed
    fabric, demand = _question(instance)
    # What circuits in one direction cannot do, bidirectional ones cannot either.
    one_way = msgspec.structs.replace(fabric, bidirectional=False)
    plan = switch_circuits(one_way, demand, spare=False)
    return ProblemBounds(PortsQuestion(fabric, demand), port_certificates(plan))


def _question(instance: Instance) -> tuple[Ocs, Demand]:
    fabric, demand = instance.fabric, instance.task
    if not isinstance(fabric, Ocs) or not isinstance(demand, Demand):
        what = "circuits of switches serve a demand on a fabric of kind ocs"
        raise InputError(what, where=instance.name, found=asked_of(instance))
    return fabric, demand


OWN = OwnAlgorithm(
    "ocs", "circuits per byte of the slowest pair", solve, bounds, largest=True
)
