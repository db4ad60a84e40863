"""Divide and conquer (LUMORPH paper, section 3.2): squares of four, then doubling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.core.errors import InputError
from lightloom.problems.fewest_rounds.chunk_moves import (
    ChunkMoves,
    copies_of,
    no_moves,
    then,
)
from lightloom.synth.routing.waveguide_layers import pack

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
    before has ended.

    Parameters
    ----------
    fabric
        The grid.
    collective
        What is to be done, one chunk a rank; its nodes are the ranks in order.
    seed
        Seed of the routes.

    Raises
    ------
    InputError
        If a side of the grid is no power of two from 2 up, or a tile takes no part.
    """
    rows, cols = fabric.rows, fabric.cols
    for name, size in (("rows", rows), ("cols", cols)):
        if size < 2 or size & (size - 1):
            what, allowed = "the squares do not tile the grid", "2, 4, 8, ..."
            raise InputError(what, where=f"fabric.{name}", found=size, allowed=allowed)
    if len(collective.nodes) != fabric.node_count:
        what, found = "divide and conquer needs every tile", len(collective.nodes)
        where, allowed = "collective.nodes", str(fabric.node_count)
        raise InputError(what, where=where, found=found, allowed=allowed)
    tile = np.arange(rows * cols, dtype=np.int64)
    rank = np.empty_like(tile)
    rank[np.array(collective.nodes)] = tile
    held = tile[:, None]
    moves = _phase(fabric, held, rank, [1, cols, cols + 1], seed)
    held = np.hstack([tile[:, None] ^ by for by in (0, 1, cols, cols + 1)])
    across, down = 2, 2
    while across < cols or down < rows:
        if (across <= down and across < cols) or down == rows:
            by, across = across, across * 2
        else:
            by, down = down * cols, down * 2
        moves = then(moves, _phase(fabric, held, rank, [by], seed))
        held = np.hstack([held, held[tile ^ by]])
    return moves


def _phase(
    fabric: Lightpath, held: IntArray, rank: IntArray, masks: list[int], seed: int
) -> ChunkMoves:
    """Return the rounds in which each tile sends all it holds to ``tile ^ mask``.

    Sides are powers of two, so the bits of a tile are those of its row and column.
    """
    tile = np.arange(len(rank), dtype=np.int64)
    capacity = fabric.edge_waveguides(*fabric.edges())
    slots, chunks, routes = [], [], []
    used, count = 0, held.shape[1]
    for mask in masks:
        layers = pack(fabric, tile, tile ^ mask, capacity=capacity, seed=seed)
        for place in range(count):
            slots.append(used + layers.layer)
            chunks.append(rank[held[:, place]])
            routes.append(layers.route)
            used += layers.layer_count
    if not slots:
        return no_moves()
    round_, wavelength = np.divmod(np.concatenate(slots), fabric.lasers)
    route = Ragged.from_lengths(
        np.concatenate([one.lengths for one in routes]),
        np.concatenate([one.values for one in routes]),
    )
    return copies_of(round_, wavelength, np.concatenate(chunks), route)
