"""All-to-all in slots: what a slot may hold, and how many there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InfeasibleError
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.problems.fewest_rounds.slots import (
    Slots,
    all_to_all_slots,
    balanced_square,
    symmetric_slots,
)
from lightloom.routing.graph import capacity_by_id


def check(fabric: Lightpath, slots: Slots, count: int) -> None:
    """Assert that each pair has one slot, and no slot has more than it may."""
    pairs = slots.src * fabric.node_count + slots.dst
    assert len(np.unique(pairs)) == len(pairs) == count * (count - 1)
    assert slots.slot.min(initial=0) == 0
    assert slots.slot.max(initial=-1) + 1 == slots.slot_count >= slots.bound
    for ends in (slots.src, slots.dst):
        assert len(np.unique(slots.slot * fabric.node_count + ends)) == len(pairs)
    route = slots.route
    assert (route.values[route.offsets[:-1]] == slots.src).all()
    assert (route.values[route.offsets[1:] - 1] == slots.dst).all()
    inner = np.delete(np.arange(len(route.values)), route.offsets[1:] - 1)
    tail, head = route.values[inner], route.values[inner + 1]
    edge = fabric.edge_ids(tail, head)
    assert (edge >= 0).all()
    key = slots.slot[route.row_of_value[inner]] * 4 * fabric.node_count + edge
    used, where, load = np.unique(key, return_index=True, return_counts=True)
    assert len(used) == len(load)
    assert (load <= fabric.edge_waveguides(tail[where], head[where])).all()


@pytest.mark.parametrize("waveguides", [1, 2, 4, 8])
@pytest.mark.parametrize(
    "side",
    [(4, 4), (4, 8), (6, 8), (8, 8), pytest.param((12, 4), marks=pytest.mark.slow)],
)
def test_at_the_bound(side: tuple[int, int], waveguides: int) -> None:
    """Grids of such sides meet the receive or the cut bound."""
    fabric = Lightpath(rows=side[0], cols=side[1], waveguides=waveguides)
    slots = all_to_all_slots(fabric)
    check(fabric, slots, fabric.node_count)
    assert slots.proved


def test_rack_of_256() -> None:
    """All 65,280 pairs of 16x16 tiles need 1024 slots of one waveguide."""
    fabric = Lightpath(rows=16, cols=16, waveguides=1)
    slots = all_to_all_slots(fabric)
    check(fabric, slots, 256)
    assert slots.slot_count == slots.bound == 1024


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(1, 5),
    cols=st.integers(1, 5),
    waveguides=st.integers(1, 3),
    fibers=st.integers(1, 3),
    data=st.data(),
)
def test_any_tiles(
    rows: int, cols: int, waveguides: int, fibers: int, data: st.DataObject
) -> None:
    """Slots of any tiles, in any order, hold no more than they may."""
    fabric = Lightpath(
        rows=rows,
        cols=cols,
        wafer_rows=2,
        wafer_cols=2,
        waveguides=waveguides,
        fibers=fibers,
    )
    nodes = data.draw(
        st.lists(st.integers(0, rows * cols - 1), min_size=1, unique=True)
    )
    slots = all_to_all_slots(fabric, tuple(nodes), effort=200)
    check(fabric, slots, len(nodes))


def test_same_seed_same_slots() -> None:
    """The seed decides."""
    fabric = Lightpath(rows=3, cols=5, waveguides=1)
    one, two = (all_to_all_slots(fabric, seed=3, effort=500) for _ in range(2))
    assert (one.slot == two.slot).all()
    assert (one.route.values == two.route.values).all()


def test_closed_edges() -> None:
    """A pair without a route is refused."""
    fabric = Lightpath(rows=1, cols=2, wafer_cols=1, fibers=0)
    with pytest.raises(InfeasibleError):
        all_to_all_slots(fabric)


@pytest.mark.parametrize("identity", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 8, 16])
def test_balanced_square(size: int, *, identity: bool) -> None:
    """Each place goes to each place once, and few paths cross any line."""
    average = (size // 2) * (size - size // 2)
    most = -(-average // max(size - identity, 1))
    square = balanced_square(size, most, identity=identity)
    assert square is not None
    table = np.array(square)
    assert (np.sort(table, axis=0) == np.arange(size)[:, None]).all()
    assert (np.sort(table, axis=1) == np.arange(size)).all()
    for place in range(1, size):
        assert (table[:, :place] >= place).sum(axis=1).max() <= most
    if identity:
        assert square[0] == tuple(range(size))


@pytest.mark.parametrize(
    ("rows", "cols", "waveguides", "count"),
    [(5, 5, 1, 30), (3, 5, 1, 18), (4, 6, 2, 36), (5, 5, 2, 24)],
)
def test_slots_that_look_alike_when_turned_meet_the_bound(
    rows: int, cols: int, waveguides: int, count: int
) -> None:
    """By quarters and by halves, with a tile in the middle and without."""
    fabric = Lightpath(
        rows=rows, cols=cols, lasers=1, waveguides=waveguides, fibers=waveguides
    )
    by_id = capacity_by_id(fabric, fabric.edge_waveguides(*fabric.edges()))
    found = symmetric_slots(fabric, by_id, count, seed=0, moves=60_000)
    assert found is not None
    slot, route = found
    tiles = fabric.node_count
    src, dst = np.nonzero(~np.eye(tiles, dtype=np.bool_))
    nodes = np.arange(tiles)
    check(
        fabric,
        Slots(src, dst, slot, route, count, count, "cut", nodes, "alike when turned"),
        tiles,
    )
    assert symmetric_slots(fabric, by_id, count, seed=0, moves=0) is None
