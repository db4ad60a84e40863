"""Divide and conquer (LUMORPH paper, section 3.2): squares of four, then doubling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.core.errors import InputError
from lightloom.plans.box import prime_factors
from lightloom.problems.fewest_rounds.chunk_moves import (
    ChunkMoves,
    copies_of,
    no_moves,
    then,
)
from lightloom.routing.waveguide_layers import pack

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.lightpath import Lightpath


def squares_all_gather(
    fabric: Lightpath, collective: Collective, *, seed: int = 0
) -> ChunkMoves:
    """Return an all-gather of one chunk per rank by divide and conquer.

    First each square of four tiles shares its chunks. Then squares, pairs of squares
    and so on share all they have with one other group of their size, each tile with
    its counterpart, over paths of least congestion. A phase begins when the one
    before has ended. Where a side has other prime factors than 2, groups are of so
    many squares, or pairs: the smallest factors first, along the shorter groups.

    `collective`: what is to be done, one chunk a rank; its nodes are the ranks in
    order.

    Raises `InputError` if the nodes are not all tiles of a rectangle.
    """
    tile, rows, cols = _rectangle(fabric, collective)
    rank_of = {node: rank for rank, node in enumerate(collective.nodes)}
    rank = np.array([rank_of[node] for node in tile.tolist()], dtype=np.int64)
    place = np.arange(rows * cols, dtype=np.int64)
    phases = _phases(rows, cols)
    moves, held = no_moves(), place[:, None]
    for shifts in phases:
        peers = [_shifted(place, cols, *shift) for shift in shifts]
        more = _phase(fabric, tile, held, rank, peers, seed)
        moves = then(moves, more) if moves.round_count else more
        # Who sends to a tile is as far behind it as its own peer is ahead.
        sources = [np.argsort(peer) for peer in peers]
        held = np.hstack([held, *(held[source] for source in sources)])
    return moves


def _rectangle(fabric: Lightpath, collective: Collective) -> tuple[IntArray, int, int]:
    """Return the tiles of a rectangle row by row, and its rows and columns."""
    tile = np.sort(np.array(collective.nodes, dtype=np.int64))
    row, col = np.divmod(tile, fabric.cols)
    rows, cols = (int(np.ptp(line)) + 1 for line in (row, col))
    if rows * cols != len(tile):
        raise InputError(
            "divide and conquer needs all tiles of a rectangle",
            where="collective.nodes",
            found=f"{len(tile)} tiles within {rows} x {cols}",
            allowed=f"all {rows * cols} of them",
        )
    return tile, rows, cols


_Shift = tuple[int, int, int, int, int, int]
"""Groups down, by how many, of how many rows each; and the same across."""


def _phases(rows: int, cols: int) -> list[list[_Shift]]:
    """Return the shifts of each phase: the peers that every tile then sends to."""
    down, across = [*prime_factors(rows)], [*prime_factors(cols)]
    high = wide = 1
    phases: list[list[_Shift]] = []
    while down or across:
        # The first phase is along both sides: a square of four.
        both = not phases
        along_cols = bool(across) and (both or not down or wide <= high)
        along_rows = bool(down) and (both or not along_cols)
        p = down.pop(0) if along_rows else 1
        q = across.pop(0) if along_cols else 1
        phases.append(
            [
                (p, i, high, q, j, wide)
                for i in range(p)
                for j in range(q)
                if (i, j) != (0, 0)
            ]
        )
        high, wide = high * p, wide * q
    return phases


def _shifted(
    place: IntArray, cols: int, p: int, i: int, high: int, q: int, j: int, wide: int
) -> IntArray:
    """Return the places i groups further down and j across, round p and q of them."""
    row, col = np.divmod(place, cols)
    down = row // (p * high) * (p * high) + (row % (p * high) + i * high) % (p * high)
    across = col // (q * wide) * (q * wide) + (col % (q * wide) + j * wide) % (q * wide)
    peer: IntArray = down * cols + across
    return peer


def _phase(
    fabric: Lightpath,
    tile: IntArray,
    held: IntArray,
    rank: IntArray,
    peers: list[IntArray],
    seed: int,
) -> ChunkMoves:
    """Return the rounds in which the tile of each place sends all it holds to peers."""
    capacity = fabric.edge_waveguides(*fabric.edges())
    slots, chunks, routes = [], [], []
    used, count = 0, held.shape[1]
    for peer in peers:
        layers = pack(fabric, tile, tile[peer], capacity=capacity, seed=seed)
        for place in range(count):
            slots.append(used + layers.layer)
            chunks.append(rank[held[:, place]])
            routes.append(layers.route)
            used += layers.layer_count
    round_, wavelength = np.divmod(np.concatenate(slots), fabric.lasers)
    route = Ragged.from_lengths(
        np.concatenate([one.lengths for one in routes]),
        np.concatenate([one.values for one in routes]),
    )
    return copies_of(round_, wavelength, np.concatenate(chunks), route)
