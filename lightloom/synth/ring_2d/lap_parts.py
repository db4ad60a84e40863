"""Pairs of an exchange of all with all, cut into parts that can be lit at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.synth.ring.exchange_laps import lap_numbers

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.ring import Ring


def lap_parts(fabric: Ring | Ring2d, src: IntArray, dst: IntArray) -> IntArray | None:
    """Return for each row which of the fewest parts by laps it is in.

    `src`, `dst`: nodes of a ring, or of one row or column; pairs may come several
    times, shape (rows,).

    Returns numbers from 0, such that on no ring the pairs of a part belong to more laps
    than it has wavelengths, shape (rows,). ``None`` where that is all of them, or where
    no laps are known.
    """
    rings = fabric.rings if isinstance(fabric, Ring2d) else (fabric,)
    axis, line, one, other = np.zeros_like(src), np.zeros_like(src), src, dst
    if isinstance(fabric, Ring2d):
        axis = np.where(fabric.line(src, 0) == fabric.line(dst, 0), 0, 1)
        line = np.where(axis == 0, fabric.line(src, 0), fabric.line(src, 1))
        one, other = (
            np.where(axis == 0, fabric.line(ends, 1), fabric.line(ends, 0))
            for ends in (src, dst)
        )
    lap, laps, parts = np.zeros_like(src), np.ones_like(src), 1
    for which, ring in enumerate(rings):
        for number in np.unique(line[axis == which]).tolist():
            rows = np.flatnonzero((axis == which) & (line == number))
            pair, of = np.unique(
                np.stack([one[rows], other[rows]]), axis=1, return_inverse=True
            )
            found = lap_numbers(ring, pair[0], pair[1])
            if found is None:
                return None
            count = int(found.max()) + 1
            lap[rows], laps[rows] = found[of.reshape(-1)], count
            parts = max(parts, -(-count // ring.wavelengths))
    part: IntArray = lap * parts // laps
    return part if parts > 1 else None
