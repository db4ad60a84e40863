"""What is received in a round, packed into its slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lightloom.problems.fewest_rounds.chunk_moves import ChunkMoves, copies
from lightloom.problems.fewest_rounds.first_fit import resource_widths
from lightloom.problems.fewest_rounds.turned_slots import TurnedSlots, Turns, settled
from lightloom.routing.graph import capacity_by_id
from lightloom.routing.rectangle_cuts import straight_cuts
from lightloom.routing.routes import bent_routes, routes_beside

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.routing.routes import Route

Mask = npt.NDArray[np.bool_]
_HOLDERS = 6
FAR = 2**14
"""More hops than any two tiles are apart."""


@dataclass(frozen=True, eq=False)
class RoundPacking:
    """Rounds of a grid, in which turns take tiles and chunks to others.

    `turns`: turns that take holders to holders. `chunks`: where each turn takes each
    chunk, shape (turns, chunks). `first`: whether a (tile, chunk) is the first of those
    that turns take it to. `hops`: hops between tiles, shape (tiles, tiles).
    """

    turns: Turns
    chunks: IntArray
    first: Mask
    hops: IntArray

    @classmethod
    def of(
        cls,
        fabric: Lightpath,
        holds: Mask,
        wants: Mask,
        orders: tuple[int, ...] = (4, 2, 1),
    ) -> RoundPacking:
        """Return the packing with the first of some numbers of turns that fits.

        `fabric`: the grid, with at least one laser. `holds`, `wants`: shape (tiles,
        chunks): who has which chunk first, and who must have it last. Turns take tiles
        that hold, or want, a chunk to such tiles.
        """
        by_id = capacity_by_id(fabric, fabric.edge_waveguides(*fabric.edges()))
        wide = np.array(resource_widths(by_id), dtype=np.int64)
        row, col = np.divmod(np.arange(fabric.node_count), fabric.cols)
        hops = np.abs(row[:, None] - row) + np.abs(col[:, None] - col)
        for order in orders:
            turns = Turns.of(fabric, wide, order)
            chunks = None if turns is None else _turned_chunks(turns, holds, wants)
            if turns is None or chunks is None:
                continue
            numbers = turns.tiles[:, :, None] * holds.shape[1] + chunks[:, None, :]
            first = np.asarray(numbers[0] == numbers.min(axis=0))
            repeated = (numbers[1:] == numbers[0]).any(axis=0)
            if not (repeated & wants & ~holds).any():
                return cls(turns, chunks, first, hops)
        raise AssertionError(orders)

    def first_rows(self, mask: Mask) -> tuple[IntArray, IntArray]:
        """Return tile and chunk of the first of each orbit in a mask.

        `mask`: shape (tiles, chunks).
        """
        tile, chunk = np.nonzero(mask & self.first)
        return tile.astype(np.int64), chunk.astype(np.int64)

    def nearest(
        self, holds: Mask, tile: IntArray, chunk: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Return the nearest holders of chunks, and hops; `FAR` where too few.

        `holds`: shape (tiles, chunks).
        """
        hops = np.where(holds.T[chunk], self.hops[tile], FAR)
        holder = np.argsort(hops, axis=1, kind="stable")[:, :_HOLDERS]
        return holder, np.take_along_axis(hops, holder, axis=1)

    def packed(
        self, holds: Mask, new: Mask, *, seed: int, moves: int
    ) -> ChunkMoves | None:
        """Return one round in which all that is new comes from near holders.

        By conflicts and prices, any of the nearest holders, routes and slots for each;
        ``None`` where so many moves do not end all conflicts, or a cut shows it.

        `holds`: who has which chunk before the round, shape (tiles, chunks).
        """
        if self._cut_short(holds, new):
            return None
        fabric, order = self.turns.fabric, self.turns.order
        slots = TurnedSlots(self.turns, *divmod(fabric.lasers, order))
        tile, chunk = self.first_rows(new)
        ways = [
            self._ways([one for one, far in zip(*near, strict=True) if far < FAR], to)
            for *near, to in zip(
                *(one.tolist() for one in self.nearest(holds, tile, chunk)),
                tile.tolist(),
                strict=True,
            )
        ]
        tables = [slots.table(way) for way in ways]
        if any(table.size == 0 for table in tables):
            return None
        chosen = settled(tables, slots.width, seed=seed, moves=moves)
        if chosen is None:
            return None
        found = [
            ((0, slot, int(turned)), list(route))
            for way, at, one in zip(ways, chosen, chunk.tolist(), strict=True)
            for turned, (slot, route) in zip(
                self.chunks[:, one], slots.places(way, at), strict=True
            )
        ]
        return copies([row for row, _ in found], [route for _, route in found])

    def _cut_short(self, holds: Mask, new: Mask) -> bool:
        """Return whether more must cross the grid than its waveguides carry."""
        fabric = self.turns.fabric
        for inside, waveguides in straight_cuts(fabric):
            only = ~holds[~inside].any(axis=0)
            if new[~inside][:, only].sum() > waveguides * fabric.lasers:
                return True
        return False

    def _ways(self, holders: list[int], to: int) -> list[Route]:
        """Return routes from some holders; from one alone also beside a line."""
        fabric = self.turns.fabric
        ways = [route for one in holders for route in bent_routes(fabric, one, to)]
        if len(holders) == 1:
            ways += routes_beside(fabric, holders[0], to)
        return ways


def _turned_chunks(turns: Turns, holds: Mask, wants: Mask) -> IntArray | None:
    """Return where turns take chunks, ``None`` where not from holders to holders."""
    both = np.concatenate([holds, wants])
    tiles, chunk_count = holds.shape
    chunks = np.tile(np.arange(chunk_count), (turns.order, 1))
    if turns.order > 1:
        known = {one.tobytes(): chunk for chunk, one in enumerate(both.T.copy())}
        if len(known) < chunk_count:
            return None
        for turn, to in enumerate(turns.tiles):
            turned = np.empty_like(both)
            turned[np.concatenate([to, tiles + to])] = both
            found = [known.get(one.tobytes(), -1) for one in turned.T.copy()]
            if -1 in found:
                return None
            chunks[turn] = found
    return chunks
