"""Dimension-ordered routes: along one side of the grid first, then the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from lightloom.core.columns import Ragged

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath


def dimension_ordered(
    fabric: Lightpath,
    src: IntArray,
    dst: IntArray,
    *,
    first: Literal["row", "column"] = "row",
) -> Ragged:
    """Return the shortest route of each request that turns at most once.

    Parameters
    ----------
    fabric
        The grid.
    src, dst
        Tiles, shape (rows,).
    first
        ``row``: along the source's row to the destination's column, then along
        that column ("XY"); ``column``: along the source's column first ("YX").

    Returns
    -------
    Tiles of each route, both ends included; a request from a tile to itself has
    that one tile. Vectorised, O(total length).

    Examples
    --------
    >>> from lightloom.instances.fabrics.lightpath import Lightpath
    >>> grid = Lightpath(rows=2, cols=3)
    >>> dimension_ordered(grid, np.array([0]), np.array([5])).to_lists()
    [[0, 1, 2, 5]]
    """
    down = dst // fabric.cols - src // fabric.cols
    right = dst % fabric.cols - src % fabric.cols
    legs = [(right, 1), (down, fabric.cols)]
    (long, long_stride), (short, short_stride) = legs if first == "row" else legs[::-1]
    lengths = np.abs(down) + np.abs(right) + 1
    request = np.repeat(np.arange(len(src), dtype=np.int64), lengths)
    hop = np.arange(len(request)) - (np.cumsum(lengths) - lengths)[request]
    turn = np.abs(long)[request]
    tiles = src[request]
    tiles += np.minimum(hop, turn) * (np.sign(long) * long_stride)[request]
    tiles += np.maximum(hop - turn, 0) * (np.sign(short) * short_stride)[request]
    return Ragged.from_lengths(lengths, tiles)


Route: TypeAlias = tuple[int, ...]
"""Tiles, both ends included."""


def bent_routes(fabric: Lightpath, src: int, dst: int) -> list[Route]:
    """Return shortest routes between two tiles that turn at most twice.

    Returns tiles of each: those that turn once first, then those that turn halfway.
    """
    (row, col), (to_row, to_col) = divmod(src, fabric.cols), divmod(dst, fabric.cols)
    half = (row + to_row) // 2, (col + to_col) // 2
    corners = (
        [(row, to_col)],
        [(to_row, col)],
        [(row, half[1]), (to_row, half[1])],
        [(half[0], col), (half[0], to_col)],
    )
    routes = []
    for turns in corners:
        tiles = [src]
        for turn in [*turns, (to_row, to_col)]:
            at = divmod(tiles[-1], fabric.cols)
            down, right = (int(np.sign(b - a)) for a, b in zip(at, turn, strict=True))
            hops = abs(turn[0] - at[0]) + abs(turn[1] - at[1])
            step = down * fabric.cols + right
            tiles += [tiles[-1] + step * hop for hop in range(1, hops + 1)]
        routes.append(tuple(tiles))
    return list(dict.fromkeys(routes))


def routes_beside(fabric: Lightpath, src: int, dst: int) -> list[Route]:
    """Return routes that run beside the line between two tiles of a row or column.

    Returns tiles of each, two hops more than the line: up to two, none for other tiles.
    """
    (row, col), (to_row, to_col) = divmod(src, fabric.cols), divmod(dst, fabric.cols)
    if (row == to_row) == (col == to_col):
        return []
    step, place, lines = (
        (fabric.cols, row, fabric.rows) if row == to_row else (1, col, fabric.cols)
    )
    line = bent_routes(fabric, src, dst)[0]
    return [
        (src, *(tile + side * step for tile in line), dst)
        for side in (-1, 1)
        if 0 <= place + side < lines
    ]
