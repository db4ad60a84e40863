"""Congestion: cut, lengths <= LP <= exact = exhaustive <= negotiated; both forms."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.columns import column
from lightloom.core.outcome import Reason
from lightloom.core.seed import seeded_random
from lightloom.core.task import Demand
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.models.candidate_routes import route_edges
from lightloom.models.routing import build, decode
from lightloom.routing.graph import Graph
from lightloom.routing.minimum_congestion import (
    Routing,
    certified_routing,
    minimum_congestion,
)
from lightloom.routing.rectangle_cuts import rectangle_cut
from lightloom.solvers import run
from lightloom.validate.certificates.congestion import check_edge_lengths
from tests.examples.grid_requests import grid_graph, least_congestion, requests
from tests.models.available import INTEGER_SOLVERS, LINEAR_SOLVERS

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject


Pair = tuple[int, int]
ALL_ROUTES = 50
"""More simple routes than any pair has on 3x3 tiles."""


def _grid(rows: int, cols: int) -> Instance:
    return Instance(Lightpath(rows=rows, cols=cols), Demand((), (), ()), "test")


def _requests(tiles: int, count: int, seed: int) -> list[Pair]:
    rng = seeded_random(seed)
    pairs = list(itertools.permutations(range(tiles), 2))
    return [rng.choice(pairs) for _ in range(count)]


def _fewest_by_search(instance: Instance, requests: list[Pair]) -> int:
    """Return the least congestion over every choice of simple routes."""
    fabric = instance.fabric
    assert isinstance(fabric, Lightpath)
    tail, head = fabric.edges()
    graph = nx.DiGraph(zip(tail.tolist(), head.tolist(), strict=True))
    options = [
        [route_edges(tuple(path)) for path in nx.all_simple_paths(graph, *pair)]
        for pair in sorted(requests)
    ]

    def fits(most: int, load: Counter[Pair], place: int) -> bool:
        if place == len(options):
            return True
        for route in options[place]:
            if all(load[edge] < most for edge in route):
                load.update(route)
                if fits(most, load, place + 1):
                    return True
                load.subtract(route)
        return False

    return next(n for n in itertools.count(1) if fits(n, Counter(), 0))


CASES = [
    (rows, cols, count, seed)
    for rows, cols, count in ((2, 2, 4), (2, 3, 6), (3, 3, 7))
    for seed in range(3)
]


@pytest.mark.parametrize("solver", INTEGER_SOLVERS)
@pytest.mark.parametrize(("rows", "cols", "count", "seed"), CASES)
def test_forms_meet_the_exhaustive_search(
    rows: int, cols: int, count: int, seed: int, solver: str
) -> None:
    """Arc form and path form on all simple routes reach the true minimum."""
    instance, requests = _grid(rows, cols), _requests(rows * cols, count, seed)
    least = _fewest_by_search(instance, requests)
    for form in ("arcs", "paths"):
        model = build(instance, requests=requests, form=form, paths=ALL_ROUTES)
        outcome = run(model, solver)
        assert outcome.reason is Reason.PROVEN_OPTIMAL
        answer = decode(model)
        assert answer.congestion == outcome.objective == least
        _check_routes(requests, answer.route.to_lists())


def _check_routes(requests: list[Pair], routes: list[list[int]]) -> None:
    assert [(route[0], route[-1]) for route in routes] == requests
    assert all(len(set(route)) == len(route) for route in routes)


@pytest.mark.parametrize("solver", LINEAR_SOLVERS)
@pytest.mark.parametrize(("rows", "cols", "count", "seed"), CASES)
def test_relaxation_lies_between_cut_and_optimum(
    rows: int, cols: int, count: int, seed: int, solver: str
) -> None:
    """The LP proves what cuts do or more, the same in both forms, never too much."""
    instance, requests = _grid(rows, cols), _requests(rows * cols, count, seed)
    fabric = instance.fabric
    assert isinstance(fabric, Lightpath)
    src, dst = column(a for a, _ in requests), column(b for _, b in requests)
    values = []
    for form in ("arcs", "paths"):
        model = build(
            instance, requests=requests, form=form, paths=ALL_ROUTES, relaxed=True
        )
        outcome = run(model, solver)
        assert outcome.objective is not None
        values.append(outcome.objective)
    # Solvers of LPs stop at tolerances: the checks of certificates are elsewhere.
    assert values[0] == pytest.approx(values[1], abs=1e-3)
    cut = rectangle_cut(fabric, src, dst).bound
    lp_bound = math.ceil(values[0] - 1e-3)
    negotiated = minimum_congestion(fabric, src, dst).congestion
    least = _fewest_by_search(instance, requests)
    assert cut <= lp_bound <= least <= negotiated


def test_candidate_routes_only_restrict() -> None:
    """Fewer candidate routes never make a better answer; one route leaves no choice."""
    instance, requests = _grid(3, 3), _requests(9, 12, 5)
    found = []
    for paths in (1, 2, 4, ALL_ROUTES):
        model = build(instance, requests=requests, form="paths", paths=paths)
        assert run(model, "highs").reason is Reason.PROVEN_OPTIMAL
        found.append(decode(model).congestion)
    assert found == sorted(found, reverse=True)
    assert np.diff(found).min() < 0


def test_tie_break_leaves_no_detour() -> None:
    """Among the least congestions the tie-break finds the fewest hops there can be."""
    instance = _grid(2, 3)
    requests = [(0, 2), (3, 5)]
    model = build(instance, requests=requests, tie_break=True)
    assert run(model, "highs").reason is Reason.PROVEN_OPTIMAL
    answer = decode(model)
    assert answer.congestion == 1
    assert answer.route.to_lists() == [[0, 1, 2], [3, 4, 5]]


def _check(graph: Graph, src: np.ndarray, dst: np.ndarray, found: Routing) -> None:
    assert found.witness is not None
    proven = check_edge_lengths(graph.node_count, graph.edges, src, dst, found.witness)
    assert proven == found.bound


@pytest.mark.parametrize(
    ("rows", "cols"), [pytest.param(2, 2, marks=pytest.mark.slow), (2, 3)]
)
def test_every_set_of_a_few_requests(rows: int, cols: int) -> None:
    """Bound <= least <= found, for all multisets of two requests (2x2: of four)."""
    fabric = Lightpath(rows=rows, cols=cols)
    graph, tiles = Graph.of_grid(fabric), rows * cols
    pairs = list(itertools.permutations(range(tiles), 2))
    size = 4 if tiles == 4 else 2
    for chosen in itertools.combinations_with_replacement(pairs, size):
        src, dst = column(a for a, _ in chosen), column(b for _, b in chosen)
        found = certified_routing(fabric, src, dst)
        least = least_congestion(grid_graph(fabric), src, dst)
        assert rectangle_cut(fabric, src, dst).bound <= found.bound <= least
        assert found.congestion == least
        _check(graph, src, dst, found)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Draw a strongly connected graph of a few nodes: a ring and some chords."""
    nodes = draw(st.integers(3, 5))
    ring = [(a, (a + 1) % nodes) for a in range(nodes)]
    chords = [e for e in itertools.permutations(range(nodes), 2) if e not in ring]
    edges = ring + draw(st.lists(st.sampled_from(chords), unique=True, max_size=5))
    capacity = draw(
        st.lists(st.integers(1, 3), min_size=len(edges), max_size=len(edges))
    )
    order = draw(st.permutations(range(len(edges))))
    return Graph(
        nodes,
        column(edges[i][0] for i in order),
        column(edges[i][1] for i in order),
        column(capacity[i] for i in order),
    )


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_random_graphs(data: DataObject) -> None:
    """On any directed graph with capacities, bound <= least <= found."""
    graph = data.draw(graphs())
    nodes = st.integers(0, graph.node_count - 1)
    pair = st.tuples(nodes, nodes).filter(lambda p: p[0] != p[1])
    chosen = data.draw(st.lists(pair, min_size=1, max_size=4))
    src, dst = column(a for a, _ in chosen), column(b for _, b in chosen)
    found = certified_routing(graph, src, dst)
    known = nx.DiGraph()
    for tail, head, capacity in zip(*(c.tolist() for c in graph.edges), strict=True):
        known.add_edge(tail, head, capacity=capacity)
    least = least_congestion(known, src, dst)
    assert found.bound <= least <= found.congestion
    _check(graph, src, dst, found)


@settings(deadline=None, max_examples=15)
@given(data=st.data())
def test_the_exact_model_lies_between(data: DataObject) -> None:
    """On 3x3 tiles HiGHS finds no less than the bound and no more than the routes."""
    fabric = Lightpath(rows=3, cols=3)
    src, dst = data.draw(requests(fabric, most=10).filter(lambda r: len(r[0]) > 0))
    found = certified_routing(fabric, src, dst)
    pairs = list(zip(src.tolist(), dst.tolist(), strict=True))
    outcome = run(build(Instance(fabric, Demand((), (), ()), "test"), requests=pairs))
    assert outcome.reason is Reason.PROVEN_OPTIMAL
    assert outcome.objective is not None
    assert found.bound <= outcome.objective <= found.congestion
    _check(Graph.of_grid(fabric), src, dst, found)
