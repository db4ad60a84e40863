"""Candidate routes, an input of the models: k shortest simple paths (Yen)."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import TYPE_CHECKING, TypeAlias

from lightloom.core.errors import InfeasibleError, InputError

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from lightloom.instances.fabrics.lightpath import Lightpath

Pair: TypeAlias = tuple[int, int]
Route: TypeAlias = tuple[int, ...]
"""Tiles from source to destination, both included."""
Edge: TypeAlias = tuple[int, int]
Routes: TypeAlias = "Mapping[Pair, tuple[Route, ...]]"
"""Candidate routes of each (source, destination) pair."""


def open_edges(fabric: Lightpath) -> dict[Edge, int]:
    """Return the waveguides of every directed edge that has any, sorted by edge."""
    tail, head = fabric.edges()
    waveguides = fabric.edge_waveguides(tail, head)
    ends = zip(tail.tolist(), head.tolist(), strict=True)
    return {
        edge: count
        for edge, count in sorted(zip(ends, waveguides.tolist(), strict=True))
        if count
    }


def route_edges(route: Route) -> list[Edge]:
    """Return the directed edges of a route, in its order."""
    return list(pairwise(route))


def check_routes(
    routes: Routes, pairs: Iterable[Pair], edges: Container[Edge]
) -> dict[Pair, tuple[Route, ...]]:
    """Return the given candidate routes of some pairs.

    `routes`: candidate routes of each (source, destination); those of other pairs are
    left out. `edges`: directed edges with a waveguide, as (tail, head).

    Returns the routes by pair, sorted by pair; those of a pair in the order given.

    Raises `InputError` if a pair has none, or one is not a simple path over `edges`
    between its ends.
    """
    chosen = {}
    for pair in sorted(set(pairs)):
        if not routes.get(pair):
            raise InputError("a pair has no candidate route", where="paths", found=pair)
        for route in routes[pair]:
            ends = (route[0], route[-1]) if route else ()
            simple = len(set(route)) == len(route)
            if (
                ends != pair
                or not simple
                or any(e not in edges for e in pairwise(route))
            ):
                what = f"not a simple path from {pair[0]} to {pair[1]} over open edges"
                raise InputError(what, where="paths", found=route)
        chosen[pair] = tuple(routes[pair])
    return chosen


def check_count(count: int) -> None:
    """Raise unless there may be so many candidate routes of a pair.

    Raises `InputError` if `count` is less than 1.
    """
    if count < 1:
        what, allowed = "too few candidate routes", "at least 1"
        raise InputError(what, where="paths", found=count, allowed=allowed)


def most_routes(paths: int | Routes) -> int:
    """Return how many candidate routes a pair may have.

    Raises `InputError` if that is a number less than 1.
    """
    if isinstance(paths, int):
        check_count(paths)
        return paths
    return max(map(len, paths.values()), default=0)


def candidate_routes(
    fabric: Lightpath,
    pairs: Iterable[Pair],
    count: int,
    edges: Iterable[Edge] | None = None,
) -> dict[Pair, tuple[Route, ...]]:
    """Return up to `count` shortest simple routes of each pair.

    `count`: most routes of a pair, at least 1.

    Returns routes by pair, pairs sorted, routes by length and then by tiles within that
    length as far as `count` reaches; deterministic.

    Raises `InputError` if `count` is less than 1; `InfeasibleError` if a pair has no
    route.

    O(count * nodes * edges) a pair.
    """
    import networkx as nx

    check_count(count)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(fabric.node_count))
    graph.add_edges_from(open_edges(fabric) if edges is None else edges)
    routes: dict[Pair, tuple[Route, ...]] = {}
    for src, dst in sorted(set(pairs)):
        try:
            found = list(islice(nx.shortest_simple_paths(graph, src, dst), count))
        except nx.NetworkXNoPath:
            what = f"no route from {src} to {dst}: every way has a closed edge"
            fix = "raise fabric.waveguides or fabric.fibers"
            raise InfeasibleError(what, where="fabric.waveguides", fix=fix) from None
        routes[src, dst] = tuple(
            sorted((tuple(path) for path in found), key=lambda r: (len(r), r))
        )
    return routes
