"""Trees along the rows and columns of a torus, pipelined: broadcast and reduce.

A node hears from its neighbours along its row and its column, one way round or both: by
D kinds of arc, each a permutation of the nodes. D spanning trees from node 0 that share
no arc use all but those into node 0; tree t begins with the arc of kind t. So every
other node gives each tree one kind of arc, and what is sought is such permutations that
the trees are trees, and not deep.

They are improved from trees that exist for all sizes, node by node: a node takes the
permutation with which the deepest nodes below it exceed the wanted depth by least,
any of them at random. A node below itself is out of the question. The wanted depth is
the distance of the farthest node, and one: the neighbour with which a tree begins is
one away from the root, and no nearer to what lies behind the root.

Trees that share no arc are often deeper than ranks are apart. All pieces of a tree but
the last have others behind them; when the last one has crossed an arc, it idles. So the
last pieces of all trees may take arcs of other trees once these idle, the root sending
them again: then all trees together end sooner. A piece that is late anywhere looks for
its earliest way over idle arcs, from whoever has it; where there is none, pieces begin
anew in another order.
"""

from __future__ import annotations

import functools
import heapq
from copy import copy
from functools import lru_cache
from itertools import permutations, product
from math import isqrt
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.seed import seeded_random
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.box import Dimensions, nearly_square
from lightloom.plans.parameters import Pieces, TorusShape
from lightloom.plans.setting import MOST_PIECES
from lightloom.plans.trees import CHUNKS_OF_A_PIECE, TreeRows

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping, Sequence

    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round
    from lightloom.plans.setting import Setting


class TorusTrees(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """A tree for each neighbour of the root on a torus, none sharing an arc.

    Every rank hears each tree, with its part of the buffer, from another neighbour, so
    once the pipeline is full all receive on all their links all the time. On n x n
    ranks with arcs both ways the trees are about n + 1 deep. The last pieces also take
    arcs of other trees that idle by then, which saves a round: k pieces take about
    k + n - 1.
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


_EFFORT = 12_000
"""Most nodes whose arcs are dealt anew on grids of 256 nodes; fewer on larger ones."""
_LARGE = 256

Feeders = tuple[tuple[int, ...], ...]
"""Who feeds each node in each tree, node 0 itself; and depths, in the same form."""


@lru_cache(maxsize=32)
def torus_spanning_trees(
    rows: int, cols: int, *, both_ways: bool
) -> tuple[Feeders, Feeders, Feeders]:
    """Return for each tree who feeds each node, by which kind of arc, and its depth.

    `rows`, `cols`: sizes of the torus, 1 or more; node ``r * cols + c`` is in row r,
    column c. `both_ways`: whether there are arcs in both directions of each row and
    column.

    Returns three tuples with a tuple of nodes for each tree: feeders, kinds of arc and
    depths; of node 0 all are 0. Kinds are, where the axis is longer than 1: from column
    c to c + 1, from row r to r + 1, and with `both_ways` from c to c - 1, from r to r -
    1.

    Deterministic; some 10 us times nodes, times 50 at most.
    """
    search = _Search(rows, cols, both_ways=both_ways)
    search.run()
    return search.found()


class _Search:
    """The arcs that nodes have given to trees so far."""

    def __init__(self, rows: int, cols: int, *, both_ways: bool) -> None:
        self._count = rows * cols
        axes = [axis for axis, size in enumerate((cols, rows)) if size > 1]
        kinds = [(axis, sign) for sign in (1, -1)[: 1 + both_ways] for axis in axes]
        self._trees = range(len(kinds))
        self._source: list[list[int]] = []
        self._target: list[list[int]] = []
        for axis, sign in kinds:
            for ends, step in ((self._source, -sign), (self._target, sign)):
                ends.append(_moved(rows, cols, axis, step))
        self._kind = self._first(rows, cols, len(axes))
        self._wanted = 1 + sum(
            _radius(size, both_ways=both_ways) for size in (rows, cols)
        )
        if len(axes) < 2:
            self._wanted = max(rows, cols) - 1  # there is no choice

    def run(self) -> None:
        """Deal arcs anew until no tree is too deep, or the effort is spent."""
        rng = seeded_random(0)
        nodes = list(range(1, self._count))
        effort = _EFFORT * _LARGE // max(self._count, _LARGE)
        best, least = self._copy(), self._depth()
        while least > self._wanted and effort > 0:
            rng.shuffle(nodes)
            for node in nodes:
                self._deal(node, rng)
            effort -= len(nodes)
            depth = self._depth()
            if depth < least:
                best, least = self._copy(), depth
        self._kind = best

    def found(self) -> tuple[Feeders, Feeders, Feeders]:
        """Return feeders, kinds of arc and depths."""
        feeder = [
            [self._source[kind][node] if node else 0 for node, kind in enumerate(one)]
            for one in self._kind
        ]
        tables = (feeder, self._kind, [self._depths(tree) for tree in self._trees])
        feeders, kinds, depths = (
            tuple(tuple(one) for one in table) for table in tables
        )
        return feeders, kinds, depths

    def _first(self, rows: int, cols: int, axes: int) -> list[list[int]]:
        """Return kinds by tree and node that make trees, of depth rows + cols - 1.

        Tree t goes along the axis of its kind from the root, from there across, and
        at last along its kind again to the nodes on the other axis of the root.
        """
        count = len(self._trees)
        across = range(1, count + 1) if axes == 2 else range(count)
        return [
            [
                across[tree] % count if node // cols and node % cols else tree
                for node in range(rows * cols)
            ]
            for tree in self._trees
        ]

    def _deal(self, node: int, rng: random.Random) -> None:
        """Give the arcs into a node to trees, so that these exceed least."""
        excess = [self._excess(node, tree) for tree in self._trees]
        least: int | None = None
        choices: list[tuple[int, ...]] = []
        for dealt in permutations(self._trees):
            total = 0
            for tree, kind in enumerate(dealt):
                over = excess[tree][kind]
                if over is None:
                    break
                total += over
            else:
                if least is None or total < least:
                    least, choices = total, [dealt]
                elif total == least:
                    choices.append(dealt)
        for tree, kind in enumerate(rng.choice(choices)):
            self._kind[tree][node] = kind

    def _excess(self, node: int, tree: int) -> list[int | None]:
        """Return by how much, squared, a tree would be too deep by each kind."""
        below, height = self._below(node, tree)
        kinds = self._kind[tree]
        found: list[int | None] = []
        for kind in self._trees:
            feeder = self._source[kind][node]
            if feeder in below or (not feeder and kind != tree):
                found.append(None)
                continue
            depth = 1
            while feeder:
                feeder = self._source[kinds[feeder]][feeder]
                depth += 1
            found.append(max(0, depth + height - self._wanted) ** 2)
        return found

    def _below(self, node: int, tree: int) -> tuple[set[int], int]:
        """Return a node and all below it in a tree, and how deep that is."""
        kinds = self._kind[tree]
        below, last, height = {node}, [node], -1
        while last:
            height += 1
            last = [
                child
                for parent in last
                for kind in self._trees
                if kinds[child := self._target[kind][parent]] == kind and child
            ]
            below.update(last)
        return below, height

    def _depths(self, tree: int) -> list[int]:
        depths = [0] * self._count
        last, depth = [0], 0
        kinds = self._kind[tree]
        while last:
            depth += 1
            last = [
                child
                for parent in last
                for kind in (self._trees if parent else (tree,))
                if kinds[child := self._target[kind][parent]] == kind and child
            ]
            for node in last:
                depths[node] = depth
        return depths

    def _depth(self) -> int:
        return max((max(self._depths(tree)) for tree in self._trees), default=0)

    def _copy(self) -> list[list[int]]:
        return [list(kinds) for kinds in self._kind]


def _moved(rows: int, cols: int, axis: int, step: int) -> list[int]:
    """Return the node one place further along a row (axis 0) or a column, by node."""
    if axis == 0:
        return [
            row * cols + (col + step) % cols
            for row in range(rows)
            for col in range(cols)
        ]
    return [
        (row + step) % rows * cols + col for row in range(rows) for col in range(cols)
    ]


def _radius(size: int, *, both_ways: bool) -> int:
    """Return how far the farthest place of a ring is."""
    return size // 2 if both_ways else size - 1


Table = tuple[tuple[int, ...], ...]
"""A number for each node of each tree, that of node 0 being 0."""
_Way = tuple[int, int, int]
"""Kind of arc, who feeds, and depth."""
_TRIALS, _SEARCHED_ARCS = 80, 2**19
"""Trials for a depth; and searches times arcs, in all."""


@functools.lru_cache(maxsize=32)
def last_pieces(
    feeders: Table, kinds: Table, depths: Table
) -> tuple[Table, Table, Table]:
    """Return who feeds each node the last piece of each tree, how, and how deep.

    `feeders`, `kinds`, `depths`: of trees from node 0: who feeds each node, by which
    kind of arc, no two trees by the same, and its depth. All trees are sent at once,
    piece after piece.

    Returns the same for the last pieces: depths are counted from the step in which the
    root sends them first, and what a node hears or sends takes an arc a step of its
    own. The largest depth is as small as is found; the trees themselves where nothing
    is.

    Deterministic.
    """
    trees, nodes = range(len(feeders)), range(1, len(feeders[0]))
    tables = kinds, feeders, depths
    ways: dict[tuple[int, int], _Way] = {}
    for tree, node in product(trees, nodes):
        kind, feeder, depth = (table[tree][node] for table in tables)
        ways[tree, node] = kind, feeder, depth
    best, rng = _Hurry(ways), seeded_random(0)
    effort = _SEARCHED_ARCS // max(1, len(ways))
    trials = _TRIALS
    while trials and effort > 0 and ways:
        found = best.copy()
        shorter, searches = found.shorten(rng)
        trials, effort = trials - 1, effort - searches
        if shorter:
            best, trials = found, _TRIALS
    made = [
        tuple((0, *(best.ways[tree, node][column] for node in nodes)) for tree in trees)
        for column in (1, 0, 2)
    ]
    return made[0], made[1], made[2]


class _Hurry:
    """Last pieces on their ways.

    `ways`: how each piece gets to each node, by tree and node, along the trees.

    `moved`: steps of arcs, by node, kind and step, in which a piece goes now (true) or
    has ceased to go, unlike along the trees.
    """

    def __init__(self, ways: dict[tuple[int, int], _Way]) -> None:
        self.ways = dict(ways)
        self._out: dict[int, list[tuple[int, int]]] = {}
        self._busy_until: dict[tuple[int, int], int] = {}
        self.moved: dict[tuple[int, int, int], bool] = {}
        for (_, node), (kind, feeder, depth) in ways.items():
            self._out.setdefault(feeder, []).append((node, kind))
            self._busy_until[node, kind] = depth

    def copy(self) -> _Hurry:
        """Return the same, to be changed apart."""
        made = copy(self)
        made.ways, made.moved = dict(self.ways), dict(self.moved)
        return made

    def shorten(self, rng: random.Random) -> tuple[bool, int]:
        """Take a step from the latest ways; return whether all could be shortened."""
        most = max(depth for _, _, depth in self.ways.values()) - 1
        late = [key for key, way in self.ways.items() if way[2] > most]
        rng.shuffle(late)
        for count, (tree, last) in enumerate(late, 1):
            if self.ways[tree, last][2] <= most:
                continue
            before = self._earliest(tree, most, rng)
            if last not in before:
                return False, count
            node = last
            while node in before:
                kind, _, depth = self.ways[tree, node]
                self.moved[node, kind, depth] = False
                self.ways[tree, node] = kind, feeder, depth = before[node]
                self.moved[node, kind, depth] = True
                node = feeder
        return True, len(late)

    def _idle(self, node: int, kind: int, step: int) -> bool:
        """Return whether an arc into a node carries nothing in a step."""
        moved = self.moved.get((node, kind, step))
        return step > self._busy_until[node, kind] if moved is None else not moved

    def _earliest(self, tree: int, most: int, rng: random.Random) -> dict[int, _Way]:
        """Return how nodes can hear the last piece of a tree sooner than they do."""
        known = {0: 0}
        for (one, node), (_, _, depth) in self.ways.items():
            if one == tree and depth < most:
                known[node] = depth
        before: dict[int, _Way] = {}
        heap = [(step, rng.random(), node) for node, step in known.items()]
        heapq.heapify(heap)
        while heap:
            heard, _, feeder = heapq.heappop(heap)
            if heard > known[feeder]:
                continue
            for node, kind in self._out.get(feeder, ()):
                step = heard + 1
                while step <= most and not self._idle(node, kind, step):
                    step += 1
                if step <= most and step < known.get(node, most + 1):
                    known[node] = step
                    before[node] = kind, feeder, step
                    heapq.heappush(heap, (step, rng.random(), node))
        return before


_MOST_ROWS = 2**20
"""Transfers of trees beyond which fewer pieces are preferred."""


def _proposals(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose the best number of pieces on a torus of rows and columns.

    k pieces of trees whose last ones are h deep take k + h - 1 rounds of a k-th of the
    buffer: least near k = sqrt((h - 1) R) where the buffer lasts R of them.
    """
    lasts, sizes = setting.rounds_of_data, setting.sizes
    lines = setting.along_lines or setting.linked
    if not lines or lasts is None or not 0 < len(sizes) <= 2:
        return
    rows, cols = (1, *sizes)[-2:]
    trees = torus_spanning_trees(rows, cols, both_ways=setting.both_ways)
    depths = last_pieces(*trees)[2]
    hops = max(max(depth) for depth in depths) - 1
    ideal = isqrt(int(hops * lasts))
    near = (max(ideal, 1), ideal + 1)
    best = min(near, key=lambda k: (k + hops) * (1 + lasts / k))
    pieces = min(best, MOST_PIECES, _MOST_ROWS // (rows * cols * len(depths)))
    box = {"shape": [*setting.shape], "both_ways": setting.both_ways}
    yield {**box, "pieces": max(pieces, 1)}


ALGORITHM = AlgorithmEntry(
    name="torus-trees",
    summary="a pipelined tree per neighbour on a torus: large broadcast and reduce",
    ops=TorusTrees.ops,
    make=TorusTrees,
    proposals=_proposals,
    along_lines=True,
)
