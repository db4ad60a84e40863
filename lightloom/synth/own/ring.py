"""Wavelengths of a ring, by levels and arc colouring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ring import Ring
from lightloom.synth.own import OwnAlgorithm, OwnAnswer
from lightloom.synth.ring.wavelengths import ring_schedule, ring_wavelengths

if TYPE_CHECKING:
    from lightloom.instances.instance import Instance


def solve(instance: Instance, seed: int) -> OwnAnswer:
    """Return the wavelengths a byte of the slowest pair, with its bound."""
    fabric, demand = instance.fabric, instance.task
    if not isinstance(fabric, Ring) or not isinstance(demand, Demand):
        what = "wavelengths of a ring serve a demand on a fabric of kind ring"
        raise InputError(what, where=instance.name, found=fabric.kind)
    plan = ring_wavelengths(fabric, demand, seed=seed)
    schedule = ring_schedule(fabric, plan)
    if plan.ratio is None:
        return OwnAnswer(0, 0, ("nothing to serve",), schedule)
    return OwnAnswer(plan.ratio, plan.bound, (f"bound by {plan.witness}",), schedule)


OWN = OwnAlgorithm("ring", "wavelengths per byte of the slowest pair", solve)
