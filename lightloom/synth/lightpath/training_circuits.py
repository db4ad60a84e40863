"""Circuits that a LIGHTPATH rack keeps for a training."""

from __future__ import annotations

import heapq
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.units import PS_PER_US
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.replay.workload import ocs_period_ps
from lightloom.routing.graph import capacity_by_id
from lightloom.routing.minimum_congestion import minimum_congestion
from lightloom.routing.routes import dimension_ordered
from lightloom.synth.demand_columns import demand_columns
from lightloom.synth.demand_subsets import largest_pairs, light_most, most_partners
from lightloom.synth.fabrics.training_plug import TrainingCircuits
from lightloom.synth.ocs.switch_circuits import switch_circuits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
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


class LitTiles:
    """Lasers, photodiodes and waveguides of a rack, lit route by route."""

    def __init__(self, fabric: Lightpath) -> None:
        self._fabric = fabric
        width = capacity_by_id(fabric, fabric.edge_waveguides(*fabric.edges()))
        self._room = np.repeat(width[:, None], fabric.lasers, axis=1)
        self._free = np.ones((2, fabric.node_count, fabric.lasers), dtype=np.bool_)
        self._lit: dict[tuple[int, ...], list[int]] = {}

    def light(self, route: Sequence[int], wavelength: int) -> None:
        """Light a route on a wavelength that is free there.

        `wavelength`: from 0 to lasers - 1; free at both ends and on every edge between.
        """
        edges = self._edges(route)
        self._room[edges, wavelength] -= 1
        ends = (0, 1), (route[0], route[-1]), wavelength
        assert self._free[ends].all()
        assert (self._room[edges, wavelength] >= 0).all()
        self._free[ends] = False
        self._lit.setdefault(tuple(route), []).append(wavelength)

    def fill(self, src: IntArray, dst: IntArray, size_bytes: IntArray) -> None:
        """Give what is free to the pair with the least circuits a byte, and so on.

        A pair for which nothing is free on the routes it may take, those that it has
        and those that turn once, gets none later.
        """
        routes = self._routes(src, dst)
        count = [sum(len(self._lit.get(route, ())) for route in own) for own in routes]
        sizes = size_bytes.tolist()
        queue = [
            (Fraction(has, size), pair)
            for pair, (has, size) in enumerate(zip(count, sizes, strict=True))
        ]
        heapq.heapify(queue)
        while queue:
            pair = queue[0][1]
            if self._light_more(routes[pair]):
                count[pair] += 1
                ratio = Fraction(count[pair], sizes[pair])
                heapq.heapreplace(queue, (ratio, pair))
            else:
                heapq.heappop(queue)

    def circuits(self) -> Circuits:
        """Return what is lit, one row a route, sorted."""
        routes = sorted(self._lit)
        return Circuits(
            np.array([route[0] for route in routes], dtype=np.int64),
            np.array([route[-1] for route in routes], dtype=np.int64),
            Ragged.from_lists([sorted(self._lit[route]) for route in routes]),
            Ragged.from_lists([list(route) for route in routes]),
        )

    def _routes(self, src: IntArray, dst: IntArray) -> list[list[tuple[int, ...]]]:
        """Return the routes that each pair may take, those it has first."""
        own: dict[tuple[int, int], list[tuple[int, ...]]] = {}
        for route in self._lit:
            own.setdefault((route[0], route[-1]), []).append(route)
        pairs = zip(src.tolist(), dst.tolist(), strict=True)
        found = [own.get(pair, []) for pair in pairs]
        for first in ("row", "column"):
            turning = dimension_ordered(self._fabric, src, dst, first=first)
            for routes, tiles in zip(found, turning.to_lists(), strict=True):
                if tuple(tiles) not in routes:
                    routes.append(tuple(tiles))
        return found

    def _light_more(self, routes: list[tuple[int, ...]]) -> bool:
        """Light one more circuit where there is most room left, if there is any."""
        src, dst = routes[0][0], routes[0][-1]
        free = self._free[0, src] & self._free[1, dst]
        left = np.stack([self._room[self._edges(each)].min(axis=0) for each in routes])
        left *= free
        best = int(left.argmax())
        if left.flat[best] < 1:
            return False
        which, wavelength = divmod(best, self._fabric.lasers)
        self.light(routes[which], wavelength)
        return True

    def _edges(self, route: Sequence[int]) -> IntArray:
        tiles = np.array(route, dtype=np.int64)
        return self._fabric.edge_ids(tiles[:-1], tiles[1:])
