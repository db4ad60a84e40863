"""Spanning trees of few steps, many of them, links evenly loaded."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np

from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry
from lightloom.plans.network_algorithm import NetworkAlgorithm
from lightloom.plans.plan import Round
from lightloom.plans.reversal import reversed_rounds
from lightloom.plans.translated_sends import Sends, translated_rounds
from lightloom.plans.tree_packing import packed_trees

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.task import Collective
    from lightloom.plans.rank_network import RankNetwork

_FINE_BLOCK = 2**14
"""Chunks of a block that all images of trees divide; fewer are divided among few."""
_MOST_STEPS = 32
"""The linear program grows with the steps; more gain nothing that was seen."""


class PackedTrees(NetworkAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Each part of the buffer goes along a spanning tree of its own, in few steps.

    Trees need not follow neighbours: a rank hears from any that heard in an earlier
    step. Trees are looked for, and the buffer is divided among them, such that the
    busiest links of all steps together are busy least. A reduce is the reversal.
    Where all ranks have a block for all, the trees of one are translated to the others.
    """

    ops: ClassVar[tuple[str, ...]] = (
        "all-gather",
        "all-reduce",
        "broadcast",
        "reduce",
        "reduce-scatter",
    )

    steps: Annotated[
        int,
        msgspec.Meta(
            ge=1,
            le=_MOST_STEPS,
            description="Most steps, half of those of an all-reduce.",
        ),
    ] = 4

    def _fitted(self, collective: Collective, network: RankNetwork) -> Sequence[Round]:
        if collective.op not in ("broadcast", "reduce"):
            block = -(-collective.chunk_count // collective.rank_count)
            sends = functools.partial(self._sends, block=block)
            return translated_rounds(collective, network, sends)
        reduces = collective.op == "reduce"
        used = network.turned() if reduces else network
        packing = packed_trees(used, collective.root_rank, self.steps)
        hi = packing.ends(collective.chunk_count)
        lo = np.concatenate([[0], hi[:-1]])
        rounds = []
        for step in range(1, self.steps + 1):
            tree, dst = np.nonzero((packing.heard == step) & (lo < hi)[:, None])
            if len(tree):
                src = packing.teller[tree, dst]
                port = (dst - src) % network.ranks - 1
                code = np.full(len(tree), int(Op.COPY), dtype=np.int64)
                rounds.append(Round(src, dst, lo[tree], hi[tree], code, port))
        return reversed_rounds(rounds, Op.REDUCE) if reduces else rounds

    def _sends(self, network: RankNetwork, block: int) -> Sends:
        """Return how the block of rank 0, so many chunks, goes along its trees."""
        fine = block >= _FINE_BLOCK
        packing = packed_trees(network, 0, self.steps, translated=True, imaged=fine)
        hi = packing.ends(block)
        lo = np.concatenate([[0], hi[:-1]])
        tree, dst = np.nonzero(packing.heard)
        src, step = packing.teller[tree, dst], packing.heard[tree, dst] - 1
        return Sends(step, src, dst, lo[tree] / block, hi[tree] / block)


ALGORITHM = AlgorithmEntry(
    name="packed-trees",
    summary="many trees of few steps, links evenly loaded: packet networks",
    ops=PackedTrees.ops,
    make=PackedTrees,
)
