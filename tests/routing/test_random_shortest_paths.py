"""Tests of random choice among shortest paths."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.routing.routes import random_shortest
from tests.examples.grid_requests import (
    assert_routes,
    fabrics,
    grid_graph,
    random_requests,
    requests,
)

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject


@settings(deadline=None, max_examples=40)
@given(data=st.data(), candidates=st.integers(1, 6))
def test_routes_are_among_the_k_shortest(data: DataObject, candidates: int) -> None:
    """Every route is a simple path no longer than the k-th shortest of its pair."""
    fabric = data.draw(fabrics(most=4))
    src, dst = data.draw(requests(fabric, most=8))
    route = random_shortest(fabric, src, dst, candidates=candidates, seed=1)
    assert_routes(fabric, src, dst, route)
    graph = grid_graph(fabric)
    for row, tiles in enumerate(route.to_lists()):
        paths = nx.shortest_simple_paths(graph, int(src[row]), int(dst[row]))
        longest = list(itertools.islice(paths, candidates))[-1]
        assert len(tiles) <= len(longest)


@pytest.mark.parametrize(
    ("src", "dst", "candidates"), [(0, 5, 3), (0, 8, 6), (3, 4, 5)]
)
def test_every_candidate_is_drawn(src: int, dst: int, candidates: int) -> None:
    """Many requests of one pair draw k different paths of the k least lengths."""
    fabric = Lightpath(rows=3, cols=3)
    many = 60 * candidates
    route = random_shortest(
        fabric, np.full(many, src), np.full(many, dst), candidates=candidates, seed=7
    )
    drawn = {tuple(tiles) for tiles in route.to_lists()}
    paths = nx.shortest_simple_paths(grid_graph(fabric), src, dst)
    expected = [len(path) for path in itertools.islice(paths, candidates)]
    assert sorted(len(path) for path in drawn) == expected


def test_pairs_with_few_paths_draw_from_all_of_them() -> None:
    """A row of tiles has one path per pair, whatever the number of candidates."""
    fabric = Lightpath(rows=1, cols=4)
    route = random_shortest(
        fabric, np.array([0, 3]), np.array([3, 1]), candidates=9, seed=0
    )
    assert route.to_lists() == [[0, 1, 2, 3], [3, 2, 1]]


def test_the_seed_decides() -> None:
    """The same seed draws the same routes, another seed others."""
    fabric = Lightpath(rows=6, cols=6)
    src, dst = random_requests(36, 80, seed=2)
    first, again, other = (
        random_shortest(fabric, src, dst, candidates=4, seed=seed).to_lists()
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_closed_edges_are_not_used(four_tiles: Lightpath) -> None:
    """Paths run over edges that have capacity, or the pair is named."""
    fabric = four_tiles
    tail, head = fabric.edges()
    capacity = ((tail != 0) | (head != 1)).astype(np.int64)
    src, dst = np.array([0]), np.array([1])
    route = random_shortest(fabric, src, dst, candidates=3, seed=0, capacity=capacity)
    assert route.to_lists() == [[0, 2, 3, 1]]
    capacity[tail == 0] = 0
    with pytest.raises(InfeasibleError, match="no route from 0 to 1"):
        random_shortest(fabric, src, dst, candidates=3, seed=0, capacity=capacity)


def test_at_least_one_candidate(four_tiles: Lightpath) -> None:
    """Drawing from no path is refused."""
    with pytest.raises(InputError, match="candidates"):
        random_shortest(four_tiles, np.array([0]), np.array([1]), candidates=0, seed=0)
