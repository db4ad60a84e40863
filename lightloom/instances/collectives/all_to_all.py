"""All-to-all: block j of rank i's buffer ends at rank j."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.instances.collectives import CollectiveOp, Holdings

if TYPE_CHECKING:
    from lightloom.core.task import Collective


def _own_buffer(collective: Collective) -> Holdings:
    """Rank s holds chunks sC to (s+1)C."""
    rank = np.arange(collective.rank_count, dtype=np.int64)
    chunks = collective.chunk_count
    return Holdings(rank, rank * chunks, (rank + 1) * chunks)


def _own_block_of_everyone(collective: Collective) -> Holdings:
    """Rank floor(l n / C) holds chunk sC + l, for every rank s."""
    ranks, chunks = collective.rank_count, collective.chunk_count
    block = chunks // ranks
    rank, owner = np.divmod(np.arange(ranks * ranks, dtype=np.int64), ranks)
    lo = owner * chunks + rank * block
    return Holdings(rank, lo, lo + block)


OP = CollectiveOp(
    name="all-to-all",
    reduces=False,
    rooted=False,
    uses_blocks=True,
    initial=_own_buffer,
    final=_own_block_of_everyone,
    chunks_per_rank=True,
)
