"""Broadcast and reduce, pipelined, on trees that share no arc: one a port, or two.

The two binary trees are those of Sanders, Speck and Träff (2009), which do all-reduce
as well: the electrical baseline beside the ring.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.plans.algorithms import (
    AlgorithmEntry,
    CollectiveAlgorithm,
    never_proposed,
)
from lightloom.plans.box import Dimensions, nearly_square
from lightloom.plans.edge_colouring import coloured_ports
from lightloom.plans.parameters import MOST, Count, Shape
from lightloom.plans.plan import Partition, Round, reversed_rounds
from lightloom.plans.trees import timed_rounds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.setting import Setting


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


class RailTrees(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Disjoint trees between servers, a set of them for each rank of a server.

    The buffer has a part for each rank of a server. The root scatters the parts within
    its server; each goes to ranks of the same place in all servers, along the trees of
    `DisjointTrees`; there each rank hands what it heard to all others of its server. So
    slow links between servers carry each byte once into a server, and all ranks of it
    share them. Pieces follow one another a round apart: k of them take k + D + 1 rounds
    for trees D deep. The first and the last may be smaller than others, since links
    wait for the first and behind the last.
    """

    ops: ClassVar[tuple[str, ...]] = ("broadcast", "reduce")

    shape: Shape = None
    ports: Annotated[
        Count, msgspec.Meta(description="Trees, and children of an inner rank.")
    ] = 4
    pieces: Annotated[
        Annotated[tuple[Count, ...], msgspec.Meta(min_length=1)],
        msgspec.Meta(description="Relative sizes of the pieces, in their order."),
    ] = (1,)

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return a chunk for each tree's share of the smallest size."""
        del ports
        servers, gpus = self._sizes(ranks)
        trees = len(tree_arcs(servers, self.ports).tree_depths)
        return gpus * sum(self.pieces) * trees

    def _sizes(self, ranks: int) -> tuple[int, int]:
        """Return the number of servers, and of ranks in each."""
        near = nearly_square(ranks)
        box = Dimensions.of(self.shape or near, ranks, fix=f"try {list(near)}")
        sizes = [size for size in box.sizes if size > 1]
        if len(sizes) != 2:
            what, found = "a box that is not of servers and their ranks", [*box.sizes]
            allowed = "two dimensions longer than 1"
            where = "algorithm.shape"
            raise InputError(what, where=where, found=found, allowed=allowed)
        return sizes[0], sizes[1]

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; reduce is the reversal of broadcast."""
        del ports
        ranks = collective.rank_count
        servers, gpus = self._sizes(ranks)
        arcs = tree_arcs(servers, self.ports)
        rows = np.concatenate(
            [
                self._between_servers(arcs, servers, gpus, collective.root_rank),
                self._inside_servers(arcs, servers, gpus, collective.root_rank),
                self._beside_root(arcs, gpus, collective.root_rank),
            ],
            axis=1,
        )
        src, dst, turn, part, length = rows
        port = (dst - src) % ranks - 1
        parts = gpus * sum(self.pieces) * len(arcs.tree_depths)
        return timed_rounds(collective, src, dst, turn, part, port, parts, length)

    def _pieces(self, trees: int, gpus: int) -> tuple[IntArray, IntArray]:
        """Return where pieces of each rank's part begin, and their sizes, in shares."""
        size = np.array(self.pieces, dtype=np.int64) * trees
        begin = np.arange(gpus)[:, None] * size.sum() + np.cumsum(size) - size
        return begin, size

    def _between_servers(
        self, arcs: TreeArcs, servers: int, gpus: int, root: int
    ) -> IntArray:
        """Return source, destination, round, first share and shares, by row.

        Of what the root scatters in its server, and of the trees.
        """
        home, mine = divmod(root, gpus)
        begin, size = self._pieces(len(arcs.tree_depths), gpus)
        piece, place = np.arange(len(size)), np.arange(gpus)
        others = place[place != mine]
        near = home * gpus + others[:, None]
        scattered = _table(root, near, piece, begin[others], size)
        start, end = (
            (ends + home) % servers * gpus + place[:, None]
            for ends in (arcs.parent, arcs.child)
        )
        share = size // len(arcs.tree_depths)
        along = _table(
            start[:, :, None],
            end[:, :, None],
            arcs.depth[:, None] + piece,
            begin[:, None, :] + arcs.tree[:, None] * share,
            share,
        )
        return np.concatenate([scattered, along], axis=1)

    def _inside_servers(
        self, arcs: TreeArcs, servers: int, gpus: int, root: int
    ) -> IntArray:
        """Return the same of what ranks hand to all others of their server."""
        begin, size = self._pieces(len(arcs.tree_depths), gpus)
        teller, hearer = np.nonzero(~np.eye(gpus, dtype=np.bool_))
        turn = np.arange(len(size)) + int(arcs.tree_depths.max()) + 1
        first = np.arange(servers)[:, None, None] * gpus
        rows = _table(
            first + teller[:, None], first + hearer[:, None], turn, begin[teller], size
        )
        return rows[:, (rows[:2] != root).all(axis=0)]

    def _beside_root(self, arcs: TreeArcs, gpus: int, root: int) -> IntArray:
        """Return the same of the root's own part in its server, which others share."""
        home, mine = divmod(root, gpus)
        trees = len(arcs.tree_depths)
        begin, size = self._pieces(trees, gpus)
        others = home * gpus + np.delete(np.arange(gpus), mine)
        piece, tree = (column.reshape(-1) for column in np.indices((len(size), trees)))
        relay = others[(piece + tree) % len(others)]
        share = (size // trees)[piece]
        own = begin[mine][piece] + tree * share
        told = _table(root, relay, piece, own, share)
        turn = piece + int(arcs.tree_depths.max()) + 1
        shared = _table(relay, others[:, None], turn, own, share)
        return np.concatenate([told, shared[:, shared[0] != shared[1]]], axis=1)


def _table(*columns: IntArray | int) -> IntArray:
    """Return columns of one shape as rows of a table."""
    return np.stack([column.reshape(-1) for column in np.broadcast_arrays(*columns)])


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


_FEW_PIECES = (1, 2)


def _proposals(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose pipelines of the best lengths for trees of few levels.

    They may end with a piece over flatter trees, or be flatter from the start. On a
    ring there is no light for so many far ranks but those of one piece.
    """
    ports = setting.ports
    children = _least_children(setting.ranks, ports)
    for degree in setting.depth_degrees(most_rounds=4):
        for count in setting.pipeline_pieces((1, 2, 3, 4)):
            if setting.spans is None or count == 1:
                yield {"ports": degree, "pieces": count}
                if children and degree == ports:
                    last = {"trees_per_last_piece": children}
                    yield {"ports": degree, "pieces": count, **last}
    if children:
        for count in _FEW_PIECES:
            if setting.spans is None or count == 1:
                yield {"ports": ports, "pieces": count, "root_children": children}


_RAIL_TREES = (1, 2, 3, 4, 6, 8)
"""Trees between servers that are tried beside one for each server: between these
numbers trees are as deep."""
_FEWER = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Parts of the best number of equal pieces that are tried: unequal ones are fewer."""
_FINENESS = 32
"""Size of the largest piece: shares that are finer would be of few bytes."""
_MOST_RAIL_ROWS = 2**20
"""Transfers beyond which fewer trees are preferred."""


def _rails(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose the numbers of trees and pieces that are predicted to be fastest.

    k equal pieces of trees D deep take (k + D + 1) (1 + R / k) rounds where what comes
    into a server lasts R of them: least near k = sqrt((D + 1) R).
    """
    network, sizes = setting.network, setting.sizes
    if setting.circuits or setting.linked or network is None or not network.step_ps:
        return
    if len(sizes) != 2:
        return
    near, far = network.arc_links(0, 1), network.arc_links(0, sizes[1])
    inside = float(network.ps_per_byte[near].max())
    # Ranks of a server may share the links out of it.
    shared = np.isin(far, network.arc_links(1, 1 + sizes[1]))
    between = float((network.ps_per_byte[far] * np.where(shared, sizes[1], 1)).max())
    one_port = bool(np.isin(far, near).any())
    data = setting.buffer_bytes / network.step_ps
    if data * between < sizes[1]:
        return
    best: list[tuple[float, int, tuple[int, ...]]] = []
    for ports in sorted({min(one, sizes[0] - 1) for one in (*_RAIL_TREES, sizes[0])}):
        arcs = tree_arcs(sizes[0], ports)
        loads = _rail_loads(arcs, *sizes, inside, between, one_port=one_port)
        equal = math.sqrt((loads.shape[1] - 1) * data * loads.sum(axis=1).max())
        for count in sorted({max(1, round(part * equal)) for part in _FEWER}):
            if count * len(arcs.parent) * sizes[1] <= _MOST_RAIL_ROWS:
                rounds, pieces = _unequal_pieces(loads * data, count)
                best.append((rounds, ports, pieces))
    for _, ports, pieces in sorted(best)[:2]:
        yield {"shape": [*setting.shape], "ports": ports, "pieces": [*pieces]}


def _rail_loads(
    arcs: TreeArcs,
    servers: int,
    gpus: int,
    inside: float,
    between: float,
    *,
    one_port: bool,
) -> FloatArray:
    """Return how long a piece loads links, by rounds since its first: (links, rounds).

    Links that are loaded alike are one. In the unit of `inside` and `between`, the
    times of a byte on links in a server and from one to another; with `one_port` a
    rank has the same links for both.
    """
    trees, deep = len(arcs.tree_depths), int(arcs.tree_depths.max())
    loads = np.zeros((2 * servers + 2, deep + 2))
    for ends in (arcs.parent, servers + arcs.child):
        np.add.at(loads, (ends, arcs.depth), between / gpus / trees)
    if one_port:
        loads[2 * servers] = loads[0]
        loads[: 2 * servers, deep + 1] = inside * (gpus - 1) / gpus
    loads[2 * servers, 0] = inside
    loads[2 * servers + 1, deep + 1] = inside * (gpus - 1) / gpus
    return np.unique(loads, axis=0)


def _unequal_pieces(loads: FloatArray, count: int) -> tuple[float, tuple[int, ...]]:
    """Return how many rounds so many pieces take, and sizes with which that is least.

    `loads`: rounds that the whole buffer takes on links, by rounds since a piece began.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    links, delays = loads.shape
    steps = count + delays - 1
    link, delay, piece = (
        column.reshape(-1) for column in np.indices((links, delays, count))
    )
    row = link * steps + delay + piece
    every = np.arange(links * steps)
    matrix = coo_array(
        (
            np.concatenate([loads[link, delay], np.full(len(every), -1.0)]),
            (
                np.concatenate([row, every]),
                np.concatenate([piece, count + every % steps]),
            ),
        )
    )
    whole = np.repeat([1.0, 0.0], [count, steps])
    solved = linprog(
        1.0 - whole,
        A_ub=matrix.tocsr(),
        b_ub=np.zeros(len(every)),
        A_eq=whole[None, :],
        b_eq=[1.0],
        method="highs-ds",
    )
    size = solved.x[:count]
    pieces = np.maximum(np.rint(size / size.max() * _FINENESS), 1).astype(np.int64)
    return steps + float(solved.fun), tuple(pieces.tolist())


def _least_children(ranks: int, ports: int) -> int:
    """Return how many children the root needs in trees two or three deep.

    So that each tree is flatter by one than it is with one child; 0 where that leaves
    fewer than two trees, or it takes no more than one child.
    """
    reached = 1 + ports
    for _ in range(2):
        children = -(-(ranks - 1) // reached)
        if 1 < children <= ports // 2:
            return children
        reached = 1 + ports * reached
    return 0


ALGORITHM = (
    AlgorithmEntry(
        name="disjoint-trees",
        summary="pipelined trees, one per port, arc-disjoint: large broadcast, reduce",
        ops=DisjointTrees.ops,
        make=DisjointTrees,
        proposals=_proposals,
    ),
    AlgorithmEntry(
        name="rail-trees",
        summary="disjoint trees between servers, for each place in them: broadcast",
        ops=RailTrees.ops,
        make=RailTrees,
        proposals=_rails,
    ),
    AlgorithmEntry(
        name="double-binary-tree",
        summary="two pipelined binary trees: the electrical baseline beside the ring",
        ops=DoubleBinaryTree.ops,
        make=DoubleBinaryTree,
        proposals=never_proposed,
    ),
)
