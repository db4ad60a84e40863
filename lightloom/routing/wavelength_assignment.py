"""Wavelengths for routes that are all lit at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.core.errors import NoAnswerError
from lightloom.models.rounds import (
    build_colouring,
    decode_colouring,
    unlit_paths,
)
from lightloom.plans.edge_colouring import edge_colours
from lightloom.routing.graph import capacity_by_id
from lightloom.routing.routes import lit_circuits
from lightloom.solvers import SolveOptions, run

if TYPE_CHECKING:
    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath

_SOLVER = "highs"
_NODES = 1000
"""Search nodes in which wavelengths must be found where nothing else finds them."""
_MOST_COLOURS = 20_000
"""Routes times wavelengths of the largest model that is tried for that."""
_MOST_FITS, _FIT_WORK = 16, 100_000
"""Most orders in which first fit is tried, and routes in all of them."""


def lit_routes(fabric: Lightpath, route: Ragged, seed: int) -> Circuits:
    """Return routes as circuits of one segment, each with a wavelength.

    An edge colouring of their ends suffices where no edge has fewer waveguides than
    routes. Where it clashes, first fit is tried in several orders, then a solver.

    `route`: tiles of each route, at least two.

    Raises `NoAnswerError` if the lasers, photodiodes or waveguides are too few, naming
    where, or no wavelengths are found.
    """
    src = route.values[route.offsets[:-1]]
    dst = route.values[route.offsets[1:] - 1]
    _check_ends(fabric, src, dst)
    inner = np.delete(np.arange(len(route.values)), route.offsets[1:] - 1)
    edge = fabric.edge_ids(route.values[inner], route.values[inner + 1])
    width = capacity_by_id(fabric, fabric.edge_waveguides(*fabric.edges()))
    _check_edges(fabric, edge, width)
    taken = Ragged.from_lengths(route.lengths - 1, edge)
    for fewest in (None, fabric.lasers):
        colour = edge_colours(src, dst, fewest=fewest)
        slot = edge * fabric.lasers + colour[taken.row_of_value]
        lit, times = np.unique(slot, return_counts=True)
        if (times <= width[lit // fabric.lasers]).all():
            return _lit(route, colour)
    rng = np.random.default_rng(seed)
    for _ in range(min(_MOST_FITS, _FIT_WORK // len(route))):
        order = rng.permutation(len(route))
        order = order[np.argsort(-route.lengths[order], kind="stable")]
        fitted = _first_fit(fabric.lasers, (src, dst), taken, width, order)
        if fitted is not None:
            return _lit(route, fitted)
    return _solved(fabric, route, seed)


def _lit(route: Ragged, colour: IntArray) -> Circuits:
    routes = map(tuple, route.to_lists())
    return lit_circuits(zip(routes, colour.tolist(), strict=True))


def _first_fit(
    lasers: int,
    ends: tuple[IntArray, IntArray],
    taken: Ragged,
    width: IntArray,
    order: IntArray,
) -> IntArray | None:
    """Return a wavelength for each route, ``None`` if one in this order finds none.

    Each takes the one that leaves most room on the fullest of its edges.
    """
    nodes = len(width) // 4
    free = np.ones((2, nodes, lasers), dtype=np.bool_)
    room = np.repeat(width[:, None], lasers, axis=1)
    colour = np.zeros(len(order), dtype=np.int64)
    for row in order.tolist():
        src, dst = int(ends[0][row]), int(ends[1][row])
        edges = taken[row]
        left = room[edges].min(axis=0) * (free[0, src] & free[1, dst])
        best = int(left.argmax())
        if left[best] < 1:
            return None
        colour[row] = best
        room[edges, best] -= 1
        free[0, src, best] = free[1, dst, best] = False
    return colour


def _check_ends(fabric: Lightpath, src: IntArray, dst: IntArray) -> None:
    for ends, does in ((src, "sends"), (dst, "receives")):
        degree = np.bincount(ends, minlength=fabric.node_count)
        node = int(degree.argmax())
        if degree[node] > fabric.lasers:
            raise _not_at_once(
                f"node {node} {does} {degree[node]} at once",
                f"{fabric.lasers} lasers and photodiodes a node",
            )


def _check_edges(fabric: Lightpath, edge: IntArray, width: IntArray) -> None:
    load = np.bincount(edge, minlength=len(width))
    over = np.flatnonzero(load > width * fabric.lasers)
    for place in over[:1].tolist():
        raise _not_at_once(
            f"{load[place]} routes leave node {place // 4} by one edge",
            f"{width[place]} waveguides of {fabric.lasers} wavelengths",
        )


def _solved(fabric: Lightpath, route: Ragged, seed: int) -> Circuits:
    """Return circuits with the wavelengths that a solver finds."""
    if len(route) * fabric.lasers <= _MOST_COLOURS:
        model = build_colouring(
            fabric, unlit_paths((r[0], r[-1], tuple(r)) for r in route.to_lists())
        )
        outcome = run(model, _SOLVER, SolveOptions(seed=seed, node_limit=_NODES))
        if outcome.incumbent is not None:
            return decode_colouring(model)
    raise _not_at_once(
        "no wavelengths were found for them", "one clash-free wavelength for each"
    )


def _not_at_once(found: str, allowed: str) -> NoAnswerError:
    return NoAnswerError(
        "the routes cannot all be lit at once",
        where="--output",
        found=found,
        allowed=allowed,
        fix="use `lightloom synth`, which lights them in turns",
    )
