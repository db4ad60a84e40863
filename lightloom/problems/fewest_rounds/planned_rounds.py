"""Rounds that leave no laser idle: first who receives what in which, then the slots.

The copies of a round lie where they help most with what is left, by linear programs;
the packing into slots may then take each chunk from any tile that holds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lightloom.problems.fewest_rounds.chunk_moves import ChunkMoves, no_moves, then
from lightloom.problems.fewest_rounds.packed_round import FAR, RoundPacking

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.problems.fewest_rounds.turned_slots import Turns

Mask = npt.NDArray[np.bool_]
_KEPT = 12
"""Chunks that a tile may choose from, for each that it receives."""
_PARTS = 4
"""Linear programs of a round; each knows the copies of those before."""
_HOP_COSTS = (0.5, 1.0, 0.25, 4.0)
"""What a hop costs, where a copy that brings all tiles a hop nearer gains 1."""
_TIE = 1e-3
_MOVES = 60_000


def planned(
    fabric: Lightpath, holds: Mask, wants: Mask, *, rounds: int, seed: int = 0
) -> ChunkMoves | None:
    """Return moves of exactly so many rounds after which all hold what they want.

    Each tile receives as much in each round as in any other, to within one chunk, and
    less first. Which chunks these are is chosen by linear programs: a copy gains the
    hops by which it brings the chunk nearer to all who lack it, and costs the hops to
    its nearest holder; tiles send as evenly as they receive. Then the chunks of a round
    are packed into its slots by conflicts and prices, from any of the nearest holders.
    Where turns of the grid take holders to holders, everything is chosen for one of
    each orbit. Other costs of a hop, and fewer turns, are tried while that fails.

    `fabric`: the grid, with at least one laser. `holds`, `wants`: shape (tiles,
    chunks): who has which chunk from the start, and who must have it in the end. Nobody
    else is sent anything. `rounds`: how many there may be, one at least.

    Returns ``None`` where no such rounds were found.
    """
    missing = (wants & ~holds).sum(axis=1)
    if missing.max(initial=0) > rounds * fabric.lasers:
        return None
    packing = RoundPacking.of(fabric, holds, wants)
    # The last round has no choice of chunks.
    for cost in _HOP_COSTS[: None if rounds > 1 else 1]:
        found = _Plan(packing, holds, wants, cost, seed).moves(rounds)
        if found is not None:
            return found
    return None


@dataclass(eq=False)
class _Plan:
    """One run through the rounds."""

    packing: RoundPacking
    holds: Mask
    wants: Mask
    hop_cost: float
    seed: int

    def __post_init__(self) -> None:
        self._turns, self._chunks = self.packing.turns, self.packing.chunks
        self._rng = np.random.default_rng(self.seed)

    def moves(self, rounds: int) -> ChunkMoves | None:
        """Return the moves, or ``None`` where a round has no plan or packing."""
        moves, holds = no_moves(), self.holds
        for round_ in range(rounds):
            left = (self.wants & ~holds).sum(axis=1)
            after = self._received(holds, left // (rounds - round_))
            if after is None:
                return None
            packed = self.packing.packed(
                holds, after & ~holds, seed=self.seed, moves=_MOVES
            )
            if packed is None:
                return None
            moves, holds = then(moves, packed), after
        return moves

    def _received(self, holds: Mask, due: IntArray) -> Mask | None:
        """Return who holds what after a round in which each tile receives its due.

        ``None`` where a linear program has no answer, or nothing is due.
        """
        if (due == (self.wants & ~holds).sum(axis=1)).all():
            return self.wants | holds
        order, most = self._turns.order, int(due.max())
        if not most:
            return None
        step = -(-most // (_PARTS * order)) * order
        after, sent = holds, np.zeros(len(due), dtype=np.int64)
        near = np.full(holds.shape, FAR)
        for begin in range(0, most, step):
            for tile, chunk in zip(*np.nonzero(after), strict=True):
                near[:, chunk] = np.minimum(near[:, chunk], self.packing.hops[tile])
            part = np.clip(due - begin, 0, step)
            lasers = self._turns.fabric.lasers
            room = -(-lasers * min(begin + step, most) // most) - sent
            found = self._part(holds, after, near, part, room)
            if found is None:
                return None
            after, sent = found[0], sent + found[1]
        return after

    def _part(
        self, holds: Mask, after: Mask, near: IntArray, due: IntArray, room: IntArray
    ) -> tuple[Mask, IntArray] | None:
        """Return who holds what after a part of a round, and what each tile sent.

        `near`: hops from each tile to the nearest of `after`. `due`, `room`: chunks
        that each tile receives in this part, and can send.
        """
        tile, chunk, gain = self._candidates(after, near, due)
        holder, hops = self.packing.nearest(holds, tile, chunk)
        row, place = np.nonzero(hops < FAR)
        src, cost = holder[row, place], self.hop_cost * hops[row, place] - gain[row]
        cost += _TIE * self._rng.random(len(row))
        rows = _chosen(self._turns, row, src, tile, cost, due, room)
        if rows is None:
            return None
        then, sent = after.copy(), np.zeros(len(due), dtype=np.int64)
        turns = self._turns.tiles
        for to, chunk_to in zip(turns, self._chunks, strict=True):
            then[to[tile[row[rows]]], chunk_to[chunk[row[rows]]]] = True
            np.add.at(sent, to[src[rows]], 1)
        received = then.sum(axis=1) - after.sum(axis=1)
        return (then, sent) if (received == due).all() else None

    def _candidates(
        self, after: Mask, near: IntArray, due: IntArray
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Return tiles, the chunks that they may receive, and what each gains."""
        tile, chunk = self.packing.first_rows(self.wants & ~after & (due > 0)[:, None])
        nearer = np.maximum(near.T[chunk] - self.packing.hops[tile], 0)
        gain = (nearer * self.wants.T[chunk]).mean(axis=1)
        order = np.lexsort((self.hop_cost * near[tile, chunk] - gain, tile))
        begins = np.searchsorted(tile[order], tile[order])
        kept = order[np.arange(len(order)) - begins < _KEPT * due[tile[order]]]
        return tile[kept], chunk[kept], gain[kept]


def _chosen(
    turns: Turns,
    row: IntArray,
    src: IntArray,
    tile: IntArray,
    cost: FloatArray,
    due: IntArray,
    room: IntArray,
) -> IntArray | None:
    """Return the options of least cost, each row at most once.

    `row`, `src`, `cost`: options: which row they serve, from where, at what cost.
    `due`, `room`: chunks that each tile receives, and can send.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix, vstack

    tiles, rows, options = len(due), len(tile), np.arange(len(row))
    least = turns.tiles.min(axis=0)
    # A tile that some turns do not move meets an option once for each of these.
    often = (turns.tiles == np.arange(tiles)).sum(axis=0)
    ends = np.flatnonzero((due > 0) & (least == np.arange(tiles)))
    into = coo_matrix((often[tile[row]], (tile[row], options)), (tiles, len(row)))
    once = coo_matrix((np.ones(len(row)), (row, options)), (rows, len(row)))
    out = coo_matrix((often[src], (least[src], options)), (tiles, len(row)))
    found = linprog(
        cost,
        A_ub=vstack([once, out]).tocsr(),
        b_ub=np.concatenate([np.ones(rows), room]),
        A_eq=into.tocsr()[ends],
        b_eq=due[ends],
        bounds=(0, 1),
        method="highs-ds",
    )
    if found.x is None:
        return None
    return np.flatnonzero(found.x > 1 / 2)
