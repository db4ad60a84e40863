"""An all-to-all as the demand of all pairs, divided among configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.schedule import FluidTransfers, Op, StepPart, Transfers
from lightloom.core.task import Demand
from lightloom.synth.chunking import choose_chunks
from lightloom.synth.lightpath.demand_configurations import realised_divisions
from lightloom.synth.realisation import Realisation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.lightpath import Lightpath

MOST_RANKS = 32
"""Ranks up to which pairs, 992, are divided one by one."""
_PIECES = 480
"""Chunks of a block: many divisors, so that shares of configurations are near whole
chunks; more chunks make longer files."""
_MOST_PRODUCT = 2**60
"""Bytes of a block times its chunks: twice that is formed in 63 bits."""


def divided_all_to_all(
    fabric: Lightpath, task: Collective, seed: int
) -> Iterator[tuple[Collective, Realisation]]:
    """Yield an all-to-all in one step of several configurations, ever faster.

    Every block is cut to chunks, of which each configuration moves as many as its
    wavelengths carry. Worth it where the lasers are no multiple of the peers.

    `task`: an all-to-all over at most `MOST_RANKS` ranks. `seed`: of random choices, 0
    or more.
    """
    nodes = np.array(task.nodes, dtype=np.int64)
    ranks = len(nodes)
    chunked = choose_chunks(task, ranks * _PIECES)
    block = task.buffer_bytes // ranks
    pairs = [(a, b, block) for a in task.nodes for b in task.nodes if a != b]
    rank = np.zeros(fabric.node_count, dtype=np.int64)
    rank[nodes] = np.arange(ranks)
    chunks = chunked.chunk_count // ranks
    if block * chunks >= _MOST_PRODUCT:
        return
    for realised in realised_divisions(fabric, Demand.from_rows(pairs), seed):
        moved = np.zeros((ranks, ranks), dtype=np.int64)
        parts = []
        for part in realised.parts:
            sent = part.transfers
            assert isinstance(sent, FluidTransfers)
            src, dst = rank[sent.src], rank[sent.dst]
            before = moved[src, dst]
            moved[src, dst] += sent.bytes
            # Whole chunks, to the nearest, so that they add up to the block.
            low, high = (
                (2 * each * chunks + block) // (2 * block)
                for each in (before, moved[src, dst])
            )
            some = np.flatnonzero(high > low)
            base = (src * ranks + dst) * chunks
            chosen = Transfers(
                sent.src[some],
                sent.dst[some],
                (base + low)[some],
                (base + high)[some],
                np.full(len(some), int(Op.COPY)),
            )
            parts.append(StepPart(part.index, part.plane, part.segment, chosen))
        yield chunked, Realisation(realised.segments, tuple(parts))
