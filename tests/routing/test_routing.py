"""Tests of minimum-congestion routing."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.routing.minimum_congestion import minimum_congestion
from tests.examples.grid_requests import (
    assert_routes,
    capacities,
    fabrics,
    grid_graph,
    least_congestion,
    loads,
    random_requests,
    requests,
)

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject

    from lightloom.core.columns import IntArray, Ragged


def counted_congestion(
    fabric: Lightpath, route: Ragged, capacity: IntArray | None
) -> int:
    """Return the congestion counted edge by edge; fails on a closed edge."""
    graph = grid_graph(fabric, capacity)
    shares = (-(-n // graph.edges[e]["capacity"]) for e, n in loads(route).items())
    return max(shares, default=0)


def morton(nodes: int) -> IntArray:
    """Return the tile of each rank in Morton order on a square of 16 x 16."""
    rank = np.arange(nodes)
    row, col = np.zeros(nodes, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
    for bit in range(4):
        col |= (rank >> 2 * bit & 1) << bit
        row |= (rank >> 2 * bit + 1 & 1) << bit
    return row * 16 + col


@settings(deadline=None, max_examples=80)
@given(data=st.data())
def test_routes_and_congestion_are_true(data: DataObject) -> None:
    """Routes are simple paths, congestion is as counted, and no bound exceeds it."""
    fabric = data.draw(fabrics())
    src, dst = data.draw(requests(fabric))
    capacity = data.draw(capacities(fabric))
    found = minimum_congestion(fabric, src, dst, capacity=capacity, effort=200)
    assert_routes(fabric, src, dst, found.route)
    assert found.congestion == counted_congestion(fabric, found.route, capacity)
    assert found.bound <= found.congestion
    assert found.proved == (found.bound == found.congestion)


@pytest.mark.parametrize(("rows", "cols"), [(2, 2), (2, 3), (1, 4)])
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_optimal_on_tiny_grids(data: DataObject, rows: int, cols: int) -> None:
    """Few requests on a few tiles get the best of all combinations of paths."""
    fabric = Lightpath(rows=rows, cols=cols)
    src, dst = data.draw(requests(fabric, most=4))
    capacity = data.draw(capacities(fabric))
    found = minimum_congestion(fabric, src, dst, capacity=capacity)
    best = least_congestion(grid_graph(fabric, capacity), src, dst)
    assert found.bound <= best <= found.congestion
    assert found.congestion == best


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_closed_edges_are_not_used(data: DataObject) -> None:
    """Routes avoid edges of capacity 0, or the request without a route is named."""
    fabric = data.draw(fabrics(most=4))
    src, dst = data.draw(requests(fabric))
    capacity = data.draw(capacities(fabric, least=0))
    graph = grid_graph(fabric, capacity)
    cut_off = {
        (a, b): {a, *nx.descendants(graph, a)}
        for a, b in zip(src.tolist(), dst.tolist(), strict=True)
        if not nx.has_path(graph, a, b)
    }
    if not cut_off:
        found = minimum_congestion(fabric, src, dst, capacity=capacity, effort=100)
        assert_routes(fabric, src, dst, found.route)
        now = counted_congestion(fabric, found.route, capacity)
        assert found.bound <= found.congestion == now
        return
    with pytest.raises(InfeasibleError) as caught:
        minimum_congestion(fabric, src, dst, capacity=capacity)
    named = [
        pair
        for pair, reached in cut_off.items()
        if f"no route from {pair[0]} to {pair[1]}" == caught.value.what
        and f"tiles reached from {pair[0]}: {len(reached)} " in str(caught.value)
    ]
    assert len(named) == 1


@pytest.mark.parametrize(
    ("rows", "cols", "congestion"),
    [(4, 4, 16), (4, 8, 64), (8, 8, 128), (16, 16, 1024)],
)
def test_all_to_all_is_proved(rows: int, cols: int, congestion: int) -> None:
    """All-to-all on a grid has a known congestion, and its bound is met."""
    fabric = Lightpath(rows=rows, cols=cols)
    src, dst = np.divmod(np.arange(fabric.node_count**2), fabric.node_count)
    other = src != dst
    found = minimum_congestion(fabric, src[other], dst[other])
    assert (found.congestion, found.bound) == (congestion, congestion)


@pytest.mark.parametrize(
    ("order", "radix", "expected"),
    [
        ("row-major", 2, [1, 2, 4, 8, 1, 2, 4, 8]),
        ("row-major", 4, [4, 16, 4, 16]),
        ("morton", 2, [1, 1, 2, 2, 4, 4, 8, 8]),
        ("morton", 4, [2, 4, 8, 16]),
    ],
)
def test_recursive_steps_on_256_tiles(
    order: str, radix: int, expected: list[int]
) -> None:
    """Doubling and quadrupling steps on 16x16 have known congestions, all proved."""
    fabric = Lightpath(rows=16, cols=16)
    tile = np.arange(256) if order == "row-major" else morton(256)
    found = []
    for step in range(len(expected)):
        rank = np.repeat(np.arange(256), radix - 1)
        digit = np.tile(np.arange(1, radix), 256)
        routing = minimum_congestion(
            fabric, tile[rank], tile[rank ^ digit * radix**step]
        )
        assert routing.proved
        found.append(routing.congestion)
    assert found == expected


@pytest.mark.parametrize("seed", range(5))
def test_768_random_requests_on_256_tiles_are_proved(seed: int) -> None:
    """Negotiation meets the cut bound on a full rack of random requests."""
    fabric = Lightpath(rows=16, cols=16)
    src, dst = random_requests(256, 768, seed)
    found = minimum_congestion(fabric, src, dst)
    assert_routes(fabric, src, dst, found.route)
    assert found.proved


def test_random_permutations_nearly_always_meet_the_bound() -> None:
    """Of 45 random permutations, once to three times, at most two miss the bound."""
    missed = []
    for rows, cols in ((4, 4), (4, 8), (8, 8)):
        fabric = Lightpath(rows=rows, cols=cols)
        for copies in (1, 2, 3):
            for seed in range(5):
                rng = np.random.default_rng([seed, copies, rows, cols])
                src = np.tile(np.arange(rows * cols), copies)
                dst = np.concatenate(
                    [rng.permutation(rows * cols) for _ in range(copies)]
                )
                other = src != dst
                found = minimum_congestion(fabric, src[other], dst[other])
                missed.append(found.congestion - found.bound)
    assert sum(missed) <= 2
    assert max(missed) <= 1


def test_a_detour_around_a_closed_edge() -> None:
    """Where the only shortest route is closed, the next shortest is taken."""
    fabric = Lightpath(rows=2, cols=3)
    tail, head = fabric.edges()
    capacity = ((tail != 0) | (head != 1)).astype(np.int64)
    found = minimum_congestion(fabric, np.array([0]), np.array([1]), capacity=capacity)
    assert found.route.to_lists() == [[0, 3, 4, 1]]


def test_requests_of_one_pair_spread_over_detours() -> None:
    """Three requests from the middle to its neighbour meet the cut of three."""
    fabric = Lightpath(rows=3, cols=3)
    found = minimum_congestion(fabric, np.array([4, 4, 4]), np.array([5, 5, 5]))
    assert (found.congestion, found.bound) == (1, 1)
    assert [4, 5] in found.route.to_lists()


def test_no_requests(four_tiles: Lightpath) -> None:
    """Nothing to route has congestion 0 and an empty witness."""
    none = np.zeros(0, dtype=np.int64)
    found = minimum_congestion(four_tiles, none, none)
    assert (found.congestion, found.bound, len(found.route)) == (0, 0, 0)
    assert found.cut.tolist() == []


def test_effort_bounds_the_work() -> None:
    """Without effort the routes are still complete; negative effort is refused."""
    fabric = Lightpath(rows=8, cols=8)
    src, dst = random_requests(64, 128, seed=3)
    found = minimum_congestion(fabric, src, dst, effort=0)
    assert_routes(fabric, src, dst, found.route)
    assert found.congestion == counted_congestion(fabric, found.route, None)
    with pytest.raises(InputError, match="effort"):
        minimum_congestion(fabric, src, dst, effort=-1)


def test_same_routes_under_two_hash_seeds() -> None:
    """Same input and seed give the same routes, whatever the hash seed."""
    code = (
        "import numpy as np;"
        "from lightloom.instances.fabrics.lightpath import Lightpath;"
        "from lightloom.routing.minimum_congestion import minimum_congestion;"
        "r = np.random.default_rng(4); s = r.integers(0, 256, 768);"
        "d = (s + r.integers(1, 256, 768)) % 256;"
        "f = Lightpath(rows=16, cols=16);"
        "print(minimum_congestion(f, s, d, seed=9).route.to_lists())"
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
