"""Arc-disjoint trees, pipelined: broadcast and reduce at the rate of all ports."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np

from lightloom.core.schedule import Op
from lightloom.synth.algorithms import Entry, require_op
from lightloom.synth.algorithms.ports import coloured_ports
from lightloom.synth.algorithms.reversal import reversed_rounds
from lightloom.synth.partition import Partition
from lightloom.synth.plan import Plan

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective

_FINER = 16


class DisjointTrees(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tree for each port, each with its own part of the buffer.

    The ranks but the root are dealt out to k groups. The ranks of a group are the
    inner nodes of its tree and leaves of all others, so that no rank sends or
    receives on more than k circuits, and all circuits into a rank bring something
    new. Each tree passes its part on in pieces, one round apart, on circuits that
    never change. This is what the double binary tree does for two ports.

    Attributes
    ----------
    ports
        Trees, and children of an inner node; as many as the fabric allows if
        ``None``.
    pieces
        Pieces of the part of the flattest tree. A tree that is deeper by one has
        one piece less, so that all end in the same round.
    """

    ops: ClassVar[tuple[str, ...]] = ("broadcast", "reduce")

    ports: Annotated[int, msgspec.Meta(ge=1, le=2**20)] | None = None
    pieces: Annotated[int, msgspec.Meta(ge=1, le=2**20)] = 1

    def granularity(self, ranks: int, ports: int) -> int:
        """Return several chunks per piece: where uneven, pieces are nearly equal."""
        if ranks == 1:
            return 1
        arcs = tree_arcs(ranks, ports if self.ports is None else self.ports)
        return _FINER * int(self._pieces(arcs).sum())

    def plan(self, collective: Collective, ports: int) -> Plan:
        """Return the rounds; reduce is the reversal of broadcast."""
        require_op(self, collective)
        ranks, root = collective.rank_count, collective.root_rank
        if ranks == 1:
            return Plan(collective, ())
        arcs = tree_arcs(ranks, ports if self.ports is None else self.ports)
        pieces = self._pieces(arcs)
        start = np.cumsum(pieces) - pieces
        parts = Partition(int(pieces.sum()), collective.chunk_count)
        made = []
        for turn in range(1, self.pieces + int(arcs.tree_depths.min())):
            piece = turn - arcs.depth
            row = np.flatnonzero((piece >= 0) & (piece < pieces[arcs.tree]))
            one = parts.round(
                (arcs.parent[row] + root) % ranks,
                (arcs.child[row] + root) % ranks,
                start[arcs.tree[row]] + piece[row],
                1,
                port=arcs.port[row],
                op=Op.COPY,
            )
            made += [] if one is None else [one]
        if collective.op == "reduce":
            made = reversed_rounds(made, Op.REDUCE)
        return Plan(collective, tuple(made))

    def _pieces(self, arcs: TreeArcs) -> IntArray:
        """Return the pieces of each tree."""
        spare = arcs.tree_depths - arcs.tree_depths.min()
        pieces: IntArray = np.maximum(self.pieces - spare, 0)
        return pieces


@dataclass(frozen=True, eq=False)
class TreeArcs:
    """Arcs of the trees on positions counted from the root, which is 0.

    Attributes
    ----------
    parent, child, tree, depth, port
        Columns; the depth is that of the child. No pair occurs twice.
    tree_depths
        Depth of each tree.
    """

    parent: IntArray
    child: IntArray
    tree: IntArray
    depth: IntArray
    port: IntArray
    tree_depths: IntArray


@functools.lru_cache(maxsize=16)
def tree_arcs(ranks: int, ports: int) -> TreeArcs:
    """Return as many trees as ports (and other ranks) allow.

    A position has at most k children in all trees together. Where the group of a
    tree is too small to have all others for children, some hang below leaves that
    have children left to give; where none has, the tree is left out.
    """
    count = min(ports, ranks - 1)
    left = np.full(ranks, count, dtype=np.int64)
    drafts = [_draft(ranks, count, tree, left) for tree in range(count)]
    parents = {(parent, child) for one in drafts for child, parent in one.items()}
    rows: list[tuple[int, int, int, int]] = []
    kept = 0
    for draft in drafts:
        depth = _hang_rest(ranks, draft, left, parents)
        if depth is None:
            continue
        rows += [(draft[child], child, kept, depth[child]) for child in sorted(draft)]
        kept += 1
    parent, child, tree, deep = np.array(rows, dtype=np.int64).T
    depths = np.zeros(kept, dtype=np.int64)
    np.maximum.at(depths, tree, deep)
    return TreeArcs(parent, child, tree, deep, coloured_ports(parent, child), depths)


def _draft(ranks: int, count: int, tree: int, left: IntArray) -> dict[int, int]:
    """Return child to parent of what a group can have for children by itself.

    `left`, the children that each position may still have, is brought up to date.
    """
    group = list(range(1 + tree, ranks, count))
    outside = sorted(set(range(1, ranks)) - set(group))
    # Each tree begins elsewhere; but the last of a larger group, who will have
    # children left to give, come first, where what hangs below them is not deep.
    turn = tree * len(outside) // count
    outside = outside[turn:] + outside[:turn]
    giving = 1 + (ranks - 1) // count * count
    waiting = group[1:] + sorted(outside, key=lambda node: node < giving)
    parent_of = {group[0]: 0}
    nodes = iter(group)
    parent = next(nodes)
    for child in waiting:
        while not left[parent]:
            following = next(nodes, None)
            if following is None:
                return parent_of
            parent = following
        parent_of[child] = parent
        left[parent] -= 1
    return parent_of


def _hang_rest(
    ranks: int,
    draft: dict[int, int],
    left: IntArray,
    pairs: set[tuple[int, int]],
) -> dict[int, int] | None:
    """Complete a tree below positions that may have more children; return depths.

    ``None`` if it cannot be: then the tree is given up and its children given back.
    """
    depth = {0: 0}
    for child, parent in draft.items():
        depth[child] = depth[parent] + 1
    for child in range(1, ranks):
        if child in draft:
            continue
        able = [node for node in draft if left[node] and (node, child) not in pairs]
        if not able:
            for parent in draft.values():
                left[parent] += parent != 0
            return None
        parent = min(able, key=lambda node: (depth[node], -int(left[node]), node))
        draft[child], depth[child] = parent, depth[parent] + 1
        pairs.add((parent, child))
        left[parent] -= 1
    return depth


ALGORITHM = Entry(
    name="disjoint-trees",
    summary="a pipelined tree per port, all arc-disjoint: large broadcast and reduce",
    ops=DisjointTrees.ops,
    make=DisjointTrees,
)
