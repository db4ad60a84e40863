"""Routes and wavelengths of many light paths, which push one another aside."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from lightloom.routing.congestion import capacity_by_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath

_TURNS = 30
_HISTORY = 0.25


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
