"""Broadcast by splitting a light ring, and scatter by one circuit a wavelength."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from lightloom.problems.fewest_rounds.chunk_moves import ChunkMoves, copies, copies_of
from lightloom.problems.fewest_rounds.tile_ring import LightRing
from lightloom.routing.dimension_order import dimension_ordered

if TYPE_CHECKING:
    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.lightpath import Lightpath


def ring_broadcast(fabric: Lightpath, collective: Collective) -> ChunkMoves:
    """Return a broadcast of one chunk in as few rounds as holders can multiply.

    A holder is the first of a stretch of the ring that begins at the root. It cuts
    its stretch in ``lasers + 1`` nearly equal parts and sends to the first of each
    other part, one wavelength each, along the ring. Stretches share no edge, so one
    waveguide per edge is enough, and the growth bound is met.

    `collective`: what is to be done, one chunk a rank; its nodes are the ranks in
    order.
    """
    root = collective.nodes[collective.root_rank]
    ring = LightRing(fabric, collective.nodes, root)
    rows: list[tuple[int, int, int]] = []
    routes: list[list[int]] = []
    stretches, round_ = [(0, len(ring.order))], 0
    while any(end - begin > 1 for begin, end in stretches):
        parts: list[tuple[int, int]] = []
        for begin, end in stretches:
            pieces = min(fabric.lasers + 1, end - begin)
            cuts = [begin + (end - begin) * i // pieces for i in range(pieces + 1)]
            parts += itertools.pairwise(cuts)
            for wavelength, first in enumerate(cuts[1:-1]):
                rows.append((round_, wavelength, 0))
                routes.append(ring.route(begin, first))
        stretches, round_ = parts, round_ + 1
    return copies(rows, routes)


def direct_scatter(fabric: Lightpath, collective: Collective) -> ChunkMoves:
    """Return a scatter: the root lights every laser, one chunk on each.

    A wavelength has no more than one circuit a round, so any route will do, and the
    send bound is met.

    `collective`: what is to be done, one chunk a rank; its nodes are the ranks in
    order.
    """
    nodes = np.array(collective.nodes, dtype=np.int64)
    block = collective.chunk_count // len(nodes)
    chunk = np.arange(collective.chunk_count, dtype=np.int64)
    chunk = chunk[chunk // block != collective.root_rank]
    dst = nodes[chunk // block]
    src = np.full(len(dst), nodes[collective.root_rank])
    round_, wavelength = np.divmod(np.arange(len(dst)), fabric.lasers)
    return copies_of(round_, wavelength, chunk, dimension_ordered(fabric, src, dst))
