"""Windows of a ring: right in every round, on rings that are compact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.task import Collective
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.problems.fewest_rounds import few_rounds
from lightloom.problems.fewest_rounds.chunk_moves import to_schedule
from lightloom.problems.fewest_rounds.planned_rounds import compact_ring, windowed
from lightloom.validate import verify


def hops_along(fabric: Lightpath, ring: list[int], reach: int) -> int:
    """Return the hops from all tiles to so many of the next."""
    row, col = np.divmod(np.array(ring), fabric.cols)
    return sum(
        int((np.abs(row - np.roll(row, -far)) + np.abs(col - np.roll(col, -far))).sum())
        for far in range(1, reach + 1)
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 7), st.integers(1, 7), st.data())
def test_rings_hold_each_tile_once(rows: int, cols: int, data: st.DataObject) -> None:
    """Of all tiles, and of some."""
    fabric = Lightpath(rows=rows, cols=cols)
    tiles = data.draw(st.sets(st.integers(0, rows * cols - 1), min_size=1))
    ring = compact_ring(fabric, np.array(sorted(tiles)), ahead=3, behind=2)
    assert sorted(ring.tolist()) == sorted(tiles)


@pytest.mark.parametrize("grid", [(4, 4), (4, 6), (6, 5), (5, 6), (8, 8)])
def test_half_a_turn_is_half_a_ring(grid: tuple[int, int]) -> None:
    """Where no tile is in the middle; no order of rows has as few hops."""
    rows, cols = grid
    fabric = Lightpath(rows=rows, cols=cols)
    every = np.arange(rows * cols)
    ring = compact_ring(fabric, every, ahead=4, behind=4)
    half = len(every) // 2
    assert ring[half:].tolist() == (len(every) - 1 - ring[:half]).tolist()
    assert hops_along(fabric, ring.tolist(), 4) < hops_along(fabric, every.tolist(), 4)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(2, 5), st.data())
def test_what_is_found_is_right(rows: int, cols: int, data: st.DataObject) -> None:
    """On grids and parts of them, in as few rounds as tiles can receive, and more."""
    fabric = Lightpath(
        rows=rows,
        cols=cols,
        lasers=data.draw(st.integers(1, 9)),
        waveguides=data.draw(st.integers(1, 3)),
    )
    every = st.integers(0, rows * cols - 1)
    nodes = tuple(data.draw(st.lists(every, min_size=2, unique=True)))
    least = -(-(len(nodes) - 1) // fabric.lasers)
    rounds = least + data.draw(st.integers(0, 2))
    moves = windowed(fabric, nodes, rounds=rounds)
    if moves is None:
        return
    assert moves.round_count == rounds
    task = Collective("all-gather", nodes, 24 * len(nodes), len(nodes))
    schedule = to_schedule(fabric, task, moves, name="rounds", parameters={}, seed=0)
    verdict = verify(schedule)
    assert verdict.valid, verdict.violations[:3]


def test_fewer_rounds_than_tiles_can_receive() -> None:
    """None are found."""
    fabric = Lightpath(rows=3, cols=3, lasers=3)
    assert windowed(fabric, range(9), rounds=2) is None


@pytest.mark.parametrize(
    ("rows", "cols", "lasers", "rounds"),
    [
        (5, 5, 8, 3),
        (4, 8, 8, 4),
        (8, 8, 16, 4),
        (3, 16, 8, 6),
        pytest.param(12, 12, 16, 9, marks=pytest.mark.slow),
        pytest.param(16, 16, 16, 16, marks=pytest.mark.slow),
    ],
)
def test_no_laser_is_idle(rows: int, cols: int, lasers: int, rounds: int) -> None:
    """With one waveguide an edge: as many rounds as tiles need to receive."""
    waveguides = 2 if rows == 3 else 1
    fabric = Lightpath(rows=rows, cols=cols, lasers=lasers, waveguides=waveguides)
    nodes = tuple(range(rows * cols))
    task = Collective("all-gather", nodes, 24 * len(nodes))
    found = few_rounds(Instance(fabric, task, "test"), tries=1)
    assert verify(found.schedule()).valid
    assert found.method == "windows of a ring"
    assert found.rounds == found.bound.rounds == rounds


def test_circuits_stay_from_the_second_round_on() -> None:
    """Rounds over the same circuits share a segment, so two are paid for."""
    fabric = Lightpath(rows=4, cols=8, lasers=4, waveguides=1)
    nodes = tuple(range(32))
    moves = windowed(fabric, nodes, rounds=8)
    assert moves is not None
    task = Collective("all-gather", nodes, 24 * 32, 32)
    schedule = to_schedule(fabric, task, moves, name="rounds")
    assert (len(schedule.segments), schedule.step_count) == (2, 8)
