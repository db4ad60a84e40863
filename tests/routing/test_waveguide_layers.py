"""Tests of packing a partial permutation in layers."""

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
from lightloom.routing.waveguide_layers import Layers, pack
from tests.examples.grid_requests import (
    assert_routes,
    capacities,
    fabrics,
    grid_graph,
    loads,
    partial_permutations,
)

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject

    from lightloom.core.columns import IntArray


def assert_layers(
    fabric: Lightpath,
    src: IntArray,
    dst: IntArray,
    capacity: IntArray | None,
    found: Layers,
) -> None:
    """Assert that the layers are complete, numbered without gaps, and all fit."""
    assert_routes(fabric, src, dst, found.route)
    assert np.unique(found.layer).tolist() == list(range(found.layer_count))
    assert found.bound <= found.layer_count
    graph = grid_graph(fabric, capacity)
    for layer in range(found.layer_count):
        members = np.flatnonzero(found.layer == layer)
        for edge, load in loads(found.route.take(members)).items():
            assert load <= graph.edges[edge]["capacity"]


def fewest_layers(graph: nx.DiGraph, src: IntArray, dst: IntArray) -> int:
    """Return the fewest layers of edge-disjoint paths, trying everything."""
    choices = [
        [frozenset(itertools.pairwise(p)) for p in nx.all_simple_paths(graph, a, b)]
        for a, b in zip(src.tolist(), dst.tolist(), strict=True)
    ]

    def fits(row: int, layers: tuple[frozenset[tuple[int, int]], ...]) -> bool:
        return row == len(choices) or any(
            fits(row + 1, (*layers[:i], used | path, *layers[i + 1 :]))
            for i, used in enumerate(layers)
            for path in choices[row]
            if not used & path
        )

    return next(n for n in itertools.count() if fits(0, (frozenset(),) * n))


@pytest.mark.parametrize("router", ["minimum-congestion", "random"])
@settings(deadline=None, max_examples=50)
@given(data=st.data())
def test_layers_fit(data: DataObject, router: str) -> None:
    """Within a layer no edge carries more than its capacity."""
    fabric = data.draw(fabrics())
    src, dst = data.draw(partial_permutations(fabric))
    capacity = data.draw(capacities(fabric))
    found = pack(fabric, src, dst, capacity=capacity, router=router, effort=200, seed=3)
    assert_layers(fabric, src, dst, capacity, found)


@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_fewest_layers_on_tiny_grids(data: DataObject) -> None:
    """On 2x2 and 2x3 tiles with one waveguide no packing has fewer layers."""
    fabric = Lightpath(rows=2, cols=data.draw(st.integers(2, 3)), waveguides=1)
    src, dst = data.draw(partial_permutations(fabric))
    found = pack(fabric, src, dst)
    best = fewest_layers(grid_graph(fabric), src, dst)
    assert found.bound <= best
    assert found.layer_count == best


def test_offsets_of_4x4_tiles_meet_their_bounds() -> None:
    """Every offset permutation of 16 tiles is packed with as many layers as proved."""
    fabric = Lightpath(rows=4, cols=4)
    src = np.arange(16)
    for offset in range(1, 16):
        dst = (src + offset) % 16
        found = pack(fabric, src, dst)
        assert_layers(fabric, src, dst, None, found)
        assert found.proved


def test_layers_beat_the_routes_alone() -> None:
    """Choosing layers and routes together beats first fit on random routes."""
    fabric = Lightpath(rows=8, cols=8)
    rng = np.random.default_rng(0)
    src, dst = np.arange(64), rng.permutation(64)
    src, dst = src[src != dst], dst[src != dst]
    together = pack(fabric, src, dst)
    apart = pack(fabric, src, dst, router="random")
    assert_layers(fabric, src, dst, None, together)
    assert_layers(fabric, src, dst, None, apart)
    assert together.layer_count == together.bound < apart.layer_count


def test_wide_edges_need_one_layer() -> None:
    """With enough waveguides everything is lit at once."""
    fabric = Lightpath(rows=4, cols=8, waveguides=32, fibers=32)
    src = np.arange(32)
    capacity = fabric.edge_waveguides(*fabric.edges())
    found = pack(fabric, src, (src + 13) % 32, capacity=capacity)
    assert (found.layer_count, found.bound) == (1, 1)


def test_no_requests(four_tiles: Lightpath) -> None:
    """Nothing to pack needs no layer."""
    none = np.zeros(0, dtype=np.int64)
    for router in ("minimum-congestion", "random"):
        found = pack(four_tiles, none, none, router=router)
        assert (found.layer_count, found.bound, len(found.route)) == (0, 0, 0)


@pytest.mark.parametrize(
    ("src", "dst", "message"),
    [([0, 0], [1, 2], "a source has"), ([0, 1], [2, 2], "a destination has")],
)
def test_only_partial_permutations(
    src: list[int], dst: list[int], message: str, four_tiles: Lightpath
) -> None:
    """A repeated source or destination is refused, with a way out."""
    with pytest.raises(InputError, match=f"{message}.*edge colouring"):
        pack(four_tiles, np.array(src), np.array(dst))


def test_unknown_router(four_tiles: Lightpath) -> None:
    """A router that does not exist is refused, naming those that do."""
    with pytest.raises(InputError, match="minimum-congestion or random"):
        pack(four_tiles, np.array([0]), np.array([1]), router="fastest")


def test_closed_edges_leave_no_packing() -> None:
    """A request without any route is infeasible, for both routers."""
    fabric = Lightpath(rows=1, cols=3)
    tail, head = fabric.edges()
    capacity = ((tail != 1) | (head != 2)).astype(np.int64)
    for router in ("minimum-congestion", "random"):
        with pytest.raises(InfeasibleError, match="no route from 0 to 2"):
            pack(fabric, np.array([0]), np.array([2]), capacity=capacity, router=router)


def test_the_seed_decides() -> None:
    """The same seed packs the same layers."""
    fabric = Lightpath(rows=8, cols=8)
    src = np.arange(64)
    dst = np.random.default_rng(6).permutation(64)
    src, dst = src[src != dst], dst[src != dst]
    first, again = (pack(fabric, src, dst, seed=5) for _ in range(2))
    assert first.layer.tolist() == again.layer.tolist()
    assert first.route.to_lists() == again.route.to_lists()
