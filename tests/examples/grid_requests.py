"""Random grids, requests and exhaustive answers for the tests of routes."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from lightloom.instances.fabrics.lightpath import Lightpath

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray, Ragged

Requests = tuple["IntArray", "IntArray"]


@st.composite
def fabrics(draw: st.DrawFn, most: int = 6) -> Lightpath:
    """Draw a grid of at least two tiles, cut into wafers."""
    rows = draw(st.integers(1, most))
    return Lightpath(
        rows=rows,
        cols=draw(st.integers(2 if rows == 1 else 1, most)),
        wafer_rows=draw(st.integers(1, 4)),
        wafer_cols=draw(st.integers(1, 4)),
        waveguides=draw(st.integers(1, 4)),
        fibers=draw(st.integers(1, 4)),
    )


@st.composite
def requests(draw: st.DrawFn, fabric: Lightpath, most: int = 24) -> Requests:
    """Draw requests between different tiles, repeats allowed."""
    node = st.integers(0, fabric.node_count - 1)
    hop = st.integers(1, fabric.node_count - 1)
    rows = draw(st.lists(st.tuples(node, hop), max_size=most))
    src = np.array([a for a, _ in rows], dtype=np.int64)
    dst = np.array([(a + h) % fabric.node_count for a, h in rows], dtype=np.int64)
    return src, dst


@st.composite
def partial_permutations(draw: st.DrawFn, fabric: Lightpath) -> Requests:
    """Draw requests with no source and no destination twice."""
    nodes = list(range(fabric.node_count))
    src, dst = draw(st.permutations(nodes)), draw(st.permutations(nodes))
    pairs = [(a, b) for a, b in zip(src, dst, strict=True) if a != b]
    kept = pairs[: draw(st.integers(0, len(pairs)))]
    return (
        np.array([a for a, _ in kept], dtype=np.int64),
        np.array([b for _, b in kept], dtype=np.int64),
    )


@st.composite
def capacities(draw: st.DrawFn, fabric: Lightpath, least: int = 1) -> IntArray | None:
    """Draw no capacities, waveguides and fibres, or any number per edge."""
    tail, head = fabric.edges()
    kind = draw(st.sampled_from(["none", "waveguides", "any"]))
    if kind == "none":
        return None
    if kind == "waveguides":
        return fabric.edge_waveguides(tail, head)
    number = st.integers(least, 3)
    drawn = draw(st.lists(number, min_size=len(tail), max_size=len(tail)))
    return np.array(drawn, dtype=np.int64)


def random_requests(nodes: int, count: int, seed: int) -> Requests:
    """Return uniformly random requests between different tiles."""
    rng = np.random.default_rng(seed)
    src = rng.integers(0, nodes, count)
    return src, (src + rng.integers(1, nodes, count)) % nodes


def assert_routes(
    fabric: Lightpath, src: IntArray, dst: IntArray, route: Ragged
) -> None:
    """Assert that every route is a simple path of the grid between its ends."""
    graph = grid_graph(fabric)
    assert len(route) == len(src)
    for row, tiles in enumerate(route.to_lists()):
        assert (tiles[0], tiles[-1]) == (src[row], dst[row])
        assert len(set(tiles)) == len(tiles)
        assert all(graph.has_edge(a, b) for a, b in itertools.pairwise(tiles))


def grid_graph(fabric: Lightpath, capacity: IntArray | None = None) -> nx.DiGraph:
    """Return the edges that have capacity, each with its ``capacity``."""
    tail, head = fabric.edges()
    if capacity is None:
        capacity = np.ones(len(tail), dtype=np.int64)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(fabric.node_count))
    for a, b, c in zip(tail.tolist(), head.tolist(), capacity.tolist(), strict=True):
        if c:
            graph.add_edge(a, b, capacity=c)
    return graph


def loads(route: Ragged) -> dict[tuple[int, int], int]:
    """Return how many routes run over each edge, counted one by one."""
    count: dict[tuple[int, int], int] = {}
    for tiles in route.to_lists():
        for edge in itertools.pairwise(tiles):
            count[edge] = count.get(edge, 0) + 1
    return count


def least_congestion(graph: nx.DiGraph, src: IntArray, dst: IntArray) -> int:
    """Return the least congestion over all combinations of simple paths."""
    choices = [
        [tuple(itertools.pairwise(path)) for path in nx.all_simple_paths(graph, a, b)]
        for a, b in zip(src.tolist(), dst.tolist(), strict=True)
    ]
    best = len(src)
    for paths in itertools.product(*choices):
        count: dict[tuple[int, int], int] = {}
        for edge in itertools.chain.from_iterable(paths):
            count[edge] = count.get(edge, 0) + 1
        worst = (-(-n // graph.edges[e]["capacity"]) for e, n in count.items())
        best = min(best, max(worst, default=0))
    return best
