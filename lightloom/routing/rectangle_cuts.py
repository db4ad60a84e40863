"""Lower bounds on congestion: what must cross the boundary of a rectangle of tiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InfeasibleError
from lightloom.routing.graph import capacity_by_id, check_requests

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath


_MOST_LINES = 64
"""Borders along a side: rectangles grow as their fourth power."""
_UP, _LEFT, _RIGHT, _DOWN = range(4)


@dataclass(frozen=True, eq=False)
class RectangleCut:
    """A node set whose boundary proves that no routing has a smaller congestion.

    `bound`: ``ceil(demand / capacity)``; 0 where there is no request. `demand`:
    requests that must cross the boundary in one direction. `capacity`: capacity of all
    directed edges that cross it in that direction. `leaving`: whether that direction is
    out of the node set.
    """

    bound: int
    nodes: IntArray
    demand: int
    capacity: int
    leaving: bool


def rectangle_cut(
    fabric: Lightpath,
    src: IntArray,
    dst: IntArray,
    *,
    capacity: IntArray | None = None,
) -> RectangleCut:
    """Return the best lower bound on congestion by the boundary of a rectangle.

    Whatever the routes, an edge of the boundary carries at least its share of the
    requests that must cross: some ``ceil(load / capacity)`` is at least
    ``ceil(demand / sum of capacities)``. Every rectangle is tried, requests that
    leave it and requests that enter it, with prefix sums.

    `src`, `dst`: tiles of the requests, shape (requests,); repeated rows count each.
    `capacity`: capacity of each edge in the order of ``fabric.edges()``; 1 where
    ``None``.

    Returns the cut of the largest bound, the first in the order of top border,
    direction (leaving before entering), bottom, left, right border; exact integers.

    Raises `InputError` if requests or capacities do not fit the grid; `InfeasibleError`
    if requests must cross a boundary that has no capacity at all.

    O(requests + rows**2 cols**2). On grids with a side of more than 64 tiles, only
    rectangles whose borders lie on 64 evenly spaced lines are tried.
    """
    check_requests(fabric, src, dst)
    by_id = capacity_by_id(fabric, capacity)
    if not len(src):
        return RectangleCut(0, np.zeros(0, dtype=np.int64), 0, 0, leaving=True)
    grid = by_id.reshape(fabric.rows, fabric.cols, 4)
    rows, cols = _lines(fabric.rows), _lines(fabric.cols)
    leaving, entering = _crossings(grid, rows, cols)
    from_row, from_col = _blocks(src, fabric.cols, rows, cols)
    to_row, to_col = _blocks(dst, fabric.cols, rows, cols)
    shape = (len(rows) - 1, len(cols) - 1)
    sources = _prefix(from_row, from_col, shape)
    sinks = _prefix(to_row, to_col, shape)
    inner = _Inner(from_row, to_row, from_col, to_col, shape)
    best: _Rectangle | None = None
    # From the last row of blocks up, so that requests inside only ever come in.
    for top in reversed(range(shape[0])):
        inside = inner.below(top)
        demand = np.stack(
            [_rectangles(total, top) - inside for total in (sources, sinks)]
        )
        room = np.stack([_room(edges, top) for edges in (leaving, entering)])
        found = _best(demand, room, top)
        if best is None or found.bound >= best.bound:
            best = found
    assert best is not None
    return _cut(fabric, best, rows, cols)


def every_permutation_fits(fabric: Lightpath, capacity: IntArray) -> bool:
    """Return whether `rectangle_cut` is at most 1 for all partial permutations.

    So it is where no rectangle has more tiles inside, and outside, than capacity
    across its border: as many requests cross it at most.

    `capacity`: capacity of each edge in the order of ``fabric.edges()``.

    Raises `InputError` if capacities do not fit the grid.
    """
    grid = capacity_by_id(fabric, capacity).reshape(fabric.rows, fabric.cols, 4)
    rows, cols = _lines(fabric.rows), _lines(fabric.cols)
    width = (cols - cols[:, None])[:-1, 1:]
    borders = _crossings(grid, rows, cols)
    for top in range(len(rows) - 1):
        tiles = (rows[top + 1 :] - rows[top])[:, None, None] * width
        least = np.minimum(tiles, fabric.node_count - tiles)
        over = [(least > _room(edges, top)) & (width > 0) for edges in borders]
        if np.any(over):
            return False
    return True


@dataclass(frozen=True)
class _Rectangle:
    """A rectangle between lines: rows [top, bottom), columns [left, right)."""

    demand: int
    capacity: int
    leaving: bool
    top: int
    bottom: int
    left: int
    right: int

    @property
    def bound(self) -> float:
        """The bound; infinite where nothing can cross."""
        if self.demand and not self.capacity:
            return float("inf")
        return -(-self.demand // max(self.capacity, 1))


@dataclass(frozen=True, eq=False)
class _Crossing:
    """Prefix sums of the capacity that crosses each line in one direction.

    Shape (row lines, column lines); `up` and `down` sum along a row line, `left`
    and `right` along a column line.
    """

    up: IntArray
    down: IntArray
    left: IntArray
    right: IntArray


def _lines(size: int) -> IntArray:
    """Return where borders may lie along a side of `size` tiles."""
    count = min(size, _MOST_LINES)
    return np.arange(count + 1, dtype=np.int64) * size // count


def _blocks(
    nodes: IntArray, width: int, rows: IntArray, cols: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the block between lines that each tile lies in."""
    row = np.searchsorted(rows, nodes // width, side="right") - 1
    col = np.searchsorted(cols, nodes % width, side="right") - 1
    return row.astype(np.int64), col.astype(np.int64)


def _prefix(row: IntArray, col: IntArray, shape: tuple[int, int]) -> IntArray:
    """Return how many points lie above each row line and left of each column line."""
    flat = np.bincount(row * shape[1] + col, minlength=shape[0] * shape[1])
    sums = np.zeros((shape[0] + 1, shape[1] + 1), dtype=np.int64)
    sums[1:, 1:] = flat.reshape(shape).cumsum(axis=0).cumsum(axis=1)
    return sums


def _crossings(
    grid: IntArray, rows: IntArray, cols: IntArray
) -> tuple[_Crossing, _Crossing]:
    """Return the capacity out of, and into, whatever lies within the lines."""
    high, wide, _ = grid.shape
    up = np.zeros((high + 1, wide + 1), dtype=np.int64)
    down, left, right = up.copy(), up.copy(), up.copy()
    up[:-1, 1:] = grid[:, :, _UP].cumsum(axis=1)
    down[1:, 1:] = grid[:, :, _DOWN].cumsum(axis=1)
    left[1:, :-1] = grid[:, :, _LEFT].cumsum(axis=0)
    right[1:, 1:] = grid[:, :, _RIGHT].cumsum(axis=0)
    at = np.ix_(rows, cols)
    up, down, left, right = up[at], down[at], left[at], right[at]
    return _Crossing(up, down, left, right), _Crossing(down, up, right, left)


class _Inner:
    """Requests with both ends in a rectangle, for one top line after another."""

    def __init__(
        self,
        from_row: IntArray,
        to_row: IntArray,
        from_col: IntArray,
        to_col: IntArray,
        shape: tuple[int, int],
    ) -> None:
        first = np.minimum(from_row, to_row)
        order = np.argsort(first, kind="stable")
        self._starts = np.searchsorted(first[order], np.arange(shape[0] + 1))
        self._bottom = np.maximum(from_row, to_row)[order]
        self._left = np.minimum(from_col, to_col)[order]
        self._right = np.maximum(from_col, to_col)[order]
        self._shape = (shape[0], shape[1], shape[1])
        self._count = np.zeros(self._shape, dtype=np.int64)

    def below(self, top: int) -> IntArray:
        """Return the requests within each (bottom, left, right); one top at a time."""
        rows = slice(self._starts[top], self._starts[top + 1])
        high, wide, _ = self._shape
        cell = (self._bottom[rows] * wide + self._left[rows]) * wide + self._right[rows]
        new = np.bincount(cell, minlength=high * wide * wide).reshape(self._shape)
        new = new.cumsum(axis=0)[:, ::-1].cumsum(axis=1)[:, ::-1].cumsum(axis=2)
        self._count += new
        return self._count[top:]


def _rectangles(sums: IntArray, top: int) -> IntArray:
    """Return the points in each rectangle (bottom, left, right) below `top`."""
    strips = sums[top + 1 :] - sums[top]
    inside: IntArray = strips[:, None, 1:] - strips[:, :-1, None]
    return inside


def _room(edges: _Crossing, top: int) -> IntArray:
    """Return the capacity across the border of each rectangle below `top`."""
    level = edges.up[top] + edges.down[top + 1 :]
    to_right = level + edges.right[top + 1 :] - edges.right[top]
    to_left = level - edges.left[top + 1 :] + edges.left[top]
    room: IntArray = to_right[:, None, 1:] - to_left[:, :-1, None]
    return room


def _best(demand: IntArray, room: IntArray, top: int) -> _Rectangle:
    """Return the rectangle of largest bound, over (direction, bottom, left, right)."""
    wide = demand.shape[-1]
    real = np.arange(wide) >= np.arange(wide)[:, None]
    demand, room = np.where(real, demand, 0), np.where(real, room, 0)
    bounds = -(-demand // np.maximum(room, 1))
    closed = (room == 0) & (demand > 0)
    place = int((closed if closed.any() else bounds).argmax())
    way, bottom, left, right = (int(x) for x in np.unravel_index(place, demand.shape))
    return _Rectangle(
        demand=int(demand.flat[place]),
        capacity=int(room.flat[place]),
        leaving=way == 0,
        top=top,
        bottom=top + bottom + 1,
        left=left,
        right=right + 1,
    )


def _cut(
    fabric: Lightpath, best: _Rectangle, rows: IntArray, cols: IntArray
) -> RectangleCut:
    """Return a found rectangle as the tiles it holds."""
    row = np.arange(rows[best.top], rows[best.bottom])
    col = np.arange(cols[best.left], cols[best.right])
    if best.demand and not best.capacity:
        way = "leave" if best.leaving else "enter"
        tiles = f"rows {row[0]} to {row[-1]}, columns {col[0]} to {col[-1]}"
        what = f"light must {way} {tiles}, where no edge has a waveguide or fibre"
        fix = "give the fabric waveguides"
        raise InfeasibleError(what, where="fabric.waveguides", found=0, fix=fix)
    nodes = (row[:, None] * fabric.cols + col).ravel()
    bound = int(best.bound)
    return RectangleCut(bound, nodes, best.demand, best.capacity, leaving=best.leaving)


def straight_cuts(fabric: Lightpath) -> Iterator[tuple[npt.NDArray[np.bool_], int]]:
    """Yield either side of every straight cut, and how many waveguides lead out of it.

    Returns which tiles, shape (tiles,), and waveguides or fibres: between rows first.
    """
    tail, head = fabric.edges()
    width = fabric.edge_waveguides(tail, head)
    sides = np.divmod(np.arange(fabric.node_count), fabric.cols)
    for side, most in zip(sides, (fabric.rows, fabric.cols), strict=True):
        for place in range(1, most):
            for inside in (side < place, side >= place):
                yield inside, int(width[inside[tail] & ~inside[head]].sum())
