"""All-gather along a light ring, in both directions at once."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from lightloom.problems.fewest_rounds.chunk_moves import ChunkMoves, copies, copies_of
from lightloom.routing.routes import dimension_ordered

if TYPE_CHECKING:
    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.lightpath import Lightpath


def ring_all_gather(fabric: Lightpath, collective: Collective) -> ChunkMoves:
    """Return an all-gather of one chunk per rank over two wavelengths, or one.

    In round r every rank passes on what it received in round r - 1: forward on
    wavelength 0 and backward on wavelength 1. One waveguide per edge is enough, and
    with up to two lasers the rounds meet the receive bound. What goes backward ends a
    round earlier where ranks are even.

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
    for round_ in range(forward):
        for place in range(count):
            rows.append((round_, 0, rank[ring.order[(place - round_) % count]]))
            routes.append(steps[place])
            if round_ < count - 1 - forward:
                told = (place + 1 + round_) % count
                rows.append((round_, 1, rank[ring.order[told]]))
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


class LightRing:
    """Some tiles in the order of a ring, and routes along it.

    The routes from each tile to the next load no directed edge twice; so do all the
    routes turned around, by themselves. Grids with an even side have a Hamiltonian
    cycle. On other grids one step of the ring is a route of two edges, and on a grid
    of one line the ring goes out over every second tile and back over the others.

    `nodes`: tiles that take part, all different. `first`: tile that comes first; the
    lowest place of the grid's ring where ``None``.
    """

    def __init__(
        self, fabric: Lightpath, nodes: tuple[int, ...], first: int | None = None
    ) -> None:
        ring, walk = _walk(fabric.rows, fabric.cols)
        # The walk may pass a tile before or after its visit: find visits in order.
        visit: dict[int, int] = {}
        at = 0
        for tile in ring:
            at = visit[tile] = walk.index(tile, at)
        start = 0 if first is None else visit[first]
        members = set(nodes)
        self._length = len(walk)
        self._visit = {tile: (at - start) % len(walk) for tile, at in visit.items()}
        self._walk = (walk[start:] + walk[:start]) * 2
        self.order = sorted(
            (tile for tile in ring if tile in members), key=self._visit.__getitem__
        )

    def route(self, place: int, other: int) -> list[int]:
        """Return the tiles on the way forward from one place of the ring to another.

        `place`, `other`: places on the ring, from 0.
        """
        count = len(self.order)
        begin = self._visit[self.order[place % count]]
        end = self._visit[self.order[other % count]]
        if end <= begin:
            end += self._length
        return _without_loops(self._walk[begin : end + 1])


def _without_loops(walk: list[int]) -> list[int]:
    """Return a walk as a simple path."""
    path: dict[int, None] = {}
    for tile in walk:
        if tile in path:
            while next(reversed(path)) != tile:
                path.popitem()
        path[tile] = None
    return list(path)


def _walk(rows: int, cols: int) -> tuple[list[int], list[int]]:
    """Return the tiles in ring order, and the closed walk that visits them so."""
    if rows == 1 or cols == 1:
        count = rows * cols
        ring = [*range(0, count, 2), *range(count - 1 - count % 2, 0, -2)]
        out, back = range(count), range(count - 2, 0, -1)
        return ring, [*out, *back]
    if rows % 2 and not cols % 2:
        ring, walk = _walk(cols, rows)
        turned = [
            [tile % rows * cols + tile // rows for tile in part]
            for part in (ring, walk)
        ]
        return turned[0], turned[1]
    ring = _snake(rows - 2, cols) + _zigzag(rows, cols) if rows % 2 else []
    ring = ring or _snake(rows, cols)
    ring += [row * cols for row in range(rows - 1, -1, -1)]
    walk = list(ring)
    if rows % 2:
        walk.insert(walk.index((rows - 1) * cols), (rows - 1) * cols + 1)
    return ring, walk


def _snake(rows: int, cols: int) -> list[int]:
    """Return the first rows without column 0, run back and forth from the left."""
    return [
        row * cols + col
        for row in range(rows)
        for col in (range(1, cols) if row % 2 == 0 else range(cols - 1, 0, -1))
    ]


def _zigzag(rows: int, cols: int) -> list[int]:
    """Return the last two rows without column 0, column by column from the right.

    With an even number of columns the run ends in the upper row, and the step to
    column 0 in the lower row passes the tile below.
    """
    tiles: list[int] = []
    for turn, col in enumerate(range(cols - 1, 0, -1)):
        pair = [(rows - 2) * cols + col, (rows - 1) * cols + col]
        tiles += pair if turn % 2 == 0 else pair[::-1]
    return tiles


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
