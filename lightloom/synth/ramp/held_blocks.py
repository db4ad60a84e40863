"""The chunks that the members with the same leading digits will have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.instances.collectives import op_of
from lightloom.plans.plan import Partition

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.synth.ramp.participants import Team


@dataclass(frozen=True, eq=False)
class Blocks:
    """The buffer in one block for each member.

    Where the operation gives blocks to ranks, member i has the block of its rank;
    elsewhere it has the i-th block, so that blocks of a subgroup lie together.

    `rank`: rank of each member in the collective.
    """

    team: Team
    rank: IntArray
    block: IntArray
    chunks: int

    @classmethod
    def of(cls, team: Team, collective: Collective) -> Blocks:
        """Return the blocks of a collective whose chunk count is chosen.

        `collective`: the collective; rank i is ``collective.nodes[i]``.
        """
        place = np.full(team.fabric.node_count, -1, dtype=np.int64)
        place[list(collective.nodes)] = np.arange(len(team))
        rank = place[team.nodes]
        block = np.arange(len(team), dtype=np.int64)
        if op_of(collective).uses_blocks:
            block = rank
        return cls(team, rank, block, collective.chunk_count)

    def runs(self, width: int) -> tuple[Ragged, Ragged]:
        """Return the chunk ranges of every `width` members, first chunks and ends.

        Row i is about members ``i width .. (i + 1) width``: as few ranges as there
        can be, sorted, none empty.
        """
        partition = Partition(len(self.team), self.chunks)
        rows = np.sort(self.block.reshape(-1, width), axis=1)
        first = partition.boundary(rows)
        end = partition.boundary(rows + 1)
        starts = np.ones(rows.shape, dtype=np.bool_)
        starts[:, 1:] = first[:, 1:] != end[:, :-1]
        ends = np.ones(rows.shape, dtype=np.bool_)
        ends[:, :-1] = starts[:, 1:]
        lo, hi = first[starts], end[ends]
        row = np.nonzero(starts)[0][lo < hi]
        lengths = np.bincount(row, minlength=len(rows)).astype(np.int64)
        lo, hi = lo[lo < hi], hi[lo < hi]
        return Ragged.from_lengths(lengths, lo), Ragged.from_lengths(lengths, hi)
