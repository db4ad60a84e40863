"""The blocks of an all-to-all on their routes: segments and steps of a schedule."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.schedule import Op, Segment, StepPart, Transfers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.synth.ramp.exchange_routes import Routes


@dataclass(frozen=True, eq=False)
class RoutedExchange:
    """An all-to-all, and the routes that its blocks take.

    `routes`: in the box of its nodes.
    """

    collective: Collective
    routes: Routes

    @property
    def ranks(self) -> IntArray:
        """Rank at each place of the box."""
        rank = np.zeros(self.routes.box.fabric.node_count, dtype=np.int64)
        rank[list(self.collective.nodes)] = np.arange(len(self.routes.box))
        return rank[self.routes.box.nodes]

    def events(self, most_rows: int) -> Iterator[Segment | StepPart]:
        """Yield the segments, each with its step.

        `most_rows`: a step comes in parts of about so many rows; one pair's are never
        divided.
        """
        box, rank = self.routes.box, self.ranks
        before, by = (column.reshape(-1) for column in self.routes.hops)
        for index, hops in enumerate(self._hops(slice(None))):
            yield Segment(0, index, self.routes.shifts[index].circuits(box))
            moving = hops % len(box)
            size = max(1, most_rows // len(hops))
            for start in range(0, len(box), size):
                src = np.arange(start, min(start + size, len(box)))[:, None]
                origin = box.moved(src, box.opposite(before[hops]))
                block = rank[origin] * len(box) + rank[box.moved(origin, moving)]
                dst = box.moved(src, by[hops])
                # By destination, then in the order of the buffer.
                order = np.lexsort((block, dst), axis=1)
                block, dst = (
                    np.take_along_axis(column, order, axis=1).reshape(-1)
                    for column in (block, dst)
                )
                here = np.repeat(src[:, 0], len(hops))
                yield StepPart(index, 0, index, self._transfers(here, dst, block))

    def followed(self, blocks: IntArray) -> Iterator[Segment | StepPart]:
        """Yield the segments, each with its step, where only some blocks move.

        `blocks`: ``source rank * ranks + destination rank`` of the blocks, all
        different.
        """
        box = self.routes.box
        place = np.argsort(self.ranks)
        origin, target = place[blocks // len(box)], place[blocks % len(box)]
        displacement = box.moved(target, box.opposite(origin))
        before, by = (column[:, displacement] for column in self.routes.hops)
        src = box.moved(origin, before).reshape(-1)
        dst = box.moved(src, by.reshape(-1))
        for index, hops in enumerate(self._hops(displacement)):
            yield Segment(0, index, self.routes.shifts[index].circuits(box))
            moving = blocks[hops % len(blocks)]
            rows = self._transfers(src[hops], dst[hops], moving)
            yield StepPart(index, 0, index, rows)

    def _hops(self, chosen: IntArray | slice) -> Iterator[IntArray]:
        """Yield the hops of chosen displacements in each shift.

        Hop h of the i-th of n displacements is number ``h n + i``.
        """
        shift = self.routes.shift[:, chosen].reshape(-1)
        order = np.argsort(shift, kind="stable")
        ends = np.searchsorted(shift[order], np.arange(len(self.routes.shifts) + 1))
        for first, last in pairwise(ends.tolist()):
            yield order[first:last]

    def chunks(self, blocks: IntArray) -> IntArray:
        """Return the first chunk of blocks."""
        each = self.collective.chunk_count // len(self.routes.box)
        return blocks * each

    def _transfers(self, src: IntArray, dst: IntArray, block: IntArray) -> Transfers:
        """Return rows between places, those of a pair that follow each other as one."""
        fresh = np.ones(len(block), dtype=np.bool_)
        fresh[1:] = (block[1:] != block[:-1] + 1) | (src[1:] != src[:-1])
        fresh[1:] |= dst[1:] != dst[:-1]
        first = np.flatnonzero(fresh)
        last = np.append(first[1:], len(block))[: len(first)] - 1
        nodes = self.routes.box.nodes
        op = np.full(len(first), int(Op.COPY), dtype=np.int64)
        lo, hi = self.chunks(block[first]), self.chunks(block[last] + 1)
        return Transfers(nodes[src[first]], nodes[dst[first]], lo, hi, op)
