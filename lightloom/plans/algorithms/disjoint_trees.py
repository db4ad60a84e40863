"""Pipelined broadcast and reduce on arc-disjoint trees, one for each port."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np

from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.coloured_ports import coloured_ports
from lightloom.plans.parameters import MOST, Count
from lightloom.plans.partition import Partition
from lightloom.plans.reversal import reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round

_FINER = 16


class DisjointTrees(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """One tree for each port, each with its own part of the buffer.

    The ranks but the root are divided among k groups. The ranks of a group are the
    inner nodes of its tree and leaves of all others, so that no rank sends or
    receives on more than k circuits, and all circuits into a rank bring something
    new. Each tree passes its part on in pieces, one round apart, on circuits that
    never change. This is what the double binary tree does for two ports.
    """

    ops: ClassVar[tuple[str, ...]] = ("broadcast", "reduce")

    ports: Annotated[
        Count | None,
        msgspec.Meta(
            description="Trees, and children of an inner rank; as many as the fabric"
            " allows."
        ),
    ] = None
    pieces: Annotated[
        Count,
        msgspec.Meta(
            description="Pieces of the part of the flattest tree. A tree that is deeper"
            " by one has one piece less, so that all end in the same round."
        ),
    ] = 1
    root_children: Annotated[
        Count,
        msgspec.Meta(
            description="Children of the root in each tree: with more of them there are"
            " fewer trees, of larger parts, but flatter."
        ),
    ] = 1
    trees_per_last_piece: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=MOST,
            description="Adds, after all pieces, one more for each flatter tree that is"
            " made of the first arcs of so many trees, over circuits that idle by then."
            " All end in the same round, and all pieces are smaller. 0: none.",
        ),
    ] = 0

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return several chunks per piece: where uneven, pieces are nearly equal."""
        if ranks == 1:
            return 1
        arcs = self._arcs(ranks, ports)
        return _FINER * int(self._pieces(arcs).sum())

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; reduce is the reversal of broadcast."""
        ranks, root = collective.rank_count, collective.root_rank
        arcs = self._arcs(ranks, ports)
        pieces = self._pieces(arcs)
        start = np.cumsum(pieces) - pieces
        parts = Partition(int(pieces.sum()), collective.chunk_count)
        made = []
        delay = np.where(arcs.late, self.pieces, 0)[arcs.tree] + arcs.depth
        for turn in range(1, self.pieces + arcs.depth_of_most):
            piece = turn - delay
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
        return made

    def _arcs(self, ranks: int, ports: int) -> TreeArcs:
        ports = ports if self.ports is None else self.ports
        return tree_arcs(ranks, ports, self.root_children, self.trees_per_last_piece)

    def _pieces(self, arcs: TreeArcs) -> IntArray:
        """Return the pieces of each tree."""
        spare = arcs.tree_depths - arcs.depth_of_most
        pieces: IntArray = np.maximum(self.pieces - spare, 0)
        return np.where(arcs.late, spare < 0, pieces)


@dataclass(frozen=True, eq=False)
class TreeArcs:
    """Arcs of the trees on positions counted from the root, which is 0.

    `parent`, `child`, `tree`, `depth`, `port`: columns; the depth is that of the child.
    No pair occurs twice, but that late trees are made of arcs of others. `late`:
    whether it is a late one.
    """

    parent: IntArray
    child: IntArray
    tree: IntArray
    depth: IntArray
    port: IntArray
    tree_depths: IntArray
    late: npt.NDArray[np.bool_]

    @property
    def depth_of_most(self) -> int:
        """Depth of the flattest tree that is not late."""
        return int(self.tree_depths[~self.late].min())


@functools.lru_cache(maxsize=16)
def tree_arcs(ranks: int, ports: int, fan: int = 1, late: int = 0) -> TreeArcs:
    """Return as many trees as ports (and other ranks) allow.

    The root has `fan` children in each, or all its ports in a single one. A position
    has at most k children in all trees together. Where the group of a
    tree is too small to have all others for children, some hang below leaves that
    have children left to give; where none has, the tree is left out.

    Trees in sets of `late` share a late tree: each has a share of all positions
    among its first arcs, and these together are a tree.

    `ranks`, `ports`: number of ranks, at least 2, and of peers that a rank drives at
    once. `fan`: children of the root in each tree, at least 1.
    """
    most = min(ports, ranks - 1)
    fan = min(fan, most)
    count = most // fan
    left = np.full(ranks, most, dtype=np.int64)
    shares = _shares(ranks, count, late)
    drafts = [
        _draft(ranks, count, tree, fan, share, left)
        for tree, share in enumerate(shares)
    ]
    parents = {(parent, child) for one in drafts for child, parent in one.items()}
    rows: list[tuple[int, int, int, int]] = []
    parts: list[list[tuple[int, int, int, int]]] = []
    kept = 0
    for share, draft in zip(shares, drafts, strict=True):
        first = [child for child in share if child in draft]
        depth = _hang_rest(ranks, draft, left, parents)
        if depth is None:
            parts.append([])
            continue
        rows += [(draft[child], child, kept, depth[child]) for child in sorted(draft)]
        parts.append([(draft[child], child, 0, depth[child]) for child in first])
        kept += 1
    trees = kept
    for begin in range(0, count - late + 1, late) if late else ():
        whole = [row for part in parts[begin : begin + late] for row in part]
        if len(whole) == ranks - 1:
            rows += [(parent, child, trees, deep) for parent, child, _, deep in whole]
            trees += 1
    parent, child, tree, deep = np.array(rows, dtype=np.int64).T
    depths = np.zeros(trees, dtype=np.int64)
    np.maximum.at(depths, tree, deep)
    port = coloured_ports(parent, child)
    is_late = np.arange(trees) >= kept
    return TreeArcs(parent, child, tree, deep, port, depths, is_late)


def _group(ranks: int, count: int, tree: int) -> list[int]:
    """Return the positions that may be inner ones of a tree."""
    return list(range(1 + tree, ranks, count))


def _shares(ranks: int, count: int, late: int) -> list[list[int]]:
    """Return what each tree reaches first: of its set, and a share of the rest.

    All that a late tree must reach is in the share of one of its trees.
    """
    shares: list[list[int]] = []
    for tree in range(count):
        begin = tree - tree % late if late else tree
        if not late or begin + late > count:
            shares.append([])
            continue
        mine = [_group(ranks, count, one) for one in range(begin, begin + late)]
        others = sorted(set(range(1, ranks)).difference(*mine))
        # Which of the others follow which group differs from set to set.
        turn = begin // late
        rest = [
            node
            for place, node in enumerate(others)
            if (place + place // late * turn) % late == tree - begin
        ]
        shares.append(mine[tree - begin] + rest)
    return shares


def _draft(
    ranks: int, count: int, tree: int, fan: int, share: list[int], left: IntArray
) -> dict[int, int]:
    """Return child to parent of what a group can have for children by itself.

    `left`, the children that each position may still have, is brought up to date.
    """
    group = _group(ranks, count, tree)
    outside = sorted(set(range(1, ranks)) - set(group))
    # Each tree begins elsewhere; but the last of a larger group, who will have
    # children left to give, come first, where what hangs below them is not deep.
    turn = tree * len(outside) // count
    outside = outside[turn:] + outside[:turn]
    giving = 1 + (ranks - 1) // count * count
    mine = set(share)
    outside.sort(key=lambda node: (node not in mine, node < giving))
    waiting = group[fan:] + outside
    parent_of = dict.fromkeys(group[:fan], 0)
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


ALGORITHM = AlgorithmEntry(
    name="disjoint-trees",
    summary="a pipelined tree per port, all arc-disjoint: large broadcast and reduce",
    ops=DisjointTrees.ops,
    make=DisjointTrees,
)
