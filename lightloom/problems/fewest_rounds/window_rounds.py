"""All-gather in windows of a ring: each tile hears several ahead and several behind."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from lightloom.problems.fewest_rounds.chunk_moves import ChunkMoves, then
from lightloom.problems.fewest_rounds.compact_ring import compact_ring
from lightloom.problems.fewest_rounds.packed_round import RoundPacking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.instances.fabrics.lightpath import Lightpath

_MOVES = 480
"""Moves of the search for slots, for each rank."""


def windowed(
    fabric: Lightpath, nodes: Sequence[int], *, rounds: int, seed: int = 0
) -> ChunkMoves | None:
    """Return an all-gather of one chunk a rank in exactly so many rounds.

    Ranks are on a ring, near ones near each other in the grid. After each round a rank
    holds the chunks of a window around itself. In the first it hears those next to it.
    In the second the window grows at both ends, from the nearest that hold the chunks.
    These hold in each later round what lies as much farther along the ring as the
    window has grown, so the circuits stay as they are: only two rounds are packed.

    `fabric`: the grid, with at least one laser. `nodes`: tile of each rank, two ranks
    at least; the chunk of a rank is its number. `rounds`: how many there may be, one at
    least.

    Returns ``None`` where no such rounds were found.
    """
    count = len(nodes)
    due = -(-(count - 1) // rounds)
    first = count - 1 - (rounds - 1) * due
    if due > fabric.lasers or first < 1:
        return None
    further, back = -(-first // 2), first // 2
    tile = np.array(nodes, dtype=np.int64)
    ring = compact_ring(fabric, tile, ahead=further, behind=back)
    place_of_tile = np.zeros(fabric.node_count, dtype=np.int64)
    place_of_tile[ring] = np.arange(count)
    place = place_of_tile[tile]
    rank_at = np.argsort(place)
    wants = np.zeros((fabric.node_count, count), dtype=np.bool_)
    wants[tile] = True
    # How far along the ring from each tile the rank of each chunk is.
    along = (place - place_of_tile[:, None]) % count
    holds = wants & (along == 0)
    turned = np.array_equal(np.roll(ring, count // 2), fabric.node_count - 1 - ring)
    packing = RoundPacking.of(fabric, holds, wants, (2, 1) if turned else (1,))
    ahead, behind = -(-due // 2), due // 2
    grown: list[ChunkMoves] = []
    for _ in range(min(rounds, 2)):
        after = wants & ((along <= further) | (along >= count - back))
        most = _MOVES * count
        packed = packing.packed(holds, after & ~holds, seed=seed, moves=most)
        if packed is None:
            return None
        grown.append(packed)
        holds, further, back = after, further + ahead, back + behind
    last = grown[-1]
    is_ahead = along[last.dst, last.chunk] <= further - ahead
    step = np.where(is_ahead, ahead, -behind)
    for _ in range(2, rounds):
        place_of_next = (place[grown[-1].chunk] + step) % count
        grown.append(replace(last, chunk=rank_at[place_of_next]))
    return reduce(then, grown)
