"""Edge lengths <= least congestion <= certified routing, on exhaustive instances."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.columns import column
from lightloom.core.outcome import Reason
from lightloom.core.task import Demand
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.models.routing import build
from lightloom.routing.graph import Graph
from lightloom.routing.minimum_congestion import (
    Routing,
    certified_routing,
)
from lightloom.routing.rectangle_cuts import rectangle_cut
from lightloom.solvers import run
from lightloom.validate.certificates.congestion import check_edge_lengths
from tests.examples.grid_requests import grid_graph, least_congestion, requests

if TYPE_CHECKING:
    import numpy as np
    from hypothesis.strategies import DataObject


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
