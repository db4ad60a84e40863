"""The rectangle of a grid, or the complement of one, that most data must enter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import distinct
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.validate.certificates.completion_time.requirements import (
    DemandNeeds,
    Mask,
)

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.validate.certificates.completion_time.requirements import (
        CollectiveNeeds,
    )

_MOST_TOTAL = 2**62
"""Bytes of a demand whose prefix sums are exact in 63 bits."""


@dataclass(frozen=True, eq=False)
class _Demands:
    """What must enter a set S, as sums that prefix sums can take.

    Entering is the sum of `at_all` outside S where S has a member (or `any_all` where
    both sides have one), of `at_one` inside S where a member is outside, and of
    `pairs` from outside to inside.
    """

    member: IntArray
    at_all: IntArray
    any_all: int
    at_one: IntArray
    pairs: IntArray | None


def best_rectangle(
    fabric: Lightpath, needs: CollectiveNeeds | DemandNeeds
) -> Mask | None:
    """Return the rectangle, or complement of one, with the most data per lane.

    Returns the set, shape (nodes,); ``None`` where nothing must enter any of them, or
    by nothing, or the bytes in all do not fit 63 bits.

    Everything is computed for all column intervals at once, row interval by row
    interval: time O((rows cols)^2), memory O(nodes^2) where data go by pairs.
    Ties go to the first in (row interval, column interval, inside before outside).
    """
    data = _demands(needs)
    if data is None:
        return None
    rows, cols = fabric.rows, fabric.cols
    grid = (rows, cols)
    member, at_all, at_one = (
        _prefix(column.reshape(grid))
        for column in (data.member, data.at_all, data.at_one)
    )
    pairs = None if data.pairs is None else _pair_prefix(data.pairs, grid)
    beside, below = _edges(fabric)
    first, last = np.triu_indices(cols)
    best: tuple[int, int, tuple[int, int, int, int, int]] | None = None
    totals = (int(data.member.sum()), int(data.at_all.sum()), int(data.at_one.sum()))
    for top in range(rows):
        for bottom in range(top, rows):
            box = (top, bottom, first, last)
            inner = [_box(sums, *box) for sums in (member, at_all, at_one)]
            into, out = (0, 0) if pairs is None else _crossing(pairs, *box)
            paths = (
                beside[bottom + 1, first]
                - beside[top, first]
                + beside[bottom + 1, last + 1]
                - beside[top, last + 1]
                + below[top, last + 1]
                - below[top, first]
                + below[bottom + 1, last + 1]
                - below[bottom + 1, first]
            )
            outer = [total - part for total, part in zip(totals, inner, strict=True)]
            for side, (here, there, extra) in enumerate(
                ((inner, outer, into), (outer, inner, out))
            ):
                both = (here[0] > 0) & (there[0] > 0)
                enters = both * (there[1] + data.any_all + here[2]) + extra
                lanes = np.minimum(paths, here[0])
                found = _densest(enters, lanes)
                if found is not None and _denser(found, best):
                    place = found[2]
                    columns = (int(first[place]), int(last[place]))
                    best = (found[0], found[1], (side, top, bottom, *columns))
    return None if best is None else _mask(grid, best[2])


def _densest(enters: IntArray, lanes: IntArray) -> tuple[int, int, int] | None:
    """Return (data, lanes, place) with the largest quotient, exactly."""
    best: tuple[int, int, int] | None = None
    for number in distinct(lanes[(lanes > 0) & (enters > 0)]).tolist():
        place = int(np.argmax(np.where(lanes == number, enters, -1)))
        found = (int(enters[place]), int(number), place)
        if _denser(found, best):
            best = found
    return best


def _denser(
    found: tuple[int, int, object], best: tuple[int, int, object] | None
) -> bool:
    return best is None or found[0] * best[1] > best[0] * found[1]


def _mask(grid: tuple[int, int], place: tuple[int, int, int, int, int]) -> Mask:
    side, top, bottom, first, last = place
    inside = np.zeros(grid, dtype=np.bool_)
    inside[top : bottom + 1, first : last + 1] = True
    return (~inside if side else inside).reshape(-1)


def _demands(needs: CollectiveNeeds | DemandNeeds) -> _Demands | None:
    count = needs.node_count
    zeros = np.zeros(count, dtype=np.int64)
    if isinstance(needs, DemandNeeds):
        if sum(needs.sent_bytes()) > _MOST_TOTAL:
            return None
        pairs = np.zeros((count, count), dtype=np.int64)
        pairs[needs.src, needs.dst] = needs.bytes
        return _Demands(zeros + 1, zeros, 0, zeros, pairs)
    node = np.array(needs.collective.nodes, dtype=np.int64)
    to_all = needs.wanted == len(node)
    to_one = (needs.wanted == 1) & ~to_all
    at_all, at_one, any_all = zeros.copy(), zeros.copy(), 0
    matrix: IntArray | None = None
    if needs.reduces:
        any_all = int(needs.chunks[to_all].sum())
        np.add.at(at_one, node[needs.owner[to_one]], needs.chunks[to_one])
    else:
        np.add.at(at_all, node[needs.origin[to_all]], needs.chunks[to_all])
        if to_one.any():
            matrix = np.zeros((count, count), dtype=np.int64)
            ends = (node[needs.origin[to_one]], node[needs.owner[to_one]])
            np.add.at(matrix, ends, needs.chunks[to_one])
    member = needs.members().astype(np.int64)
    return _Demands(member, at_all, any_all, at_one, matrix)


def _prefix(values: IntArray) -> IntArray:
    """Return prefix sums with a leading row and column of zeros."""
    return np.pad(values, ((1, 0), (1, 0))).cumsum(axis=0).cumsum(axis=1)


def _box(
    sums: IntArray, top: int, bottom: int, first: IntArray, last: IntArray
) -> IntArray:
    band = sums[bottom + 1] - sums[top]
    part: IntArray = band[last + 1] - band[first]
    return part


@dataclass(frozen=True, eq=False)
class _PairSums:
    """Prefix sums over rows of both ends, and of each end alone.

    `both` has shape (rows + 1, cols, rows + 1, cols); `out` and `into` are prefix
    sums of what each node sends and receives.
    """

    both: IntArray
    out: IntArray
    into: IntArray


def _pair_prefix(pairs: IntArray, grid: tuple[int, int]) -> _PairSums:
    both = np.pad(pairs.reshape(grid + grid), ((1, 0), (0, 0), (1, 0), (0, 0)))
    np.cumsum(both, axis=0, out=both)
    np.cumsum(both, axis=2, out=both)
    out, into = (_prefix(pairs.sum(axis=axis).reshape(grid)) for axis in (1, 0))
    return _PairSums(both, out, into)


def _crossing(
    sums: _PairSums, top: int, bottom: int, first: IntArray, last: IntArray
) -> tuple[IntArray, IntArray]:
    """Return what enters and what leaves each rectangle."""
    both, low, high = sums.both, top, bottom + 1
    band = both[high, :, high] - both[low, :, high]
    band = band - both[high, :, low] + both[low, :, low]
    square = _prefix(band)
    inner = (
        square[last + 1, last + 1]
        - square[first, last + 1]
        - square[last + 1, first]
        + square[first, first]
    )
    box = (top, bottom, first, last)
    return _box(sums.into, *box) - inner, _box(sums.out, *box) - inner


def _edges(fabric: Lightpath) -> tuple[IntArray, IntArray]:
    """Return prefix sums of waveguides across vertical and horizontal grid lines.

    ``beside[r, c]`` sums rows before r of the edges between columns c - 1 and c, in
    one direction; ``below[r, c]`` sums columns before c of those between rows r - 1
    and r. Lines at the rim of the grid have none.
    """
    rows, cols = fabric.rows, fabric.cols
    node = np.arange(rows * cols, dtype=np.int64).reshape(rows, cols)
    beside = np.zeros((rows + 1, cols + 1), dtype=np.int64)
    below = np.zeros((rows + 1, cols + 1), dtype=np.int64)
    tail, head = node[:, :-1].reshape(-1), node[:, 1:].reshape(-1)
    beside[1:, 1:cols] = fabric.edge_waveguides(tail, head).reshape(rows, cols - 1)
    tail, head = node[:-1].reshape(-1), node[1:].reshape(-1)
    below[1:rows, 1:] = fabric.edge_waveguides(tail, head).reshape(rows - 1, cols)
    return beside.cumsum(axis=0), below.cumsum(axis=1)
