"""Pipelined all-reduce, broadcast and reduce on two binary trees.

Sanders, Speck, Träff (2009). The electrical baseline beside the ring.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np

from lightloom.core.schedule import Op
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.coloured_ports import coloured_ports
from lightloom.plans.parameters import Count
from lightloom.plans.partition import Partition
from lightloom.plans.plan import Round
from lightloom.plans.reversal import reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective


class DoubleBinaryTree(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Half of the buffer goes up and down one binary tree, half up and down another.

    Each half is cut into pieces that follow one another, one round apart. All-reduce
    takes ``pieces - 1 + 2 H`` rounds for trees of height H <= log2 n; a rank sends
    to and receives from at most four others, so each piece costs it at most twice
    the buffer over the number of pieces. Broadcast and reduce hang the trees of the
    other ranks below the root and take ``pieces + H`` rounds.
    """

    ops: ClassVar[tuple[str, ...]] = ("all-reduce", "broadcast", "reduce")

    pieces: Annotated[
        Count,
        msgspec.Meta(
            description="Pieces of each half, which follow one another a round apart."
        ),
    ] = 1

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return one chunk per piece of either half."""
        del ranks, ports
        return 2 * self.pieces

    @staticmethod
    def best_pieces(ranks: int, size_bytes: int, alpha_ps: int, bits_per_s: int) -> int:
        """Return the pieces that all-reduce is fastest with, by the square-root rule.

        `alpha_ps`, `bits_per_s`: fixed cost of a round, and rate of a rank in each
        direction.

        Returns the q >= 1 that minimises ``(q + 2 H - 1) (alpha + 2 B / (q r))``, at
        most half of the bytes.
        """
        most = max(1, size_bytes // 2)
        levels = 2 * _height(ranks) - 1
        if alpha_ps == 0:
            return most
        data_ps = 2 * size_bytes * BITS_PER_BYTE * PS_PER_S // bits_per_s
        root = isqrt(max(levels, 0) * data_ps // alpha_ps)
        near = [min(max(q, 1), most) for q in (root, root + 1)]
        return min(near, key=lambda q: -(-(q + levels) * (alpha_ps * q + data_ps) // q))

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds of the pipeline."""
        del ports
        halves = Partition(2 * self.pieces, collective.chunk_count)
        if collective.op == "all-reduce":
            edges = _two_trees(collective.rank_count)
            rounds = _pipeline(_up_and_down(edges), self.pieces, halves)
        else:
            edges = _rooted(collective.rank_count, collective.root_rank)
            rounds = _pipeline(_down(edges, 0), self.pieces, halves)
        if collective.op == "reduce":
            rounds = reversed_rounds(rounds, Op.REDUCE)
        return rounds


@dataclass(frozen=True, eq=False)
class _Edges:
    """Edges of both trees; `depth` is that of the child, `half` is the tree."""

    parent: IntArray
    child: IntArray
    depth: IntArray
    half: IntArray


@dataclass(frozen=True, eq=False)
class _Arcs:
    """Arcs that carry the pieces of a half, piece 0 in round `first`."""

    src: IntArray
    dst: IntArray
    half: IntArray
    first: IntArray
    op: IntArray


def _parents(count: int) -> IntArray:
    """Return the parent of positions 1 to `count` in in-order; 0 for the root's.

    Odd positions are leaves; an even one lies between its children, as far from
    them as its lowest set bit allows.
    """
    position = np.arange(1, count + 1, dtype=np.int64)
    lowest = position & -position
    above = (position ^ lowest) | (lowest << 1)
    return np.where(above <= count, above, position ^ lowest)


def _two_trees(count: int) -> _Edges:
    """Return the edges of both trees on ranks 0 to `count` - 1.

    The second tree is the first one shifted by one, so that the inner nodes of
    either, even positions of its own, are leaves of the other.
    """
    parent = _parents(count)
    position = np.arange(1, count + 1, dtype=np.int64)
    depth, above = np.zeros_like(parent), parent
    while above.any():
        depth += above > 0
        above = np.where(above > 0, parent[above - 1], 0)
    below = parent > 0
    child, parent, depth = position[below], parent[below], depth[below]
    return _Edges(
        np.concatenate([parent, _second(parent, count)]) - 1,
        np.concatenate([child, _second(child, count)]) - 1,
        np.concatenate([depth, depth]),
        np.repeat(np.arange(2, dtype=np.int64), len(child)),
    )


def _second(position: IntArray, count: int) -> IntArray:
    """Return who is at these positions of the second tree."""
    return position % count + 1


def _rooted(ranks: int, root: int) -> _Edges:
    """Return both trees of the ranks after the root, with the root above them."""
    others = _two_trees(ranks - 1)
    half = np.arange(2, dtype=np.int64)
    top = np.array([1 << (ranks - 1).bit_length() - 1], dtype=np.int64)
    tops = np.concatenate([top, _second(top, ranks - 1)])
    parent = np.concatenate([others.parent + 1, np.zeros_like(tops)])
    child = np.concatenate([others.child + 1, tops])
    return _Edges(
        (parent + root) % ranks,
        (child + root) % ranks,
        np.concatenate([others.depth + 1, np.ones_like(tops)]),
        np.concatenate([others.half, half]),
    )


def _down(edges: _Edges, start: int) -> _Arcs:
    """Return the arcs of a broadcast; the root sends piece 0 in round `start`."""
    first = start + edges.depth - 1
    op = np.full_like(first, int(Op.COPY))
    return _Arcs(edges.parent, edges.child, edges.half, first, op)


def _up_and_down(edges: _Edges) -> _Arcs:
    """Return the arcs of a reduce with the broadcast right behind it."""
    height = int(edges.depth.max())
    down = _down(edges, height)
    up = height - edges.depth
    return _Arcs(
        np.concatenate([edges.child, down.src]),
        np.concatenate([edges.parent, down.dst]),
        np.concatenate([edges.half, down.half]),
        np.concatenate([up, down.first]),
        np.concatenate([np.full_like(up, int(Op.REDUCE)), down.op]),
    )


def _pipeline(arcs: _Arcs, pieces: int, halves: Partition) -> list[Round]:
    """Return the rounds in which every arc carries piece after piece."""
    port = coloured_ports(arcs.src, arcs.dst)
    begin = halves.boundary(np.arange(2 * pieces + 1, dtype=np.int64))
    rounds: list[Round] = []
    for turn in range(int(arcs.first.max()) + pieces):
        piece = turn - arcs.first
        part = arcs.half * pieces + piece
        busy = (piece >= 0) & (piece < pieces)
        part = np.where(busy, part, 0)
        row = np.flatnonzero(busy & (begin[part] < begin[part + 1]))
        if len(row):
            part = part[row]
            rounds.append(
                Round(
                    arcs.src[row],
                    arcs.dst[row],
                    begin[part],
                    begin[part + 1],
                    arcs.op[row],
                    port[row],
                )
            )
    return rounds


def _height(ranks: int) -> int:
    """Return the height of the trees of all-reduce."""
    return int(_two_trees(ranks).depth.max(initial=0))


ALGORITHM = AlgorithmEntry(
    name="double-binary-tree",
    summary="two pipelined binary trees: the electrical baseline beside the ring",
    ops=DoubleBinaryTree.ops,
    make=DoubleBinaryTree,
)
