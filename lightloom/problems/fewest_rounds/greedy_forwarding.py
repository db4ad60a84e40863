"""Greedy forwarding of chunks, in every slot to those nearby who need them.

The rounds of any collective that copies, and where what was received is passed on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lightloom.core.errors import InfeasibleError
from lightloom.problems.fewest_rounds.chunk_moves import (
    ChunkMoves,
    Mask,
    copies,
    no_moves,
)
from lightloom.routing.graph import Graph, PathSearch, capacity_by_id
from lightloom.routing.routes import dimension_ordered

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath


Counts = npt.NDArray[np.float32]
_WORK = 2**23
"""Tiles squared times slots in all tries: a few seconds."""
_MOST_TRIES = 96
"""Draws on small grids, where `_WORK` would allow thousands."""
_REACH = 1.5
"""Hops over which a copy makes others less rare, by a factor of e each."""
_ONE_COPY = 64
"""What a copy counts in the tile that has it; whole numbers keep sums exact."""


def forwarded(
    fabric: Lightpath,
    holds: Mask,
    wants: Mask,
    *,
    bound: int,
    seed: int = 0,
    tries: int | None = None,
) -> ChunkMoves:
    """Return rounds after which every tile holds what it wants.

    Slot by slot, an assignment of senders to receivers by distance lets each
    receiver have one chunk more of a near holder, the chunk being the one with
    fewest copies near the receiver; who is left without, or loses a waveguide to
    others, searches the nearest free holder over the edges that are still free.
    The whole is tried again with other draws while the bound is not met.

    `fabric`: the grid, with at least one laser. `holds`, `wants`: shape (tiles,
    chunks): who has which chunk from the start, and who must have it in the end. Nobody
    else is sent anything. `tries`: most tries; ``None`` for those of `most_tries`.

    Raises `InfeasibleError` if light cannot reach some tile.

    A slot costs O(tiles^2 chunks) beside one assignment problem of all tiles.
    """
    if not (wants & ~holds).any():
        return no_moves()
    if tries is None:
        tries = most_tries(fabric, bound)
    rng = np.random.default_rng(seed)
    best: ChunkMoves | None = None
    for _ in range(tries):
        most = None if best is None else best.round_count - 1
        found = _Try(fabric, holds, wants, rng).moves(most)
        best = found or best
        if best is not None and best.round_count <= bound:
            break
    assert best is not None
    return best


def most_tries(fabric: Lightpath, bound: int) -> int:
    """Return how often `forwarded` tries: less on larger grids, once from 200 tiles.

    `fabric`: the grid, with at least one laser.
    """
    tiles = fabric.node_count
    slots = max(bound, 1) * fabric.lasers
    return min(_MOST_TRIES, max(1, _WORK // (tiles * tiles * slots)))


class _Try:
    """One run through the rounds."""

    def __init__(
        self, fabric: Lightpath, holds: Mask, wants: Mask, rng: np.random.Generator
    ) -> None:
        self._fabric, self._rng = fabric, rng
        self._holds, self._planned = holds.copy(), holds.copy()
        self._wants = wants
        self._by_id = capacity_by_id(fabric, fabric.edge_waveguides(*fabric.edges()))
        graph = Graph.of_grid(fabric)
        self._tail, self._search = graph.tail, PathSearch(graph)
        self._ids = fabric.edge_ids(graph.tail, graph.head)
        row, col = np.divmod(np.arange(fabric.node_count), fabric.cols)
        self._hops = np.abs(row[:, None] - row) + np.abs(col[:, None] - col)
        # Whole numbers, so that sums in single precision are exact.
        near = np.rint(_ONE_COPY * np.exp(-self._hops / _REACH))
        self._near = near.astype(np.float32)
        self._rows: list[tuple[int, int, int]] = []
        self._routes: list[list[int]] = []

    def moves(self, most: int | None) -> ChunkMoves | None:
        """Return the moves, or ``None`` where they take more than `most` rounds."""
        round_ = 0
        while (left := int((self._wants & ~self._holds).sum())) > 0:
            room = (most or 0) - round_
            if most is not None and left > room * self._fabric.lasers * len(
                self._holds
            ):
                return None
            before = len(self._rows)
            for wavelength in range(self._fabric.lasers):
                self._slot(round_, wavelength)
            if len(self._rows) == before:
                what = "light cannot reach all tiles"
                fix = "give the fabric waveguides and fibres"
                raise InfeasibleError(what, where="fabric.waveguides", fix=fix)
            self._holds = self._planned.copy()
            round_ += 1
        return copies(self._rows, self._routes)

    def _slot(self, round_: int, wavelength: int) -> None:
        """Fill one slot."""
        missing = self._wants & ~self._planned
        if not missing.any():
            return
        rarity = self._near @ self._planned.astype(np.float32)
        load = np.zeros(len(self._by_id), dtype=np.int64)
        news = self._holds.astype(np.float32) @ missing.astype(np.float32).T
        src, dst = self._assigned(news, missing)
        src, dst, route = self._routed(src, dst, load)
        sent = list(zip(src.tolist(), dst.tolist(), route, strict=True))
        idle = np.ones(len(missing), dtype=np.bool_)
        idle[src] = False
        waiting: Mask = np.asarray(missing.any(axis=1))
        waiting[dst] = False
        room = self._by_id - load
        for tile in np.flatnonzero(waiting).tolist():
            useful = (news[:, tile] > 0) & idle
            if not useful.any():
                continue
            path = self._path(tile, useful, room)
            if path is not None:
                idle[path[0]] = False
                sent.append((path[0], tile, path))
        if not sent:
            return
        src = np.array([one[0] for one in sent])
        dst = np.array([one[1] for one in sent])
        fresh = self._holds[src] & missing[dst]
        score = rarity[dst] + _ONE_COPY * self._rng.random(fresh.shape)
        chunk = np.where(fresh, score, np.inf).argmin(axis=1)
        self._planned[dst, chunk] = True
        self._rows += [(round_, wavelength, one) for one in chunk.tolist()]
        self._routes += [one[2] for one in sent]

    def _path(self, tile: int, useful: Mask, room: IntArray) -> list[int] | None:
        """Return the tiles from the nearest useful one to `tile`, and take the room.

        `useful`: where it may begin, shape (tiles,). `room`: what each edge id still
        carries; lowered by one along the path.
        """
        holders = np.flatnonzero(useful)
        hops = np.where(room[self._ids] > 0, 1.0, np.inf)
        ends = np.full(len(holders), tile)
        least, edges = self._search.cheapest(hops, holders, ends)
        if least == np.inf:
            return None
        room[self._ids[edges]] -= 1
        return [*self._tail[edges].tolist(), tile]

    def _assigned(self, news: Counts, missing: Mask) -> tuple[IntArray, IntArray]:
        """Return senders and receivers, the receivers that miss most first served."""
        from scipy.optimize import linear_sum_assignment

        need = missing.sum(axis=1)
        useful = news > 0
        cost = self._hops + 0.5 * self._rng.random(news.shape)
        cost -= 0.3 * np.minimum(news, 16) / 16
        cost -= 100 + 0.2 * (need - need.min())
        src, dst = linear_sum_assignment(np.where(useful, cost, 0.0))
        kept = useful[src, dst]
        return src[kept].astype(np.int64), dst[kept].astype(np.int64)

    def _routed(
        self, src: IntArray, dst: IntArray, load: IntArray
    ) -> tuple[IntArray, IntArray, list[list[int]]]:
        """Return the pairs that find room on a dimension-ordered route, near first."""
        order = np.argsort(self._hops[src, dst], kind="stable")
        src, dst = src[order], dst[order]
        choices = []
        for first in ("row", "column"):
            route = dimension_ordered(self._fabric, src, dst, first=first)
            inner = np.delete(np.arange(len(route.values)), route.offsets[1:] - 1)
            tail, head = route.values[inner], route.values[inner + 1]
            edges = self._fabric.edge_ids(tail, head)
            ends = np.cumsum(route.lengths - 1)[:-1]
            choices.append((route.to_lists(), np.split(edges, ends)))
        kept: list[int] = []
        routes: list[list[int]] = []
        for row in range(len(src)):
            for tiles, edges_of in choices:
                edges = edges_of[row]
                if (load[edges] < self._by_id[edges]).all():
                    load[edges] += 1
                    kept.append(row)
                    routes.append(tiles[row])
                    break
        return src[kept], dst[kept], routes
