"""Straight cuts across a grid of tiles, and the waveguides over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from lightloom.instances.fabrics.lightpath import Lightpath


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
