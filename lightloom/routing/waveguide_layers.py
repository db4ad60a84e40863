"""Splits a partial permutation into layers that fit the edges of a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.routing import ROUTERS
from lightloom.routing.graph import capacity_by_id, check_requests
from lightloom.routing.minimum_congestion import (
    DEFAULT_EFFORT,
    minimum_congestion,
)
from lightloom.routing.negotiation import GridNegotiation
from lightloom.routing.rectangle_cuts import rectangle_cut
from lightloom.routing.routes import random_shortest

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray, Ragged
    from lightloom.instances.fabrics.lightpath import Lightpath

_CANDIDATES = 4
"""Shortest paths that random routes are drawn from."""


@dataclass(frozen=True, eq=False)
class Layers:
    """Requests in layers: within one, no edge carries more than its capacity.

    `layer`: layer of each request, 0 to ``layer_count - 1``, none of them empty.
    `route`: tiles of each request's route. `bound`: no routes and layers do with fewer
    layers. `cut`: witness of the bound, as in `minimum_congestion.Routing`.
    """

    layer: IntArray
    route: Ragged
    layer_count: int
    bound: int
    cut: IntArray

    @property
    def proved(self) -> bool:
        """Whether no packing can be better."""
        return self.layer_count == self.bound


def pack(
    fabric: Lightpath,
    src: IntArray,
    dst: IntArray,
    *,
    capacity: IntArray | None = None,
    seed: int = 0,
    effort: int = DEFAULT_EFFORT,
    router: str = ROUTERS[0],
) -> Layers:
    """Return routes and layers of a partial permutation, in few layers.

    A layer is one wavelength at a time: all its circuits are lit together. With
    the minimum-congestion router, all requests share one layer where their
    congestion is 1; else each request chooses both its route and its layer by
    negotiation, for as many layers as the congestion found, then one more each
    time, up to what first fit needs on the minimum-congestion routes. A packing in
    k layers routes everything with congestion k, so a bound on congestion is one on
    layers.

    `src`, `dst`: tiles of the requests, shape (requests,): no source and no destination
    twice. `capacity`: waveguides or fibres of each edge in the order of
    ``fabric.edges()``: how many routes of one layer may share it; 1 where ``None``.
    `effort`: most rip-ups for each number of layers. `router`: ``minimum-congestion``,
    or ``random``: routes drawn by `random_shortest`, which stay as they are, and layers
    by first fit, longest route first.

    Raises `InputError` if the requests are no partial permutation of tiles, the
    capacities do not fit the grid, or the router is unknown; `InfeasibleError` if edges
    of capacity 0 leave a request without a route.
    """
    check_requests(fabric, src, dst)
    _check_permutation(src, dst)
    if router not in ROUTERS:
        allowed = " or ".join(ROUTERS)
        raise InputError("unknown", where="router", found=router, allowed=allowed)
    by_id = capacity_by_id(fabric, capacity)
    if router == "random":
        route = random_shortest(
            fabric, src, dst, candidates=_CANDIDATES, seed=seed, capacity=capacity
        )
        cut = rectangle_cut(fabric, src, dst, capacity=capacity)
        layer = first_fit(fabric, route, by_id)
        return _layers(layer, route, cut.bound, cut.nodes)
    routing = minimum_congestion(
        fabric, src, dst, capacity=capacity, seed=seed, effort=effort
    )
    if routing.congestion <= 1:
        layer = np.zeros(len(src), dtype=np.int64)
        return _layers(layer, routing.route, routing.bound, routing.cut)
    layer = first_fit(fabric, routing.route, by_id)
    fitted = _layers(layer, routing.route, routing.bound, routing.cut)
    rng = np.random.default_rng(seed)
    for count in range(routing.congestion, fitted.layer_count):
        negotiation = GridNegotiation(fabric, src, dst, by_id, layers=count)
        negotiation.begin(1)
        negotiation.improve(effort, rng)
        if negotiation.settled():
            route, layer = negotiation.routes(negotiation.paths)
            return _layers(layer, route, routing.bound, routing.cut)
    return fitted


def first_fit(fabric: Lightpath, route: Ragged, by_id: IntArray) -> IntArray:
    """Return the layer of each fixed route: the first that has room, longest first.

    `route`: tiles of each route, over edges that have capacity. `by_id`: capacity of
    each edge id, shape (4 * nodes,).

    Returns layers, shape (routes,). O(layers * total length).
    """
    layer = np.zeros(len(route), dtype=np.int64)
    load = np.zeros((1, len(by_id)), dtype=np.int64)
    for row in np.argsort(-route.lengths, kind="stable").tolist():
        tiles = route[row]
        edges = fabric.edge_ids(tiles[:-1], tiles[1:])
        room = (load[:, edges] < by_id[edges]).all(axis=1)
        place = int(room.argmax()) if room.any() else len(load)
        if place == len(load):
            load = np.vstack([load, np.zeros((1, len(by_id)), dtype=np.int64)])
        load[place, edges] += 1
        layer[row] = place
    return layer


def _layers(layer: IntArray, route: Ragged, bound: int, cut: IntArray) -> Layers:
    """Return a result, layers numbered without gaps."""
    used, layer = np.unique(layer, return_inverse=True)
    return Layers(layer.astype(np.int64), route, len(used), bound, cut)


def _check_permutation(src: IntArray, dst: IntArray) -> None:
    """Raise `InputError` if a tile is a source, or a destination, twice."""
    for name, nodes in (("source", src), ("destination", dst)):
        distinct, counts = np.unique(nodes, return_counts=True)
        twice = distinct[counts > 1]
        if len(twice):
            what = f"a {name} has more than one request"
            fix = "split the requests into partial permutations by edge colouring"
            raise InputError(what, where="requests", found=int(twice[0]), fix=fix)
