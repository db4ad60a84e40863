"""Dimension-ordered routes: along one side of the grid first, then the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

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
