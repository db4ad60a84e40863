"""Ports of arbitrary pairs, split into the fewest partial permutations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.plans.edge_colouring import edge_colours

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray


def coloured_ports(src: IntArray, dst: IntArray) -> IntArray:
    """Return a port per row; rows of one pair share it.

    As many ports as the most peers that one rank sends to or receives from, which
    always suffice (König 1916). Deterministic.
    """
    if not len(src):
        return np.zeros(0, dtype=np.int64)
    width = int(max(src.max(), dst.max())) + 1
    pairs, where = np.unique(src * width + dst, return_inverse=True)
    colours: IntArray = edge_colours(pairs // width, pairs % width)
    ports: IntArray = colours[where.reshape(-1)]
    return ports
