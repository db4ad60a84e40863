"""Trees along the dimensions of a box, pipelined: broadcast and reduce at full rate.

The trees of Johnsson and Ho (1989) for hypercubes, with lines of any length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import msgspec
import numpy as np

from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.level_exchange import box_of_shape
from lightloom.plans.parameters import Pieces, Shape
from lightloom.plans.pipelined_trees import CHUNKS_OF_A_PIECE, TreeRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round
    from lightloom.plans.rank_box import Dimensions

_Arcs = tuple["IntArray", "IntArray", "IntArray", "IntArray"]


class LevelTrees(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Trees that each begin along a dimension, each with its own part of the buffer.

    Digits are counted from the root. Tree (p, c) begins at the rank whose digit p is c
    and whose others are zero. In it a rank whose digit p is not c, as far as the tree
    has any, is fed by the rank that has c there; one whose digit p is c, by the rank
    with its last other nonzero digit zeroed, in the order p + 1, ..., D - 1, 0, ...,
    p - 1, and at last by the root. So there are two ways to have every rank hear at its
    full rate once the pipeline is full; circuits never change.

    - ``arcs``: a tree for every dimension p of r and every c from 1 to r - 1. A rank
      with digit p = a hears the trees (p, c), c other than a, from the r - 2 ranks of
      its line that are neither it nor the first one of it, and if a is zero from one
      more; tree (p, a), from the first rank along the nonzero digit before p in a
      circle. So each pair of a line bears one tree, in all (N - 1) sum (r - 1) of
      them for N ranks: all that do not enter the root.
    - One tree for each dimension, with c = 1 for ranks whose digit p is zero, and
      whatever their digit is for others. A rank hears the D trees along D different
      dimensions; what it sends along a dimension is of one tree, the same for all whom
      it feeds, in one transmission (``multicast``) or each passing on to the next.

    Trees are D + 1 deep at most, and deeper where ranks of a line form a ``chain``.
    """

    shape: Shape = None
    pieces: Pieces = 1
    lines: Annotated[
        Literal["arcs", "multicast", "chain"],
        msgspec.Meta(
            description="How ranks of a line feed one another. `arcs`: a tree for each"
            " pair of ranks, all pairs at once. `multicast`: one feeds all others with"
            " the same. `chain`: each passes on to the next, and the last to the one"
            " whose digit is zero; trees are deeper."
        ),
    ] = "arcs"

    ops: ClassVar[tuple[str, ...]] = ("broadcast", "reduce")

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return some chunks for each piece of each part."""
        box = box_of_shape(self.shape, ranks, ports)
        return max(1, len(self._trees(box))) * self.pieces * CHUNKS_OF_A_PIECE

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; reduce is the reversal of broadcast."""
        box = box_of_shape(self.shape, collective.rank_count, ports)
        root = collective.root_rank
        begins = self._trees(box)
        found = [_arcs(box, root, begin, self.lines) for begin in begins]
        last = None
        if self.lines == "multicast":
            last = _rows(_last_arcs(box, root, found))
        return _rows(found).rounds(collective, self.pieces, last)

    def _trees(self, box: Dimensions) -> list[tuple[int, int]]:
        """Return (p, c) of each tree."""
        return [
            (dimension, first)
            for dimension, size in enumerate(box.sizes)
            for first in range(1, size if self.lines == "arcs" else 2)
        ]


def _rows(found: Sequence[_Arcs]) -> TreeRows:
    """Return the rows of trees, one after another."""
    src, dst, depth, port = (np.concatenate(one) for one in zip(*found, strict=True))
    return TreeRows(src, dst, depth, port, len(found))


def _digits(box: Dimensions, root: int) -> IntArray:
    """Return the digits of all ranks, counted from the root, shape (D, ranks)."""
    rank = np.arange(box.ranks, dtype=np.int64)
    origin = np.array(root, dtype=np.int64)
    return np.stack(
        [
            (box.digit(rank, dimension) - box.digit(origin, dimension)) % size
            for dimension, size in enumerate(box.sizes)
        ]
    )


def _last_arcs(box: Dimensions, root: int, found: Sequence[_Arcs]) -> list[_Arcs]:
    """Return the ways of the last pieces, in trees of one for each dimension."""
    digits = np.delete(_digits(box, root), root, axis=1)
    made = []
    for tree, arcs in enumerate(found):
        after = (tree + 1) % len(found)
        other = (digits[tree] == 0) & (digits[after] > 0)
        src, _, depth, port = found[after]
        behind = (src, arcs[1], depth + 1, port)
        first, second, third, fourth = (
            np.where(other, one, usual) for one, usual in zip(behind, arcs, strict=True)
        )
        made.append((first, second, third, fourth))
    return made


def _arcs(box: Dimensions, root: int, begin: tuple[int, int], lines: str) -> _Arcs:
    """Return (src, dst, depth of dst, port) of a tree, a row for each but the root."""
    tree, first = begin
    rank = np.arange(box.ranks, dtype=np.int64)
    sizes = np.array(box.sizes, dtype=np.int64)
    digits = _digits(box, root)
    along = np.full_like(rank, tree)
    for dimension in box.order(tree)[1:]:
        along[digits[dimension] > 0] = dimension
    off = digits[tree] != first if lines == "arcs" else digits[tree] == 0
    along[off] = tree
    if lines == "chain":
        # Who is off hangs below the last of its line.
        further = np.ones_like(rank)
        depth = digits.sum(axis=0) + off * sizes[tree]
    else:
        back = (digits[tree] - first) % sizes[tree]
        further = np.where(off, back, digits[along, rank])
        others = (digits > 0).sum(axis=0) - (digits[tree] > 0)
        depth = others + 1 + off
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
    summary="pipelined trees along the dimensions of a box: large broadcast and reduce",
    ops=LevelTrees.ops,
    make=LevelTrees,
)
