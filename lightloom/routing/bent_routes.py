"""Shortest routes on a grid that turn at most twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from lightloom.instances.fabrics.lightpath import Lightpath

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
