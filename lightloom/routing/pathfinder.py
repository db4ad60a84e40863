"""Negotiated congestion (PathFinder): edge prices rise until no edge is overfull."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from lightloom.routing.congestion import UNROUTABLE

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray, Ragged

CLOSED = 2**40
"""Price of an edge that no route may use; no sum of other prices reaches it."""
OVERFULL = 64
"""Price of each request above the limit of an edge."""
_REMEMBERED = 8
"""Lasting surcharge for each pass that finds an edge overfull."""
_SPREAD = 8
"""Price of the last place within the limit, where the first costs 1."""


class Auction(ABC):
    """Routes of all requests, as lists of edges, and the prices of the edges.

    An edge has a *limit*. Its price for the next request grows a little with its
    load, steeply with each request above the limit, and for good with each pass
    that finds it above the limit (McMurchie and Ebeling, PathFinder, 1995).
    Requests on overfull edges are ripped up and routed again, one by one. What the
    cheapest route is, subclasses know.

    Everything is kept in plain lists: single reads and writes dominate. The
    prices above were chosen by measurement.

    Parameters
    ----------
    requests
        Number of requests.
    capacity
        Capacity of each edge, 0 where no route may run.
    """

    def __init__(self, requests: int, capacity: IntArray) -> None:
        self._capacity: list[int] = capacity.tolist()
        self._edges: list[int] = np.flatnonzero(capacity).tolist()
        self.paths: list[list[int]] = [[] for _ in range(requests)]
        self.best_paths = self.paths
        self.best_congestion = int(UNROUTABLE)

    def begin(self, target: int) -> None:
        """Forget all routes and prices, and route every request, longest first.

        The limit of an edge is `target` times its capacity.
        """
        self._limit = [target * capacity for capacity in self._capacity]
        self._load = [0] * len(self._limit)
        self._history = [0] * len(self._limit)
        self._price = [1 if limit else CLOSED for limit in self._limit]
        self._users: list[dict[int, None]] = [{} for _ in self._limit]
        for request in np.argsort(-self._hops(), kind="stable").tolist():
            self._place(request, passes=0)
        self._record()

    def improve(self, effort: int, rng: np.random.Generator) -> int:
        """Rip up and reroute until no edge is overfull, or for `effort` rip-ups.

        Returns the rip-ups spent. The best routes met are in `best_paths`.

        Parameters
        ----------
        effort
            Most rip-ups.
        rng
            Source of what is random.
        """
        spent, passes = 0, 0
        full = self._overfull()
        while full and spent < effort:
            for edge in full:
                self._history[edge] += _REMEMBERED
                self._price[edge] += _REMEMBERED
            waiting = list(dict.fromkeys(r for edge in full for r in self._users[edge]))
            for place in rng.permutation(len(waiting)).tolist():
                request = waiting[place]
                if any(self._load[e] > self._limit[e] for e in self.paths[request]):
                    self._remove(request)
                    self._place(request, passes)
                    spent += 1
                    if spent >= effort:
                        break
            passes += 1
            self._record()
            full = self._overfull()
        return spent

    def settled(self) -> bool:
        """Return whether no edge is above its limit."""
        return not self._overfull()

    @abstractmethod
    def best_routes(self) -> Ragged:
        """Return the nodes of each of the best routes met."""

    @abstractmethod
    def _hops(self) -> IntArray:
        """Return the least hops of each request."""

    @abstractmethod
    def _cheapest(self, request: int, passes: int) -> list[int]:
        """Return a cheap route at the prices of now, after so many passes."""

    def _overfull(self) -> list[int]:
        load, limit = self._load, self._limit
        return [edge for edge in self._edges if load[edge] > limit[edge]]

    def _record(self) -> None:
        """Keep the routes if their congestion is the least so far."""
        load, capacity = self._load, self._capacity
        now = max((-(-load[e] // capacity[e]) for e in self._edges), default=0)
        if now < self.best_congestion:
            self.best_congestion = now
            self.best_paths = list(self.paths)

    def _place(self, request: int, passes: int) -> None:
        """Put a request on the cheapest route there is now."""
        path = self._cheapest(request, passes)
        self.paths[request] = path
        for edge in path:
            self._users[edge][request] = None
            self._change(edge, 1)

    def _remove(self, request: int) -> None:
        """Take a request off its route."""
        for edge in self.paths[request]:
            del self._users[edge][request]
            self._change(edge, -1)

    def _change(self, edge: int, by: int) -> None:
        """Change the load of an edge, and its price with it."""
        load = self._load[edge] + by
        self._load[edge] = load
        limit = self._limit[edge]
        if load >= limit:
            now = OVERFULL * (load + 1 - limit)
        else:
            now = 1 + _SPREAD * load // limit
        self._price[edge] = self._history[edge] + now
