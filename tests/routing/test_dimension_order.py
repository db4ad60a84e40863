"""Tests of dimension-ordered routes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.routing.routes import dimension_ordered
from tests.examples.grid_requests import assert_routes, fabrics, requests

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject

Order = Literal["row", "column"]


def test_both_orders_by_hand() -> None:
    """On 3x4 tiles the two routes from tile 0 to tile 10 turn at 2 and at 8."""
    grid = Lightpath(rows=3, cols=4)
    src, dst = np.array([0, 10]), np.array([10, 0])
    along_rows = dimension_ordered(grid, src, dst, first="row")
    assert along_rows.to_lists() == [[0, 1, 2, 6, 10], [10, 9, 8, 4, 0]]
    along_columns = dimension_ordered(grid, src, dst, first="column")
    assert along_columns.to_lists() == [[0, 4, 8, 9, 10], [10, 6, 2, 1, 0]]


@pytest.mark.parametrize("first", ["row", "column"])
@settings(deadline=None)
@given(data=st.data())
def test_routes_are_shortest_and_turn_once(data: DataObject, first: Order) -> None:
    """Every route is a simple path of the least length with at most one turn."""
    fabric = data.draw(fabrics())
    src, dst = data.draw(requests(fabric))
    route = dimension_ordered(fabric, src, dst, first=first)
    assert_routes(fabric, src, dst, route)
    for row, tiles in enumerate(route.to_lists()):
        down = abs(dst[row] // fabric.cols - src[row] // fabric.cols)
        right = abs(dst[row] % fabric.cols - src[row] % fabric.cols)
        assert len(tiles) == down + right + 1
        turn = tiles[right if first == "row" else down]
        corner = (
            src[row] // fabric.cols * fabric.cols + dst[row] % fabric.cols
            if first == "row"
            else dst[row] // fabric.cols * fabric.cols + src[row] % fabric.cols
        )
        assert turn == corner
