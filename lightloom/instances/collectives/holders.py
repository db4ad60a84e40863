"""The four patterns that pre- and post-conditions are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.instances.collectives import Holdings

if TYPE_CHECKING:
    from lightloom.core.task import Collective


def everyone_everything(collective: Collective) -> Holdings:
    """Every rank holds every chunk."""
    rank = np.arange(collective.rank_count, dtype=np.int64)
    return Holdings(
        rank, np.zeros_like(rank), np.full_like(rank, collective.chunk_count)
    )


def everyone_own_block(collective: Collective) -> Holdings:
    """Rank i holds block i: chunks iC/n to (i+1)C/n."""
    rank = np.arange(collective.rank_count, dtype=np.int64)
    block = collective.chunk_count // collective.rank_count
    return Holdings(rank, rank * block, (rank + 1) * block)


def root_everything(collective: Collective) -> Holdings:
    """Only the root holds chunks, all of them."""
    rank = np.array([collective.root_rank], dtype=np.int64)
    return Holdings(
        rank, np.zeros_like(rank), np.full_like(rank, collective.chunk_count)
    )
