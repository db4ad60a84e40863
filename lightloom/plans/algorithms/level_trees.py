"""Trees along the dimensions of a box, pipelined: broadcast and reduce at full rate.

The trees of Johnsson and Ho (1989) for hypercubes, with lines of any length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np

from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, require_op
from lightloom.plans.level_exchange import box_of_shape
from lightloom.plans.parameters import Pieces, Shape
from lightloom.plans.partition import Partition
from lightloom.plans.plan import Plan, Round
from lightloom.plans.reversal import reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.rank_box import Dimensions


class LevelTrees(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tree for each of D dimensions, each with its own part of the buffer.

    Digits are counted from the root. In the tree of dimension p the root feeds its
    line along p. A rank whose digit p is not zero is fed by the one with its last
    other digit zeroed, in the order p + 1, ..., D - 1, 0, ..., p - 1; one whose
    digit p is zero, by the one that has 1 there. So

    - a rank hears the D trees along D different dimensions: along p where digit p is
      zero, else along the nonzero digit that comes before p in a circle;
    - what it sends along a dimension is of one tree, the same for all whom it feeds:
      where its digit is 1, the tree of that dimension; where it is zero, that of the
      next nonzero digit in a circle; the root, each tree along its own.

    Where one transmission reaches several ranks, all therefore receive at their full
    rate once the pipeline is full. The trees are D + 1 deep; circuits never change.
    """

    shape: Shape = None
    pieces: Pieces = 1
    chains: Annotated[
        bool,
        msgspec.Meta(
            description="On a line, ranks pass on from each to the next, and the last"
            " to the one whose digit is zero, instead of one feeding all: the full rate"
            " without multicast, and of reduce. Trees are deeper."
        ),
    ] = False

    ops: ClassVar[tuple[str, ...]] = ("broadcast", "reduce")

    def granularity(self, ranks: int, ports: int) -> int:
        """Return a chunk for each piece of each part.

        Parameters
        ----------
        ranks
            Number of ranks, at least 1.
        ports
            Peers that a rank drives at once, at least 1: a shape that is not given
            is that of fewest rounds of so many peers.

        Raises
        ------
        InputError
            If the product of the shape is not the number of ranks.
        """
        return max(1, len(box_of_shape(self.shape, ranks, ports).sizes)) * self.pieces

    def plan(self, collective: Collective, ports: int) -> Plan:
        """Return the rounds; reduce is the reversal of broadcast.

        Parameters
        ----------
        collective
            What is to be done: one of `ops`, with its root and its chunk count
            chosen.
        ports
            Peers that a rank drives at once, at least 1, as for `granularity`.

        Raises
        ------
        InputError
            If the operation is not one of `ops`, or the product of the shape is not
            the number of ranks.
        """
        require_op(self, collective)
        box = box_of_shape(self.shape, collective.rank_count, ports)
        rounds = list(self._broadcast(box, collective))
        if collective.op == "reduce":
            rounds = reversed_rounds(rounds, Op.REDUCE)
        return Plan(collective, tuple(rounds))

    def _broadcast(self, box: Dimensions, collective: Collective) -> Iterator[Round]:
        """Yield the rounds, a hop of each piece in each."""
        trees = len(box.sizes)
        if not trees:
            return
        root = collective.root_rank
        found = [_arcs(box, root, tree, chains=self.chains) for tree in range(trees)]
        columns = zip(*found, strict=True)
        src, dst, depth, port = (np.concatenate(one) for one in columns)
        tree = np.repeat(np.arange(trees), box.ranks - 1)
        cut = Partition(trees * self.pieces, collective.chunk_count)
        for turn in range(1, self.pieces + int(depth.max())):
            piece = turn - depth
            row = np.flatnonzero((piece >= 0) & (piece < self.pieces))
            start = tree[row] * self.pieces + piece[row]
            one = cut.round(src[row], dst[row], start, 1, port=port[row], op=Op.COPY)
            if one is not None:
                yield one


def _arcs(
    box: Dimensions, root: int, tree: int, *, chains: bool
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return (src, dst, depth of dst, port) of a tree, a row for each but the root."""
    rank = np.arange(box.ranks, dtype=np.int64)
    origin = np.array(root, dtype=np.int64)
    sizes = np.array(box.sizes, dtype=np.int64)
    digits = np.stack(
        [
            (box.digit(rank, dimension) - box.digit(origin, dimension)) % size
            for dimension, size in enumerate(box.sizes)
        ]
    )
    along = np.full_like(rank, tree)
    for dimension in box.order(tree)[1:]:
        along[digits[dimension] > 0] = dimension
    leaf = digits[tree] == 0
    along[leaf] = tree
    if chains:
        # A leaf hangs below the last of its line.
        further = np.ones_like(rank)
        depth = digits.sum(axis=0) + leaf * sizes[tree]
    else:
        further = np.where(leaf, sizes[tree] - 1, digits[along, rank])
        depth = (digits > 0).sum(axis=0) + 2 * leaf
    feeder = rank.copy()
    for dimension in range(len(sizes)):
        mine = along == dimension
        feeder[mine] = box.moved(rank[mine], dimension, -further[mine])
    # Who is so many places further round has one port of the dimension.
    port = (np.cumsum(sizes - 1) - (sizes - 1))[along] + further - 1
    fed = rank != root
    return feeder[fed], rank[fed], depth[fed], port[fed]


ALGORITHM = AlgorithmEntry(
    name="level-trees",
    summary="a pipelined tree per dimension of a box: large broadcast and reduce",
    ops=LevelTrees.ops,
    make=LevelTrees,
)
