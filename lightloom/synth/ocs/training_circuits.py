"""Circuits that parallel optical switches keep for a training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from lightloom.core.errors import InfeasibleError
from lightloom.core.units import PS_PER_US
from lightloom.replay.workload import ocs_period_ps
from lightloom.synth.demand_subsets import largest_pairs, most_partners
from lightloom.synth.fabrics.training_plug import TrainingCircuits
from lightloom.synth.ocs.switch_circuits import switch_circuits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.ocs import Ocs
    from lightloom.synth.fabrics.training_plug import PlaneCircuits


def _ports(fabric: Ocs) -> int:
    return fabric.switches


def _lasting(fabric: Ocs, demand: Demand) -> PlaneCircuits:
    plan = switch_circuits(fabric, demand)
    if plan.ratio == 0:
        raise InfeasibleError(
            "a node has more partners than there are switches",
            where="traffic of the iteration",
            found=most_partners(demand),
            allowed=f"{fabric.switches} partners",
            fix="share the model between fewer devices, or add switches",
        )
    return dict(enumerate(plan.switches))


def _following(fabric: Ocs, demand: Demand) -> PlaneCircuits:
    return _lasting(fabric, largest_pairs(demand, fabric.switches))


def _period_ps(fabric: Ocs) -> int:
    return ocs_period_ps(fabric) or PS_PER_US


def _coarser(fabric: Ocs, demand: Demand) -> Iterator[PlaneCircuits]:
    """Yield circuits of fewer switches, each of them held by several."""
    least = most_partners(demand)
    for fewer in range(least, fabric.switches):
        if fabric.switches % fewer == 0:
            small = replace(fabric, switches=fewer)
            held = switch_circuits(small, demand).switches
            yield {plane: held[plane % fewer] for plane in range(fabric.switches)}


CIRCUITS = TrainingCircuits(
    *(_ports, _lasting, _lasting, _following, _period_ps), coarser=_coarser
)
