"""The blocks that members of an all-to-all have for each other, and where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.synth.ramp.held_blocks import Blocks
    from lightloom.synth.ramp.step_phases import Phase

Rows = tuple["IntArray", "IntArray", "IntArray", "IntArray"]
"""Source member, destination member, first chunk, end."""


@dataclass(frozen=True, eq=False)
class AllItems:
    """All items; those of a source lie together.

    `origins`: members whose items each member has, shape (members, origins).
    """

    blocks: Blocks
    origins: IntArray

    @classmethod
    def at_home(cls, blocks: Blocks) -> AllItems:
        """Return the items before they are sent."""
        return cls(blocks, np.arange(len(blocks.team), dtype=np.int64)[:, None])

    def rows(self, phase: Phase, most_rows: int) -> Iterator[Rows]:
        """Yield what is sent in a phase, about `most_rows` rows at a time.

        `most_rows`: about how many rows are yielded at once; one pair's are never
        divided.
        """
        team = self.blocks.team
        lo, hi = self.blocks.runs(team.width(phase.step))
        prefix = phase.dst // team.width(phase.step)
        each = self.origins.shape[1] * int(lo.lengths.max(initial=1))
        size = max(1, most_rows // each)
        for start in range(0, len(phase.src), size):
            pair = np.arange(start, min(start + size, len(phase.src)))
            origin = self.origins[phase.src[pair]]
            pair = np.repeat(pair, origin.shape[1])
            base = self.blocks.rank[origin.reshape(-1)] * self.blocks.chunks
            first, end = lo.take(prefix[pair]), hi.take(prefix[pair])
            row = first.row_of_value
            pair, base = pair[row], base[row]
            yield (
                phase.src[pair],
                phase.dst[pair],
                base + first.values,
                base + end.values,
            )

    def after(self, phase: Phase) -> AllItems:
        """Return the items after a phase."""
        team = self.blocks.team
        everyone = np.arange(len(team), dtype=np.int64)
        offsets = range(team.shape.members(phase.step))
        origins = [
            self.origins[team.peers(phase.step, everyone, offset)] for offset in offsets
        ]
        return AllItems(self.blocks, np.concatenate(origins, axis=1))


@dataclass(frozen=True, eq=False)
class SomeItems:
    """Some items, one by one, where all would be too many.

    `blocks`: what the items are; a block is not empty. `origin`, `target`: members that
    have an item first and last, shape (items,).
    """

    blocks: Blocks
    origin: IntArray
    target: IntArray
    here: IntArray

    @classmethod
    def at_home(cls, blocks: Blocks, origin: IntArray, target: IntArray) -> SomeItems:
        """Return items before they are sent.

        `origin`, `target`: members that each item goes from and to, shape (items,).
        """
        return cls(blocks, origin, target, origin)

    @property
    def chunk(self) -> IntArray:
        """First chunk of each item."""
        lo, _ = self.blocks.runs(1)
        return (
            self.blocks.rank[self.origin] * self.blocks.chunks
            + lo.values[lo.offsets[self.target]]
        )

    def rows(self, phase: Phase, most_rows: int) -> Iterator[Rows]:
        """Yield what is sent in a phase."""
        del most_rows
        _, end = self.blocks.runs(1)
        there = self._next(phase)
        away = np.flatnonzero(there != self.here)
        base = self.blocks.rank[self.origin[away]] * self.blocks.chunks
        last = base + end.values[end.offsets[self.target[away]]]
        yield self.here[away], there[away], self.chunk[away], last

    def after(self, phase: Phase) -> SomeItems:
        """Return the items after a phase."""
        return SomeItems(self.blocks, self.origin, self.target, self._next(phase))

    def _next(self, phase: Phase) -> IntArray:
        team = self.blocks.team
        size = team.shape.members(phase.step)
        width = team.width(phase.step)
        offset = (self.target // width - self.here // width) % size
        return team.peers(phase.step, self.here, offset)
