"""The last round, which brings every missing chunk from a near holder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lightloom.core.columns import Ragged
from lightloom.core.seed import seeded_random
from lightloom.problems.fewest_rounds.first_fit import resource_widths, route_needs
from lightloom.problems.fewest_rounds.slot_packing import Packing
from lightloom.routing.dimension_order import dimension_ordered

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath

Mask = npt.NDArray[np.bool_]
_HOLDERS = 6


def last_round(
    fabric: Lightpath,
    holds: Mask,
    missing: Mask,
    hops: IntArray,
    by_id: IntArray,
    *,
    seed: int,
    effort: int,
) -> tuple[IntArray, IntArray, Ragged] | None:
    """Return (wavelength, chunk, route) of all that is missing, in one round.

    Each missing chunk may come from any of its nearest holders, on either
    dimension-ordered route. ``None`` where the packing fails, or where some tile
    misses more than it has photodiodes.

    `holds`, `missing`: shape (tiles, chunks). `hops`: distance of each pair of tiles.
    """
    if missing.sum(axis=1).max(initial=0) > fabric.lasers:
        return None
    tile, chunk = (one.astype(np.int64) for one in np.nonzero(missing))
    far = int(hops.max()) + 1
    distance = np.where(holds.T[chunk], hops[tile], far)
    count = min(_HOLDERS, len(hops))
    holder = np.argsort(distance, axis=1, kind="stable")[:, :count]
    nearest = np.take_along_axis(distance, holder, axis=1)
    src = holder.reshape(-1).astype(np.int64)
    dst = np.repeat(tile, count)
    real = (nearest < far).reshape(-1)
    src = np.where(real, src, np.repeat(holder[:, 0], count))
    by_row = route_needs(fabric, src, dst, first="row")
    by_column = route_needs(fabric, src, dst, first="column")
    needs = [
        [*by_row[at : at + count], *by_column[at : at + count]]
        for at in range(0, len(src), count)
    ]
    order = np.argsort(-nearest.sum(axis=1), kind="stable").tolist()
    rng = seeded_random(seed)
    packing = Packing(needs, resource_widths(by_id), order, rng)
    packing.fill_only(fabric.lasers, effort)
    if packing.waiting:
        return None
    place = np.array(packing.place, dtype=np.int64).reshape(-1, 2)
    wavelength, choice = place[:, 0], place[:, 1]
    row = np.arange(len(tile)) * count + choice % count
    routes = [
        dimension_ordered(fabric, src[row], dst[row], first="row"),
        dimension_ordered(fabric, src[row], dst[row], first="column"),
    ]
    both = Ragged.from_lengths(
        np.concatenate([one.lengths for one in routes]),
        np.concatenate([one.values for one in routes]),
    )
    turn = choice // count
    return wavelength, chunk, both.take(np.arange(len(tile)) + turn * len(tile))
