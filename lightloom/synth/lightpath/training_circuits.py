"""Circuits that a LIGHTPATH rack keeps for a training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.units import PS_PER_US
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.replay.workload import ocs_period_ps
from lightloom.routing.minimum_congestion import minimum_congestion
from lightloom.synth.demand_columns import demand_columns
from lightloom.synth.demand_subsets import largest_pairs, light_most, most_partners
from lightloom.synth.fabrics.training_plug import TrainingCircuits
from lightloom.synth.lightpath.tile_wavelengths import LitTiles
from lightloom.synth.ocs.switch_circuits import switch_circuits

if TYPE_CHECKING:
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.synth.fabrics.training_plug import PlaneCircuits


def _ports(fabric: Lightpath) -> int:
    return max(1, fabric.lasers)


def _lasting(fabric: Lightpath, demand: Demand) -> PlaneCircuits:
    """Return circuits that are optimal wherever waveguides do not limit them.

    Where they do, every pair gets a circuit, and what is left goes to the pairs with
    the least circuits a byte.
    """
    lanes = _lanes(fabric, demand)
    capacity = fabric.edge_waveguides(*fabric.edges())
    tiles = LitTiles(fabric)
    for wavelength, lane in enumerate(lanes):
        routing = minimum_congestion(fabric, lane.src, lane.dst, capacity=capacity)
        if routing.congestion > 1:
            return {0: _one_each(fabric, demand, capacity)}
        for route in routing.route.to_lists():
            tiles.light(route, wavelength)
    return {0: tiles.circuits()}


def _estimated(fabric: Lightpath, demand: Demand) -> PlaneCircuits:
    """Return circuits as if waveguides were plenty, on no routes."""
    lanes = _lanes(fabric, demand)
    src, dst, lit = (
        np.concatenate(each)
        for each in (
            [lane.src for lane in lanes],
            [lane.dst for lane in lanes],
            [np.full(len(lane), number) for number, lane in enumerate(lanes)],
        )
    )
    return {0: Circuits(src, dst, Ragged.from_lengths(np.ones_like(lit), lit))}


def _following(fabric: Lightpath, demand: Demand) -> PlaneCircuits:
    asked = largest_pairs(demand, fabric.lasers)
    return light_most(lambda rows: _lasting(fabric, rows), asked)


def _period_ps(fabric: Lightpath) -> int:
    return ocs_period_ps(fabric) or PS_PER_US


def _lanes(fabric: Lightpath, demand: Demand) -> tuple[Circuits, ...]:
    """Return the pairs of each wavelength, as if waveguides were plenty.

    Then a rack is nothing but a switch a wavelength.
    """
    plan = None
    if fabric.lasers:
        switches = Ocs(
            nodes=fabric.node_count,
            switches=fabric.lasers,
            bits_per_second_per_node=fabric.node_bits_per_s,
        )
        plan = switch_circuits(switches, demand)
    if plan is None or plan.ratio == 0:
        raise InfeasibleError(
            "a tile has more partners than lasers",
            where="traffic of the iteration",
            found=most_partners(demand),
            allowed=f"{fabric.lasers} partners",
            fix="share the model between fewer devices, or add lasers",
        )
    return plan.switches


def _one_each(fabric: Lightpath, demand: Demand, capacity: np.ndarray) -> Circuits:
    """Return a circuit for each pair, and what waveguides allow beside."""
    from lightloom.routing.wavelength_assignment import lit_routes  # loads Pyomo

    src, dst, size_bytes = demand_columns(demand, fabric.node_count)
    room = capacity * fabric.lasers
    routing = minimum_congestion(fabric, src, dst, capacity=room)
    try:
        lit = lit_routes(fabric, routing.route, seed=0)
    except NoAnswerError as problem:
        raise NoAnswerError(
            "no routes and wavelengths found that serve all pairs at once",
            where="traffic of the iteration",
            found=f"{len(src)} pairs; {problem.found}",
            allowed=problem.allowed,
            fix="more waveguides or lasers, or fewer devices that share the model",
        ) from problem
    tiles = LitTiles(fabric)
    for route, wavelength in zip(
        lit.lists("route").to_lists(),
        lit.lists("wavelengths").values.tolist(),
        strict=True,
    ):
        tiles.light(route, wavelength)
    tiles.fill(src, dst, size_bytes)
    return tiles.circuits()


CIRCUITS = TrainingCircuits(_ports, _lasting, _estimated, _following, _period_ps)
