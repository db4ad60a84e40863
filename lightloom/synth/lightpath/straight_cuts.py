"""Straight cuts across a grid, where waveguides are fewer than wavelengths of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.lightpath import Lightpath


def tight_cuts(fabric: Lightpath, demand: Demand) -> list[IntArray]:
    """Return the nodes on either side of straight cuts that may limit a demand.

    Those that some pair leaves on a waveguide, and on fewer than nodes of that side
    send or nodes of the other side receive.

    Parameters
    ----------
    fabric
        The rack.
    demand
        The demand.
    """
    src, dst = np.array(demand.src), np.array(demand.dst)
    tail, head = fabric.edges()
    width = fabric.edge_waveguides(tail, head)
    sides = np.divmod(np.arange(fabric.node_count), fabric.cols)
    found = []
    for side, most in zip(sides, (fabric.rows, fabric.cols), strict=True):
        for place in range(1, most):
            for inside in (side < place, side >= place):
                room = int(width[inside[tail] & ~inside[head]].sum())
                crosses = inside[src] & ~inside[dst]
                ends = (len(np.unique(each[crosses])) for each in (src, dst))
                if 0 < room < min(ends):
                    found.append(np.flatnonzero(inside))
    return found
