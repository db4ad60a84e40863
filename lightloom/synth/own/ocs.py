"""Circuits of parallel switches, by counting and edge colouring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.synth.ocs.switches import ocs_schedule, switch_circuits
from lightloom.synth.own import OwnAlgorithm, OwnAnswer

if TYPE_CHECKING:
    from lightloom.instances.instance import Instance


def solve(instance: Instance, seed: int) -> OwnAnswer:
    """Return the circuits a byte of the slowest pair, with the saturated port."""
    del seed
    fabric, demand = instance.fabric, instance.task
    if not isinstance(fabric, Ocs) or not isinstance(demand, Demand):
        what = "circuits of switches serve a demand on a fabric of kind ocs"
        raise InputError(what, where=instance.name, found=fabric.kind)
    plan = switch_circuits(fabric, demand)
    schedule = ocs_schedule(fabric, plan)
    if plan.ratio is None or plan.witness is None:
        return OwnAnswer(0, 0, ("nothing to serve",), schedule)
    port = f"{plan.witness.side} of node {plan.witness.node} is saturated"
    return OwnAnswer(plan.ratio, plan.witness.ratio, (port,), schedule)


OWN = OwnAlgorithm("ocs", "circuits per byte of the slowest pair", solve)
