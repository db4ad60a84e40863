"""Divisions of a demand where waveguides are few: edges limit pairs as nodes do."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.routing.bent_routes import bent_routes
from lightloom.routing.congestion import capacity_by_id
from lightloom.synth.demand_configurations.least_durations import durations_of_counts
from lightloom.synth.demand_configurations.lines import routed_lines
from lightloom.synth.demand_configurations.lit_division import LitDivision
from lightloom.synth.demand_configurations.search import Division
from lightloom.synth.lightpath.wavelength_ejection import LightPathPlacement

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.routing.bent_routes import Route
    from lightloom.synth.demand_configurations.lines import Lines

__all__ = ["FewWaveguides"]


class FewWaveguides:
    """Routes and wavelengths for the divisions of one demand.

    Parameters
    ----------
    fabric
        The rack.
    src, dst
        Ends of each pair, shape (pairs,).
    lines
        What nodes send and receive.
    """

    def __init__(
        self, fabric: Lightpath, src: IntArray, dst: IntArray, lines: Lines
    ) -> None:
        self._fabric, self._ends = fabric, np.stack([src, dst], axis=1)
        self._node_lines = lines

    @cached_property
    def _routes(self) -> list[list[tuple[Route, IntArray]]]:
        """Routes that each pair may take, with their edges, none of them closed."""
        width = self._width
        found = []
        for src, dst in self._ends.tolist():
            routes = []
            for route in bent_routes(self._fabric, src, dst):
                tiles = np.array(route, dtype=np.int64)
                edges = self._fabric.edge_ids(tiles[:-1], tiles[1:])
                if width[edges].all():
                    routes.append((route, edges))
            found.append(routes)
        return found

    @cached_property
    def _width(self) -> IntArray:
        fabric = self._fabric
        return capacity_by_id(fabric, fabric.edge_waveguides(*fabric.edges()))

    @cached_property
    def lines(self) -> Lines | None:
        """The lines of nodes, and of the edges that pairs cross.

        ``None`` where a pair has only routes of more turns.
        """
        if not all(self._routes):
            return None
        options = [[edges for _, edges in routes] for routes in self._routes]
        room = np.maximum(self._width, 1) * self._fabric.lasers
        return routed_lines(self._node_lines, options, room)[0]

    def lit(self, division: Division) -> LitDivision | None:
        """Return light paths for a division, of fewer units where not all fit.

        Then configurations last longer. ``None`` where a pair has none left.

        Parameters
        ----------
        division
            Of the demand.
        """
        if not all(self._routes):
            return None
        placed, kept = [], []
        for counts in division.counts.T:
            pair = np.repeat(np.arange(len(counts)), counts)
            routes = [
                [edges for _, edges in self._routes[each]] for each in pair.tolist()
            ]
            placement = LightPathPlacement(self._fabric, self._ends[pair], routes)
            placement.place()
            lit = placement.wavelength >= 0
            kept.append(np.bincount(pair[lit], minlength=len(counts)))
            placed.append(self._circuits(pair, placement))
        counts = np.stack(kept, axis=1)
        if not counts.sum(axis=1).all():
            return None
        if (counts < division.counts).any():
            durations = durations_of_counts(self._node_lines, counts)
            division = Division(durations, counts)
        return LitDivision(division, tuple(placed))

    def _circuits(self, pair: IntArray, placement: LightPathPlacement) -> Circuits:
        together: dict[Route, list[int]] = {}
        for each, number, wavelength in zip(
            pair.tolist(),
            placement.route.tolist(),
            placement.wavelength.tolist(),
            strict=True,
        ):
            if wavelength >= 0:
                route = self._routes[each][number][0]
                together.setdefault(route, []).append(wavelength)
        routes = sorted(together, key=lambda route: (route[0], route[-1], route))
        return Circuits(
            np.array([route[0] for route in routes], dtype=np.int64),
            np.array([route[-1] for route in routes], dtype=np.int64),
            Ragged.from_lists([sorted(together[route]) for route in routes]),
            Ragged.from_lists([list(route) for route in routes]),
        )
