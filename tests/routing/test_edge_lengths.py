"""Certified routing: what edge lengths prove, on grids and any other graph."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.columns import column
from lightloom.core.errors import InfeasibleError, InputError
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.routing.edge_lengths import (
    EdgeLengthSearch,
    rational_lengths,
)
from lightloom.routing.graph import Graph
from lightloom.routing.minimum_congestion import (
    Routing,
    certified_routing,
    minimum_congestion,
)
from lightloom.validate.certificates.congestion import (
    MOST_UNITS,
    check_edge_lengths,
)
from tests.examples.grid_requests import Requests, capacities, fabrics, requests

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject


def _permutations(nodes: int, copies: int, seed: list[int]) -> Requests:
    rng = np.random.default_rng(seed)
    src = np.tile(np.arange(nodes), copies)
    dst = np.concatenate([rng.permutation(nodes) for _ in range(copies)])
    return src[src != dst], dst[src != dst]


def _graph(network: nx.DiGraph, seed: int = 0, most: int = 1) -> Graph:
    tail, head = np.array(sorted(network.edges), dtype=np.int64).T.copy()
    capacity = np.random.default_rng(seed).integers(1, most + 1, len(tail))
    return Graph(network.number_of_nodes(), tail, head, capacity)


def _check(graph: Graph, src: np.ndarray, dst: np.ndarray, r: Routing) -> None:
    """Recompute routes, congestion and bound from scratch."""
    room = {
        (a, b): c for a, b, c in zip(*(x.tolist() for x in graph.edges), strict=True)
    }
    load = dict.fromkeys(room, 0)
    assert len(r.route) == len(src)
    for row, nodes in enumerate(r.route.to_lists()):
        assert (nodes[0], nodes[-1]) == (src[row], dst[row])
        assert len(set(nodes)) == len(nodes)
        for edge in itertools.pairwise(nodes):
            load[edge] += 1
    assert all(room[edge] for edge, used in load.items() if used)
    most = max((-(-n // room[e]) for e, n in load.items() if n), default=0)
    assert most == r.congestion
    assert r.witness is not None
    proven = check_edge_lengths(graph.node_count, graph.edges, src, dst, r.witness)
    assert proven == r.bound <= r.congestion


def test_lengths_prove_what_cuts_cannot() -> None:
    """On 4x4 tiles: rectangles prove 1, fractional routes need 1.1, 2 is reached."""
    fabric = Lightpath(rows=4, cols=4)
    src, dst = _permutations(16, 1, [3, 1, 16])
    assert minimum_congestion(fabric, src, dst).bound == 1
    found = certified_routing(fabric, src, dst)
    assert (found.bound, found.congestion) == (2, 2)
    _check(Graph.of_grid(fabric), src, dst, found)


@pytest.mark.parametrize("seed", range(6))
def test_closed_edges_and_unequal_capacities_are_proved(seed: int) -> None:
    """Eight permutations of 8x8 tiles with a twentieth of the edges closed."""
    fabric = Lightpath(rows=8, cols=8)
    rng = np.random.default_rng([seed, 7])
    capacity = rng.integers(1, 5, len(fabric.edges()[0]))
    capacity[rng.random(len(capacity)) < 0.05] = 0
    src, dst = _permutations(64, 8, [seed])
    found = certified_routing(fabric, src, dst, capacity=capacity)
    assert found.proved
    _check(Graph.of_grid(fabric, capacity), src, dst, found)


@pytest.mark.parametrize("most", [1, 4])
@pytest.mark.parametrize(
    "network",
    [
        nx.random_regular_graph(3, 16, seed=2).to_directed(),
        nx.convert_node_labels_to_integers(
            nx.grid_2d_graph(5, 5, periodic=True)
        ).to_directed(),
        nx.DiGraph([(a, (a + k) % 24) for a in range(24) for k in (1, 5)]),
    ],
    ids=["regular", "torus", "one-way circulant"],
)
def test_other_graphs_are_proved(network: nx.DiGraph, most: int) -> None:
    """Permutations on graphs that are no grids reach a proved optimum."""
    graph = _graph(network, 5, most)
    src, dst = _permutations(graph.node_count, 4, [11])
    found = certified_routing(graph, src, dst)
    assert found.proved
    _check(graph, src, dst, found)


@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_routes_and_bounds_are_true(data: DataObject) -> None:
    """Whatever the grid and requests, all that is claimed holds when recomputed."""
    fabric = data.draw(fabrics(most=4))
    src, dst = data.draw(requests(fabric).filter(lambda r: len(r[0]) > 0))
    capacity = data.draw(capacities(fabric))
    found = certified_routing(fabric, src, dst, capacity=capacity, effort=500)
    _check(Graph.of_grid(fabric, capacity), src, dst, found)


def test_a_bound_is_the_fractional_optimum_rounded_up() -> None:
    """Where the search says that no lengths prove more, it is what a full LP says."""
    graph = _graph(nx.random_regular_graph(3, 12, seed=3).to_directed())
    src, dst = _permutations(12, 2, [1])
    search = EdgeLengthSearch(graph, src, dst, seed=0)
    while not search.exhausted:
        search.advance(10**6)
    assert search.finished
    assert search.bound == int(np.ceil(_fractional(graph, src, dst) - 1e-6))


def _fractional(graph: Graph, src: np.ndarray, dst: np.ndarray) -> float:
    """Return the least fractional congestion, by flows from each source."""
    from scipy.optimize import linprog

    nodes, edges = graph.node_count, len(graph.tail)
    sources = np.unique(src)
    columns = len(sources) * edges + 1
    equal, supply = [], []
    for place, source in enumerate(sources.tolist()):
        for node in range(nodes):
            row = np.zeros(columns)
            flow = row[place * edges : (place + 1) * edges]
            flow += (graph.tail == node).astype(float) - (graph.head == node)
            equal.append(row)
            wanted = int(((src == source) & (dst == node)).sum())
            supply.append(int((src == source).sum()) if node == source else -wanted)
    share = np.hstack([np.eye(edges)] * len(sources) + [-graph.capacity[:, None]])
    cost = np.zeros(columns)
    cost[-1] = 1
    found = linprog(cost, share, np.zeros(edges), np.array(equal), supply)
    return float(found.fun)


def test_rational_lengths_are_simple_where_they_can_be() -> None:
    """Thirds come out as multiples of a third; all lengths add up as they must."""
    capacity = column([1, 2, 1])
    first = next(rational_lengths(np.array([1 / 3, 1 / 6, 1 / 3]), capacity))
    assert (first.length.tolist(), first.denominator) == ([2, 1, 2], 6)
    rng = np.random.default_rng(1)
    for _ in range(20):
        length = rng.random(3) * [1, 1, 1e-9]
        for found in rational_lengths(length, capacity):
            assert found.denominator == found.length @ capacity <= MOST_UNITS


def test_a_pair_without_a_route_is_named() -> None:
    """A graph in two parts is infeasible, and the message names pair and nodes."""
    parts = Graph(4, column([0, 1, 2, 3]), column([1, 0, 3, 2]), column([1] * 4))
    with pytest.raises(InfeasibleError, match=r"no route from 1 to 2.*: 2 \(0, 1\)"):
        certified_routing(parts, column([0, 1]), column([1, 2]))
    ring = Graph(3, column([0, 1, 2]), column([1, 2, 0]), column([1, 1, 0]))
    with pytest.raises(InfeasibleError, match="no route from 2 to 0") as caught:
        certified_routing(ring, column([2]), column([0]))
    assert caught.value.exit_code == 4


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (([0, 0], [1, 1], [1, 1]), "there twice"),
        (([0, 1], [1, 1], [1, 1]), "to itself"),
        (([0, 1], [1, 3], [1, 1]), "outside the nodes 0 to 2"),
        (([0, 1], [1, 2], [1, -1]), "capacity is negative"),
        (([0, 1], [1, 2], [1]), "columns of one length"),
    ],
)
def test_what_is_no_graph_is_refused(
    edges: tuple[list[int], list[int], list[int]], message: str
) -> None:
    """Edges twice, loops, unknown nodes and negative capacities are named."""
    with pytest.raises(InputError, match=message):
        Graph(3, *(column(values) for values in edges))


def test_other_bad_input_is_refused() -> None:
    """A second set of capacities, negative effort and unknown nodes are refused."""
    ring = Graph(3, column([0, 1, 2]), column([1, 2, 0]), column([1, 1, 1]))
    one = column([1])
    with pytest.raises(InputError, match="graph has capacities"):
        certified_routing(ring, one, one + 1, capacity=ring.capacity)
    with pytest.raises(InputError, match="effort"):
        certified_routing(ring, one, one + 1, effort=-1)
    with pytest.raises(InputError, match="not a node of the graph"):
        certified_routing(ring, one, one + 2)
    with pytest.raises(InputError, match="to itself"):
        certified_routing(ring, one, one)


def test_no_requests() -> None:
    """Nothing to route has congestion 0, on grids and graphs."""
    none = column([])
    ring = Graph(3, column([0, 1, 2]), column([1, 2, 0]), column([1, 1, 1]))
    for network in (ring, Lightpath(rows=2, cols=2)):
        found = certified_routing(network, none, none)
        assert (found.congestion, found.bound, found.witness) == (0, 0, None)
        assert found.proved


def test_same_result_under_two_hash_seeds() -> None:
    """Same input and seed give the same routes and lengths, whatever the hash seed."""
    code = (
        "import numpy as np;"
        "from lightloom.instances.fabrics.lightpath import Lightpath;"
        "from lightloom.routing import minimum_congestion as room;"
        "r = np.random.default_rng([3, 1, 16]); s = np.arange(16);"
        "d = r.permutation(16); k = s != d;"
        "f = room.certified_routing(Lightpath(rows=4, cols=4), s[k], d[k], seed=9);"
        "w = f.witness;"
        "print(f.route.to_lists(), w.length.tolist(), w.denominator)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
