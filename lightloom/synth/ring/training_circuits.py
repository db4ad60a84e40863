"""Circuits that a ring keeps for a training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.replay.workload import RING_PERIOD_PS
from lightloom.synth.demand_subsets import light_most
from lightloom.synth.fabrics.training_plug import TrainingCircuits
from lightloom.synth.ring.flow_heuristic import FLOW_HEURISTIC, control_ring
from lightloom.synth.ring.quick_circuits import (
    bounded_ring_circuits,
    quick_ring_circuits,
)
from lightloom.synth.ring.wavelengths import ring_wavelengths

if TYPE_CHECKING:
    from lightloom.core.circuit import Circuits
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.synth.fabrics.training_plug import PlaneCircuits


def _ports(fabric: Ring) -> int:
    """Return the nodes in reach at most (SiP-ML's degree of 16)."""
    return min(fabric.reach, fabric.ports_per_node)


def _lasting(fabric: Ring, demand: Demand) -> PlaneCircuits:
    return {0: ring_wavelengths(fabric, demand).circuits}


def _estimated(fabric: Ring, demand: Demand) -> PlaneCircuits:
    return {0: bounded_ring_circuits(fabric, demand)}


def _following(fabric: Ring, demand: Demand) -> PlaneCircuits:
    return {0: light_most(lambda rows: quick_ring_circuits(fabric, rows), demand)}


def _by_flows(fabric: Ring, demand: Demand) -> PlaneCircuits:
    def light(rows: Demand) -> Circuits:
        return control_ring(fabric, rows).circuits

    return {0: light_most(light, demand)}


def _period_ps(fabric: Ring) -> int:
    del fabric
    return RING_PERIOD_PS


CIRCUITS = TrainingCircuits(
    *(_ports, _lasting, _estimated, _following, _period_ps),
    {FLOW_HEURISTIC: _by_flows},
)
