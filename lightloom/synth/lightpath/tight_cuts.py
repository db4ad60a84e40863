"""Straight cuts across a grid, where waveguides are fewer than wavelengths of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.routing.rectangle_cuts import straight_cuts

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.lightpath import Lightpath


def tight_cuts(fabric: Lightpath, demand: Demand) -> list[IntArray]:
    """Return the nodes on either side of straight cuts that may limit a demand.

    Those that some pair leaves on a waveguide, and on fewer than nodes of that side
    send or nodes of the other side receive.
    """
    src, dst = np.array(demand.src), np.array(demand.dst)
    found = []
    for inside, waveguides in straight_cuts(fabric):
        crosses = inside[src] & ~inside[dst]
        ends = (len(np.unique(each[crosses])) for each in (src, dst))
        if 0 < waveguides < min(ends):
            found.append(np.flatnonzero(inside))
    return found
