"""All-reduce in one round less than its reduce-scatter and all-gather take.

A reduce-scatter turned around is an all-gather. Where the first round of the all-gather
sends each chunk to one tile only, the last round of the reduce-scatter brings a sum
from there, and both have the chunk complete two rounds later. If they exchange their
sums instead, they have it after one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lightloom.core.schedule import Op
from lightloom.problems.fewest_rounds.chunk_moves import (
    ChunkMoves,
    then,
    together,
    turned_around,
)


def exchanging(gather: ChunkMoves, lasers: int) -> ChunkMoves | None:
    """Return an all-reduce of one round less than an all-gather there and back.

    Parameters
    ----------
    gather
        An all-gather in which each tile receives each chunk at most once.
    lasers
        Of each tile.

    Returns
    -------
    ``None`` where the first round sends a chunk to more than one tile, or uses more
    than half of the wavelengths.
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


def lightest_first(gather: ChunkMoves) -> ChunkMoves:
    """Return an all-gather that forwards nothing, its lightest round the first."""
    load = np.bincount(gather.round, minlength=gather.round_count)
    lightest = int(np.argmin(load))
    order = np.arange(len(load))
    order[: lightest + 1] = [*range(1, lightest + 1), 0]
    return replace(gather, round=order[gather.round])
