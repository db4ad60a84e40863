"""Circuits that a 2D ring keeps for a training, by row and by column."""

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
from lightloom.synth.ring_2d.circuits import grid_circuits

if TYPE_CHECKING:
    from lightloom.core.circuit import Circuits
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.instances.fabrics.ring_2d import Ring2d
    from lightloom.synth.fabrics.training_plug import PlaneCircuits


def _ports(fabric: Ring2d) -> int:
    """Return the nodes in reach along a row at most: devices of a model are there."""
    row, _ = fabric.rings
    return min(row.reach, row.ports_per_node)


def _lasting(fabric: Ring2d, demand: Demand) -> PlaneCircuits:
    def light(ring: Ring, part: Demand) -> Circuits:
        return ring_wavelengths(ring, part).circuits

    return {0: grid_circuits(fabric, demand, light)}


def _estimated(fabric: Ring2d, demand: Demand) -> PlaneCircuits:
    return {0: grid_circuits(fabric, demand, bounded_ring_circuits)}


def _following(fabric: Ring2d, demand: Demand) -> PlaneCircuits:
    def light(ring: Ring, part: Demand) -> Circuits:
        return light_most(lambda rows: quick_ring_circuits(ring, rows), part)

    return {0: grid_circuits(fabric, demand, light)}


def _by_flows(fabric: Ring2d, demand: Demand) -> PlaneCircuits:
    def light(ring: Ring, part: Demand) -> Circuits:
        return light_most(lambda rows: control_ring(ring, rows).circuits, part)

    return {0: grid_circuits(fabric, demand, light)}


def _period_ps(fabric: Ring2d) -> int:
    del fabric
    return RING_PERIOD_PS


CIRCUITS = TrainingCircuits(
    *(_ports, _lasting, _estimated, _following, _period_ps),
    {FLOW_HEURISTIC: _by_flows},
)
