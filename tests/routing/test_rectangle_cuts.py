"""Tests of lower bounds on congestion by rectangles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.routing.rectangle_cuts import every_permutation_fits, rectangle_cut
from tests.examples.grid_requests import (
    capacities,
    fabrics,
    grid_graph,
    random_requests,
    requests,
)

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject

    from lightloom.core.columns import IntArray


def crossing(
    fabric: Lightpath,
    src: IntArray,
    dst: IntArray,
    capacity: IntArray | None,
    inside: set[int],
) -> list[tuple[int, int]]:
    """Return (demand, capacity) out of a node set and into it, counted one by one."""
    graph = grid_graph(fabric, capacity)
    pairs = list(zip(src.tolist(), dst.tolist(), strict=True))
    found = []
    for leaving in (True, False):
        demand = sum((a in inside) == leaving != (b in inside) for a, b in pairs)
        room = sum(
            c
            for a, b, c in graph.edges(data="capacity")
            if (a in inside) == leaving != (b in inside)
        )
        found.append((demand, room))
    return found


def every_rectangle(fabric: Lightpath) -> list[set[int]]:
    """Return the tiles of every rectangle."""
    return [
        {r * fabric.cols + c for r in range(top, bottom) for c in range(left, right)}
        for top in range(fabric.rows)
        for bottom in range(top + 1, fabric.rows + 1)
        for left in range(fabric.cols)
        for right in range(left + 1, fabric.cols + 1)
    ]


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_bound_is_the_best_rectangle(data: DataObject) -> None:
    """Prefix sums find what counting around every rectangle finds."""
    fabric = data.draw(fabrics(most=4))
    src, dst = data.draw(requests(fabric))
    capacity = data.draw(capacities(fabric))
    best = 0
    for inside in every_rectangle(fabric):
        for demand, room in crossing(fabric, src, dst, capacity, inside):
            best = max(best, -(-demand // room) if demand else 0)
    cut = rectangle_cut(fabric, src, dst, capacity=capacity)
    assert cut.bound == best


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_permutations_fit_where_no_rectangle_is_crowded(data: DataObject) -> None:
    """Counting around every rectangle says the same, and no permutation is cut."""
    fabric = data.draw(fabrics(most=4))
    count = fabric.node_count
    number = st.integers(1, data.draw(st.sampled_from([3, count])))
    size = len(fabric.edges()[0])
    drawn = data.draw(st.lists(number, min_size=size, max_size=size))
    capacity = np.array(drawn, dtype=np.int64)
    nobody = np.zeros(0, dtype=np.int64)
    fits = all(
        min(len(inside), count - len(inside)) <= room
        for inside in every_rectangle(fabric)
        for _, room in crossing(fabric, nobody, nobody, capacity, inside)
    )
    assert every_permutation_fits(fabric, capacity) == fits
    if fits:
        dst = np.array(data.draw(st.permutations(range(count))), dtype=np.int64)
        src = np.flatnonzero(dst != np.arange(count))
        cut = rectangle_cut(fabric, src, dst[src], capacity=capacity)
        assert cut.bound == bool(len(src))


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_witness_proves_the_bound(data: DataObject) -> None:
    """The demand and capacity of the witness are as counted, and give the bound."""
    fabric = data.draw(fabrics())
    src, dst = data.draw(requests(fabric))
    capacity = data.draw(capacities(fabric))
    cut = rectangle_cut(fabric, src, dst, capacity=capacity)
    if not len(src):
        assert (cut.bound, cut.nodes.tolist()) == (0, [])
        return
    counted = crossing(fabric, src, dst, capacity, set(cut.nodes.tolist()))
    assert counted[0 if cut.leaving else 1] == (cut.demand, cut.capacity)
    assert cut.bound == -(-cut.demand // cut.capacity) > 0


@pytest.mark.parametrize(
    ("rows", "cols", "bound"), [(4, 4, 16), (4, 8, 64), (8, 8, 128), (16, 16, 1024)]
)
def test_all_to_all(rows: int, cols: int, bound: int) -> None:
    """Half of the tiles sending to the other half crosses the middle."""
    fabric = Lightpath(rows=rows, cols=cols)
    nodes = fabric.node_count
    src, dst = np.divmod(np.arange(nodes * nodes), nodes)
    other = src != dst
    cut = rectangle_cut(fabric, src[other], dst[other])
    assert cut.bound == bound


def test_fibres_bound_what_crosses_wafers() -> None:
    """Four requests over two fibres have congestion two, over four fibres one."""
    fabric = Lightpath(rows=2, cols=4, wafer_rows=2, wafer_cols=2, fibers=1)
    src, dst = np.array([0, 1, 4, 5]), np.array([2, 3, 6, 7])
    wide = fabric.edge_waveguides(*fabric.edges())
    assert rectangle_cut(fabric, src, dst, capacity=wide).bound == 2
    assert rectangle_cut(fabric, src, dst, capacity=2 * wide).bound == 1


def test_long_grids_try_evenly_spaced_borders() -> None:
    """On a side of more than 64 tiles the bound is still proved by its witness."""
    fabric = Lightpath(rows=2, cols=150)
    src, dst = random_requests(300, 400, seed=5)
    cut = rectangle_cut(fabric, src, dst)
    counted = crossing(fabric, src, dst, None, set(cut.nodes.tolist()))
    assert counted[0 if cut.leaving else 1] == (cut.demand, cut.capacity)
    assert cut.bound >= -(-counted[0][0] // counted[0][1])
    assert cut.bound > 10


def test_a_closed_border_is_infeasible() -> None:
    """Requests across a border without capacity are refused, naming it."""
    fabric = Lightpath(rows=1, cols=4)
    tail, head = fabric.edges()
    capacity = ((tail != 1) | (head != 2)).astype(np.int64)
    with pytest.raises(InfeasibleError, match="light must leave rows 0 to 0, columns"):
        rectangle_cut(fabric, np.array([0]), np.array([3]), capacity=capacity)


@pytest.mark.parametrize(
    ("src", "dst", "message"),
    [
        ([0], [4], "a destination is not a tile"),
        ([-1], [0], "a source is not a tile"),
        ([2], [2], "to itself"),
        ([0, 1], [1], "one length"),
    ],
)
def test_requests_off_the_grid_are_refused(
    src: list[int], dst: list[int], message: str, four_tiles: Lightpath
) -> None:
    """Rows that ask for no route are refused with what was found."""
    with pytest.raises(InputError, match=message):
        rectangle_cut(four_tiles, np.array(src), np.array(dst))


def test_capacities_must_match_the_edges(four_tiles: Lightpath) -> None:
    """One capacity per directed edge, none negative."""
    for capacity in (np.ones(7, dtype=np.int64), np.array([1] * 7 + [-1])):
        with pytest.raises(InputError, match="8 integers"):
            rectangle_cut(four_tiles, np.array([0]), np.array([3]), capacity=capacity)
