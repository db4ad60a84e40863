"""Trees along the rows and columns of a torus, pipelined: broadcast and reduce."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.last_pieces import last_pieces
from lightloom.plans.parameters import Pieces, TorusShape
from lightloom.plans.pipelined_trees import CHUNKS_OF_A_PIECE, TreeRows
from lightloom.plans.rank_box import Dimensions
from lightloom.plans.rank_factors import nearly_square
from lightloom.plans.torus_spanning_trees import torus_spanning_trees

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.task import Collective
    from lightloom.plans.last_pieces import Table
    from lightloom.plans.plan import Round


class TorusTrees(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """A tree for each neighbour of the root on a torus, none sharing an arc.

    Every rank hears each tree, with its part of the buffer, from another neighbour, so
    once the pipeline is full all receive on all their links all the time. On n x n
    ranks with arcs both ways the trees are about n + 1 deep
    (`lightloom.plans.torus_spanning_trees`). The last pieces also take arcs of other
    trees that idle by then (`lightloom.plans.last_pieces`), which saves a round: k
    pieces take about k + n - 1.
    """

    shape: TorusShape = None
    pieces: Pieces = 1
    both_ways: Annotated[
        bool,
        msgspec.Meta(
            description="Ranks of a row or column pass data on in both directions, not"
            " only to the next one: twice as many trees, half as deep."
        ),
    ] = False

    ops: ClassVar[tuple[str, ...]] = ("broadcast", "reduce")

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return some chunks for each piece of each part."""
        del ports
        axes = sum(size > 1 for size in self._sizes(ranks))
        trees = axes * (1 + self.both_ways)
        return max(1, trees) * self.pieces * CHUNKS_OF_A_PIECE

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; reduce is the reversal of broadcast."""
        del ports
        rows, cols = self._sizes(collective.rank_count)
        found = torus_spanning_trees(rows, cols, both_ways=self.both_ways)
        last = last_pieces(*found)
        first, then = (self._rows(collective, one) for one in (found, last))
        return first.rounds(collective, self.pieces, then)

    def _rows(
        self, collective: Collective, found: tuple[Table, Table, Table]
    ) -> TreeRows:
        """Return trees of node 0 as trees of the root."""
        rows, cols = self._sizes(collective.rank_count)
        trees = len(found[0])
        feeder, kind, depth = (
            np.array(one, dtype=np.int64)[:, 1:].reshape(-1) for one in found
        )
        node = np.tile(np.arange(1, rows * cols, dtype=np.int64), trees)
        root = collective.root_rank
        # Reversed, what runs one way only has to have run the other way.
        sign = -1 if collective.op == "reduce" and not self.both_ways else 1
        src, dst = (
            (sign * (one // cols) + root // cols) % rows * cols
            + (sign * (one % cols) + root) % cols
            for one in (feeder, node)
        )
        # In a ring of two both directions lead to one peer, on one port.
        axes = [axis for axis, size in enumerate((cols, rows)) if size > 1]
        axis = np.array(axes)[kind % len(axes)]
        short = np.array([cols, rows])[axis] == 2
        port = np.where(short, kind % len(axes), kind)
        return TreeRows(src, dst, depth, port, trees)

    def _sizes(self, ranks: int) -> tuple[int, int]:
        """Return rows and columns."""
        near = nearly_square(ranks)
        shape = near if self.shape is None else self.shape
        sizes = Dimensions.of(shape, ranks, fix=f"try {list(near)}").sizes
        if len(sizes) > 2:
            what = "a torus of rows and columns has at most two dimensions"
            found = list(sizes)
            raise InputError(what, where="algorithm.shape", found=found)
        rows, cols = (1, 1, *sizes)[-2:]
        return rows, cols


ALGORITHM = AlgorithmEntry(
    name="torus-trees",
    summary="a pipelined tree per neighbour on a torus: large broadcast and reduce",
    ops=TorusTrees.ops,
    make=TorusTrees,
)
