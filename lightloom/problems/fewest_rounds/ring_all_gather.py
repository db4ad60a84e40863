"""All-gather along a light ring, in both directions at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.problems.fewest_rounds.chunk_moves import ChunkMoves, copies
from lightloom.problems.fewest_rounds.tile_ring import LightRing

if TYPE_CHECKING:
    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.lightpath import Lightpath


def ring_all_gather(
    fabric: Lightpath, collective: Collective, *, late: bool = False
) -> ChunkMoves:
    """Return an all-gather of one chunk per rank over two wavelengths, or one.

    In round r every rank passes on what it received in round r - 1: forward on
    wavelength 0 and backward on wavelength 1. One waveguide per edge is enough, and
    with up to two lasers the rounds meet the receive bound. What goes backward ends a
    round earlier where ranks are even, or begins one round later if it is to be `late`.

    `collective`: what is to be done, one chunk a rank; its nodes are the ranks in
    order.
    """
    ring = LightRing(fabric, collective.nodes)
    rank = {node: rank for rank, node in enumerate(collective.nodes)}
    count = len(ring.order)
    forward = count - 1 if fabric.lasers == 1 else count // 2
    rows: list[tuple[int, int, int]] = []
    routes: list[list[int]] = []
    steps = [ring.route(place, place + 1) for place in range(count)]
    wait = int(late and count - 1 - forward < forward)
    for round_ in range(forward):
        for place in range(count):
            rows.append((round_, 0, rank[ring.order[(place - round_) % count]]))
            routes.append(steps[place])
            if round_ < count - 1 - forward:
                told = (place + 1 + round_) % count
                rows.append((round_ + wait, 1, rank[ring.order[told]]))
                routes.append(steps[place][::-1])
    return copies(rows, routes)


def ring_step(fabric: Lightpath, collective: Collective) -> ChunkMoves:
    """Return one round in which every rank sends its own chunk to the next one.

    `collective`: what is to be done, one chunk a rank; its nodes are the ranks in
    order.
    """
    ring = LightRing(fabric, collective.nodes)
    rank = {node: rank for rank, node in enumerate(collective.nodes)}
    return copies(
        [(0, 0, rank[node]) for node in ring.order],
        [ring.route(place, place + 1) for place in range(len(ring.order))],
    )
