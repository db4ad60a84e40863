"""Congestion and cuts are recomputed from scratch."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from lightloom.core.columns import Ragged, column
from lightloom.core.errors import InputError
from lightloom.core.seed import seeded_random
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.validate.certificates.congestion import (
    CongestionQuestion,
    congestion_of,
)
from lightloom.validate.certificates.witness import NotProvenError

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray

GRID = Lightpath(rows=4, cols=4)


def _by_cut(fabric: Lightpath, src: IntArray, dst: IntArray, nodes: list[int]) -> int:
    """Return the largest bound that a node set proves."""
    question, bound = CongestionQuestion(fabric, src, dst), 0
    while True:
        try:
            question.prove("cut", {"nodes": [*nodes]}, bound + 1)
        except NotProvenError:
            return bound
        bound += 1


def route_by_row(src: int, dst: int, cols: int) -> list[int]:
    """Return the route along the row first, then along the column."""
    route, here = [src], src
    while here % cols != dst % cols:
        here += 1 if here % cols < dst % cols else -1
        route.append(here)
    while here != dst:
        here += cols if here < dst else -cols
        route.append(here)
    return route


def test_all_to_all_on_four_by_four() -> None:
    """Dimension-ordered all-to-all loads an edge 16 times, and no routes do better."""
    pairs = [(s, d) for s in range(16) for d in range(16) if s != d]
    src, dst = column(s for s, _ in pairs), column(d for _, d in pairs)
    routes = Ragged.from_lists([route_by_row(s, d, 4) for s, d in pairs])
    congestion, (tail, head) = congestion_of(GRID, routes)
    assert congestion == 16
    assert abs(head - tail) in (1, 4)
    left = [node for node in range(16) if node % 4 < 2]
    assert _by_cut(GRID, src, dst, left) == 16


def test_congestion_counts_each_route_once_an_edge() -> None:
    """Loads agree with counting edge by edge."""
    rng = seeded_random(5)
    lists = [route_by_row(rng.randrange(16), rng.randrange(16), 4) for _ in range(40)]
    loads: dict[tuple[int, int], int] = {}
    for route in lists:
        for edge in pairwise(route):
            loads[edge] = loads.get(edge, 0) + 1
    congestion, edge = congestion_of(GRID, Ragged.from_lists(lists))
    assert congestion == max(loads.values()) == loads[edge]


def test_no_edges_no_congestion() -> None:
    """Routes that stay where they are load nothing."""
    assert congestion_of(GRID, Ragged.from_lists([])) == (0, (-1, -1))
    assert congestion_of(GRID, Ragged.from_lists([[3]])) == (0, (-1, -1))


@pytest.mark.parametrize("route", [[0, 2], [0, 16], [-1, 0], [3, 4]])
def test_what_is_no_path_is_refused(route: list[int]) -> None:
    """Jumps and tiles outside the grid are errors."""
    with pytest.raises(InputError):
        congestion_of(GRID, Ragged.from_lists([[0, 1], route]))


def test_cut_counts_both_directions() -> None:
    """The bound is the larger direction, over the open edges that cross."""
    line = Lightpath(rows=1, cols=3)
    src, dst = column([0, 0, 0, 2]), column([1, 2, 2, 0])
    assert _by_cut(line, src, dst, [0]) == 3
    assert _by_cut(line, src, dst, [2]) == 2
    assert _by_cut(line, src, dst, []) == 0
    closed = Lightpath(rows=2, cols=2, wafer_rows=1, fibers=0)
    with pytest.raises(InputError, match="no route from 0 to 2"):
        _by_cut(closed, column([0]), column([2]), [0])
    with pytest.raises(InputError, match="named twice"):
        _by_cut(line, src, dst, [0, 0])
