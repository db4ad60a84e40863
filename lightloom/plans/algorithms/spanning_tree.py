"""One k-ary tree on one configuration: broadcast, reduce, scatter, gather."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np

from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.parameters import Count
from lightloom.plans.partition import Partition
from lightloom.plans.reversal import reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round


class SpanningTree(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """A k-ary tree whose ranks send to their children and then fall silent.

    A holder cuts the ranks below it into k nearly equal spans and hands each to its
    first rank. It takes as many rounds as 1 + k + k^2 + ... must have terms to count
    the ranks, sometimes one more than the (k + 1)-nomial `tree`, whose holders go on
    sending to new peers; but the circuits are the same in all rounds, k a rank.
    """

    ops: ClassVar[tuple[str, ...]] = ("broadcast", "gather", "reduce", "scatter")

    ports: Annotated[
        Count | None,
        msgspec.Meta(
            description="Children of a rank, k; as many as the fabric allows."
        ),
    ] = None
    pieces: Annotated[
        Count,
        msgspec.Meta(
            description="Pieces of the buffer in broadcast and reduce, which follow one"
            " another a round apart."
        ),
    ] = 1

    far_first: Annotated[
        bool,
        msgspec.Meta(
            description="Scatter and gather: the root sends the blocks of the farthest"
            " ranks first, and others while these are passed on; all blocks arrive in"
            " the last round."
        ),
    ] = False

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return one chunk per block, and one per piece."""
        del ports
        return ranks if self.pieces == 1 else self.pieces

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; those towards the root mirror those away from it."""
        ranks = collective.rank_count
        ports = ports if self.ports is None else self.ports
        arcs = _arcs(ranks, ports)
        if collective.op in ("scatter", "gather"):
            rounds = _scatter(collective, arcs, far_first=self.far_first)
        else:
            rounds = _broadcast(collective, arcs, self.pieces)
        if collective.op == "reduce":
            rounds = reversed_rounds(rounds, Op.REDUCE)
        if collective.op == "gather":
            rounds = reversed_rounds(rounds, Op.COPY)
        return rounds


@dataclass(frozen=True, eq=False)
class _Arcs:
    """Arcs of the tree on positions counted from the root, by depth of the child.

    `below` counts the positions from the child on that it hands out or keeps.
    """

    parent: IntArray
    child: IntArray
    below: IntArray
    depth: IntArray
    port: IntArray


def _arcs(ranks: int, ports: int) -> _Arcs:
    """Return the arcs, the last child's span no longer than the first one's."""
    found: list[tuple[IntArray, ...]] = []
    lo, hi = np.zeros(1, dtype=np.int64), np.full(1, ranks, dtype=np.int64)
    depth = 0
    while (hi - lo).max() > 1:
        depth += 1
        size = (hi - lo - 1)[:, None]
        number = np.arange(min(ports, int(size.max())) + 1, dtype=np.int64)
        children = np.minimum(np.maximum(size, 1), ports)
        cut = lo[:, None] + 1 - (-np.minimum(number, children) * size // children)
        begin, end = cut[:, :-1], cut[:, 1:]
        real = end > begin
        port = np.broadcast_to(number[:-1], begin.shape)[real]
        parent = np.broadcast_to(lo[:, None], begin.shape)[real]
        lo, hi = begin[real], end[real]
        found.append((parent, lo, hi - lo, np.full_like(lo, depth), port))
    return _Arcs(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _scatter(collective: Collective, arcs: _Arcs, *, far_first: bool) -> list[Round]:
    """Return the rounds of a scatter; with `far_first` each block in time for the last.

    A holder hands all blocks of a span to its first rank at once; else those of one
    depth a round, so that a block that has h arcs to go leaves h rounds before the end.
    """
    ranks, root = collective.rank_count, collective.root_rank
    blocks = Partition(ranks, collective.chunk_count)
    last = int(arcs.depth[-1])
    row, first, length = np.arange(len(arcs.child)), arcs.child, arcs.below
    turn = arcs.depth
    if far_first:
        depth = np.zeros(ranks, dtype=np.int64)
        depth[arcs.child] = arcs.depth
        row = np.repeat(row, arcs.below)
        within = np.arange(len(row)) - np.repeat(
            np.cumsum(arcs.below) - arcs.below, arcs.below
        )
        block = arcs.child[row] + within
        turn = last - depth[block] + arcs.depth[row]
        order = np.lexsort((block, row, turn))
        row, block, turn = row[order], block[order], turn[order]
        follows = (np.diff(row) == 0) & (np.diff(turn) == 0) & (np.diff(block) == 1)
        start = np.flatnonzero(np.concatenate([[True], ~follows]))
        length = np.diff(start, append=len(row))
        row, first, turn = row[start], block[start], turn[start]
    made = []
    for now in range(1, last + 1):
        mine = np.flatnonzero(turn == now)
        made.append(
            blocks.round(
                (arcs.parent[row[mine]] + root) % ranks,
                (arcs.child[row[mine]] + root) % ranks,
                (first[mine] + root) % ranks,
                length[mine],
                port=arcs.port[row[mine]],
                op=Op.COPY,
            )
        )
    return [one for one in made if one is not None]


def _broadcast(collective: Collective, arcs: _Arcs, pieces: int) -> list[Round]:
    ranks, root = collective.rank_count, collective.root_rank
    parts = Partition(pieces, collective.chunk_count)
    made = []
    for turn in range(1, int(arcs.depth[-1]) + pieces):
        piece = turn - arcs.depth
        row = np.flatnonzero((piece >= 0) & (piece < pieces))
        made.append(
            parts.round(
                (arcs.parent[row] + root) % ranks,
                (arcs.child[row] + root) % ranks,
                piece[row],
                1,
                port=arcs.port[row],
                op=Op.COPY,
            )
        )
    return [one for one in made if one is not None]


ALGORITHM = AlgorithmEntry(
    name="spanning-tree",
    summary="k-ary tree on one configuration, in pieces: small buffers",
    ops=SpanningTree.ops,
    make=SpanningTree,
)
