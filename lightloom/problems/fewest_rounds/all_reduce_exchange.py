"""All-reduce in one round less than its reduce-scatter and all-gather take.

A reduce-scatter turned around is an all-gather. Where the first round of the all-gather
sends each chunk to one tile only, the last round of the reduce-scatter brings a sum
from there, and both have the chunk complete two rounds later. If they exchange their
sums instead, they have it after one. More than two roots of a chunk can do so too, and
the rounds before and after have fewer tiles left to serve.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lightloom.core.schedule import Op
from lightloom.problems.fewest_rounds.chunk_moves import (
    ChunkMoves,
    then,
    together,
    turned_around,
)
from lightloom.problems.fewest_rounds.planned_rounds import planned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.instances.fabrics.lightpath import Lightpath

Mask = npt.NDArray[np.bool_]
_PAIR = 2


def exchanging(gather: ChunkMoves, lasers: int) -> ChunkMoves | None:
    """Return an all-reduce of one round less than an all-gather there and back.

    `gather`: an all-gather in which each tile receives each chunk at most once.

    Returns ``None`` where the first round sends a chunk to more than one tile, or uses
    more than half of the wavelengths.
    """
    opening = gather.round == 0
    first, rest = gather.only(opening), gather.only(~opening)
    if len(np.unique(first.chunk)) < len(first):
        return None
    used, light = np.unique(first.wavelength, return_inverse=True)
    if 2 * len(used) > lasers:
        return None
    rest = replace(rest, round=rest.round - 1)
    # Turned around they fit one another as before, on wavelengths of their own.
    there = turned_around(first, Op.REDUCE)
    both = together(
        replace(first, wavelength=light, op=there.op),
        replace(there, wavelength=light + len(used)),
    )
    return then(then(turned_around(rest, Op.REDUCE), both), rest)


def root_blocks(fabric: Lightpath) -> Iterator[Mask]:
    """Yield the tiles that share a block with each tile, shape (tiles, tiles).

    Blocks are equal rectangles of three tiles at least, the smallest first.
    """
    row, col = np.divmod(np.arange(fabric.node_count), fabric.cols)
    shapes = [
        (height, width)
        for height in range(1, fabric.rows + 1)
        for width in range(1, fabric.cols + 1)
        if fabric.rows % height == fabric.cols % width == 0
    ]
    for height, width in sorted(shapes, key=lambda shape: (shape[0] * shape[1], shape)):
        if height * width > _PAIR:
            block = row // height * fabric.cols + col // width
            yield np.asarray(block[:, None] == block)


def among_roots(
    fabric: Lightpath, roots: Mask, *, rounds: int, seed: int
) -> ChunkMoves | None:
    """Return an all-reduce in which the roots of each chunk exchange their sums.

    `roots`: which tiles are roots of each chunk, shape (tiles, chunks).

    Returns ``None`` where no such rounds were found.
    """
    everyone = np.ones_like(roots)
    after = planned(fabric, roots, everyone, rounds=rounds, seed=seed)
    if after is None:
        return None
    # What a root has of a chunk goes to all others from itself.
    chunk, root = np.nonzero(roots.T)
    mine = np.arange(len(roots))[:, None] == root
    exchange = planned(fabric, mine, roots[:, chunk], rounds=1, seed=seed)
    if exchange is None:
        return None
    exchange = replace(
        exchange,
        chunk=chunk[exchange.chunk],
        op=np.full_like(exchange.op, int(Op.REDUCE)),
    )
    return then(then(turned_around(after, Op.REDUCE), exchange), after)
