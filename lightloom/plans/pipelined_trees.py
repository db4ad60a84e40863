"""Rounds that send a buffer down several trees at once, a piece behind another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.schedule import Op
from lightloom.plans.partition import Partition
from lightloom.plans.reversal import reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round

CHUNKS_OF_A_PIECE = 16
"""So many that pieces which are uneven by a chunk hardly differ: all rounds of a
pipeline last as long as the longest piece."""


@dataclass(frozen=True, eq=False)
class TreeRows:
    """A row for each rank but the root of each tree, the trees one after another.

    Attributes
    ----------
    src, dst
        Who feeds whom, shape (rows,).
    depth
        Of `dst`: 1 where the root feeds it.
    port
        As of `lightloom.plans.plan.Round`.
    trees
        Number of trees.
    """

    src: IntArray
    dst: IntArray
    depth: IntArray
    port: IntArray
    trees: int

    def rounds(self, collective: Collective, pieces: int) -> list[Round]:
        """Return broadcast, or its reversal, each tree with its part of the buffer.

        Parameters
        ----------
        collective
            A broadcast, or a reduce; its chunk count chosen.
        pieces
            Of each part, which follow one another a round apart.
        """
        rounds = list(self._hops(collective, pieces))
        if collective.op == "reduce":
            rounds = reversed_rounds(rounds, Op.REDUCE)
        return rounds

    def _hops(self, collective: Collective, pieces: int) -> Iterator[Round]:
        """Yield the rounds, a hop of each piece in each."""
        tree = np.repeat(np.arange(self.trees), len(self.src) // self.trees)
        cut = Partition(self.trees * pieces, collective.chunk_count)
        for turn in range(1, pieces + int(self.depth.max())):
            piece = turn - self.depth
            row = np.flatnonzero((piece >= 0) & (piece < pieces))
            start = tree[row] * pieces + piece[row]
            src, dst, port = self.src[row], self.dst[row], self.port[row]
            one = cut.round(src, dst, start, 1, port=port, op=Op.COPY)
            if one is not None:
                yield one
