"""Divisions of a demand where waveguides are few: edges limit pairs as nodes do."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lightloom.routing.graph import capacity_by_id
from lightloom.routing.rectangle_cuts import straight_cuts
from lightloom.routing.routes import bent_routes, lit_circuits
from lightloom.synth.demand_configurations.division import (
    Division,
    LitDivision,
    durations_of_counts,
)
from lightloom.synth.demand_configurations.durations import short_durations, unit_bound
from lightloom.synth.demand_configurations.lines import Lines, routed_lines
from lightloom.synth.demand_configurations.units import nested_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.routing.routes import Route
    from lightloom.synth.demand_configurations.units import PairUnits


_CHANGES = 100
"""Changes that are tried in nesting units into configurations: each nests all of them
anew."""
_WORK_A_PAIR = 3_000_000
"""Operations of the search for short durations, for each pair."""
_FULL = 0.95
"""Of the waveguides across a cut, what light paths that push aside may take."""


class FewWaveguides:
    """Routes and wavelengths for the divisions of one demand.

    `src`, `dst`: ends of each pair, shape (pairs,). `lines`: what nodes send and
    receive.
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

    def in_turn(self, units: PairUnits) -> LitDivision | None:
        """Return a division that fills one configuration after the other.

        Units that are left fill each configuration, the longest first, which push one
        another aside as long as nodes and cuts across the grid have room to spare;
        others come in where they fit. ``None`` where a pair has only routes of more
        turns.
        """
        if not all(self._routes):
            return None
        pair = np.repeat(units.pair, units.number)
        left = pair[np.argsort(-np.repeat(units.length, units.number), kind="stable")]
        counts: list[IntArray] = []
        placed: list[Circuits] = []
        while len(left):
            placement = self._placement(left)
            placement.place(self._first_that_fit(left))
            lit = placement.wavelength >= 0
            if not lit.any():
                return None
            counts.append(np.bincount(left[lit], minlength=len(self._ends)))
            placed.append(self._circuits(left, placement))
            left = left[~lit]
        durations = durations_of_counts(self._node_lines.need, np.stack(counts, axis=1))
        return LitDivision(Division(durations, np.stack(counts, axis=1)), tuple(placed))

    def nested_units(
        self, count: int, durations: FloatArray, seed: int
    ) -> PairUnits | None:
        """Return units of a length for each of so many configurations, if there are.

        Nodes, and cuts with some room to spare, have room for the longest.

        `seed`: of random choices, 0 or more.
        """
        lines = self.cut_lines(_FULL)
        bound = unit_bound(replace(lines, exact=len(lines.capacity)), count)
        first = [durations]
        if bound is not None:
            least = 1e-3 * bound.durations.sum()
            first.append(np.maximum(bound.durations, least))
        most = 2 * float(durations.sum())
        work = _WORK_A_PAIR * len(lines.need)
        found = short_durations(lines, first, most, seed, work)
        if found is None:
            return None
        return nested_units(lines, found, seed, _CHANGES)[0]

    def _first_that_fit(self, pair: IntArray) -> int:
        """Return how many of such units leave nodes, and cuts some room to spare."""
        lines = self.cut_lines(_FULL)
        load = np.zeros((len(pair) + 1, len(lines.capacity) + 1), dtype=np.int32)
        row = np.arange(1, len(pair) + 1)
        for line in lines.of_pair[pair].T:
            load[row, line] = 1
        load = np.cumsum(load, axis=0)[:, :-1]
        return int((load <= lines.capacity).all(axis=1).sum()) - 1

    def cut_lines(self, full: float = 1.0) -> Lines:
        """Return the lines of nodes, and of straight cuts across the grid."""
        lines, (src, dst) = self._node_lines, self._ends.T
        columns, rooms = [], []
        for inside, waveguides in straight_cuts(self._fabric):
            rooms.append(max(1, int(waveguides * self._fabric.lasers * full)))
            columns.append(inside[src] & ~inside[dst])
        count = len(lines.capacity)
        number = count + np.arange(len(columns))
        of_pair = np.where(np.array(columns).T, number, count + len(columns))
        of_pair = np.concatenate([lines.of_pair, of_pair], axis=1)
        capacity = np.concatenate([lines.capacity, np.array(rooms, dtype=np.int64)])
        return Lines(lines.need, of_pair, capacity, count)

    def _placement(self, pair: IntArray) -> LightPathPlacement:
        """Return light paths for units of such pairs, to be placed."""
        routes = [[edges for _, edges in self._routes[each]] for each in pair.tolist()]
        return LightPathPlacement(self._fabric, self._ends[pair], routes)

    def lit(self, division: Division) -> LitDivision | None:
        """Return light paths for a division, of fewer units where not all fit.

        Then configurations last longer. ``None`` where a pair has none left.
        """
        if not all(self._routes):
            return None
        placed, kept = [], []
        for counts in division.counts.T:
            pair = np.repeat(np.arange(len(counts)), counts)
            placement = self._placement(pair)
            placement.place()
            lit = placement.wavelength >= 0
            kept.append(np.bincount(pair[lit], minlength=len(counts)))
            placed.append(self._circuits(pair, placement))
        counts = np.stack(kept, axis=1)
        if not counts.sum(axis=1).all():
            return None
        if (counts < division.counts).any():
            durations = durations_of_counts(self._node_lines.need, counts)
            division = Division(durations, counts)
        return LitDivision(division, tuple(placed))

    def _circuits(self, pair: IntArray, placement: LightPathPlacement) -> Circuits:
        columns = (pair, placement.route, placement.wavelength)
        return lit_circuits(
            (self._routes[each][number][0], wavelength)
            for each, number, wavelength in np.stack(columns, axis=1).tolist()
            if wavelength >= 0
        )


_TURNS = 30
"""Placements for each light path, on average, before those that are left are placed
only where they fit."""
_HISTORY = 0.25
"""What a place costs more each time it was fought for. Larger drives paths to detours,
smaller keeps them fighting."""


class LightPathPlacement:
    """Places light paths on a rack, one after the other.

    Each takes the route and wavelength that cost least: a laser, a photodiode or a
    waveguide that another light path has costs one, and more the more often it was
    fought for. Whoever had it looks for another place.

    `ends`: source and destination of each light path, shape (paths, 2). `routes`: edges
    of the routes that each may take.
    """

    def __init__(
        self, fabric: Lightpath, ends: IntArray, routes: Sequence[Sequence[IntArray]]
    ) -> None:
        self._ends, self._routes = ends, routes
        self._width = capacity_by_id(fabric, fabric.edge_waveguides(*fabric.edges()))
        nodes, lasers = fabric.node_count, fabric.lasers
        edges = len(self._width)
        # Lasers, photodiodes, then edges; by wavelength.
        self._room = np.concatenate([np.ones(2 * nodes, dtype=np.int64), self._width])
        self._used = np.zeros((2 * nodes + edges, lasers), dtype=np.int64)
        self._fought = np.zeros((2 * nodes + edges, lasers))
        self._owners: dict[tuple[int, int], list[int]] = {}
        places = [ends[:, 0], nodes + ends[:, 1]]
        self._fixed = np.stack(places, axis=1)
        self._offset = 2 * nodes
        self.route = np.full(len(ends), -1, dtype=np.int64)
        self.wavelength = np.full(len(ends), -1, dtype=np.int64)

    def place(self, pushing: int | None = None) -> None:
        """Place all, or as many as are placed within the limit.

        Afterwards `route` and `wavelength` hold the choice of each light path, -1
        where it has none.

        `pushing`: how many may push others aside, the first of all; then the rest are
        placed where they fit. All unless given.
        """
        paths = len(self._ends) if pushing is None else pushing
        lengths = np.array([min(map(len, each)) for each in self._routes[:paths]])
        queue = deque(np.argsort(-lengths, kind="stable").tolist())
        for _ in range(_TURNS * len(queue)):
            if not queue:
                break
            queue.extend(self._placed(queue.popleft()))
        # Those that fit without pushing.
        for path in [*queue, *range(paths, len(self._ends))]:
            self._placed(path, push=False)

    def _placed(self, path: int, *, push: bool = True) -> list[int]:
        """Place a light path; return those that it pushed aside."""
        best: tuple[float, int, int, IntArray] | None = None
        for number, edges in enumerate(self._routes[path]):
            taken = np.concatenate([self._fixed[path], self._offset + edges])
            full = self._used[taken] >= self._room[taken][:, None]
            cost = (full * (1 + self._fought[taken])).sum(axis=0)
            cost += 1e-3 * self._used[taken].sum(axis=0) + 1e-4 * len(edges)
            wavelength = int(cost.argmin())
            if best is None or cost[wavelength] < best[0]:
                best = float(cost[wavelength]), number, wavelength, taken
        assert best is not None
        _, number, wavelength, taken = best
        crowded = taken[self._used[taken, wavelength] >= self._room[taken]]
        if len(crowded) and (not push or not self._room[crowded].all()):
            return []
        pushed: list[int] = []
        for place in crowded.tolist():
            if self._used[place, wavelength] >= self._room[place]:
                self._fought[place, wavelength] += _HISTORY
                loser = self._owners[place, wavelength][0]
                self._remove(loser)
                pushed.append(loser)
        self.route[path], self.wavelength[path] = number, wavelength
        self._used[taken, wavelength] += 1
        for place in taken.tolist():
            self._owners.setdefault((place, wavelength), []).append(path)
        return pushed

    def _remove(self, path: int) -> None:
        wavelength = int(self.wavelength[path])
        edges = self._routes[path][int(self.route[path])]
        taken = np.concatenate([self._fixed[path], self._offset + edges])
        self._used[taken, wavelength] -= 1
        for place in taken.tolist():
            self._owners[place, wavelength].remove(path)
        self.route[path] = self.wavelength[path] = -1
