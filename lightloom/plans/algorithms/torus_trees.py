"""Trees along the dimensions of a torus, or rings, pipelined: broadcast and reduce.

A node hears from its neighbours along its row and its column, one way round or both, or
from nodes a few strides back in a ring of all: by D kinds of arc, each a permutation of
the nodes. D spanning trees from node 0 that share
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
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from math import factorial, gcd, isqrt, prod
from typing import TYPE_CHECKING, Annotated, ClassVar, TypeAlias

import msgspec
import numpy as np
from msgspec import convert

from lightloom.core.errors import InputError
from lightloom.core.seed import seeded_random
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.box import Dimensions, nearly_square
from lightloom.plans.parameters import Count, Pieces, TorusShape
from lightloom.plans.setting import MOST_PIECES
from lightloom.plans.trees import CHUNKS_OF_A_PIECE, TreeRows

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round
    from lightloom.plans.setting import Setting


_MOST_KINDS = 6
"""Kinds of arc whose permutations, 720 then, are looked at one by one."""


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
    strides: Annotated[
        Annotated[tuple[Count, ...], msgspec.Meta(min_length=1, max_length=_MOST_KINDS)]
        | None,
        msgspec.Meta(
            description="Ranks pass data on to those that are so many places further"
            " on, in a ring of all instead of rows and columns. No stride has a factor"
            " in common with the number of ranks."
        ),
    ] = None

    ops: ClassVar[tuple[str, ...]] = ("broadcast", "reduce")

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return some chunks for each piece of each part."""
        del ports
        kinds = len(self.arcs(ranks).source)
        return max(1, kinds) * self.pieces * CHUNKS_OF_A_PIECE

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; reduce is the reversal of broadcast."""
        del ports
        arcs = self.arcs(collective.rank_count)
        trees = spanning_trees(arcs)
        last = last_pieces(*trees)
        first, then = (self._rows(collective, arcs, one) for one in (trees, last))
        return first.rounds(collective, self.pieces, then)

    def _rows(
        self, collective: Collective, arcs: ArcKinds, trees: tuple[Table, Table, Table]
    ) -> TreeRows:
        """Return trees of node 0 as trees of the root."""
        feeder, kind, depth = (
            np.array(one, dtype=np.int64)[:, 1:].reshape(-1) for one in trees
        )
        node = np.tile(np.arange(1, arcs.count, dtype=np.int64), len(trees[0]))
        # Reversed, what runs one way only has to have run the other way.
        sign = -1 if collective.op == "reduce" and not self.both_ways else 1
        root = np.unravel_index(collective.root_rank, arcs.sizes)
        src, dst = (
            _numbers(
                [
                    sign * digit + begin
                    for digit, begin in zip(
                        np.unravel_index(one, arcs.sizes), root, strict=True
                    )
                ],
                arcs.sizes,
            )
            for one in (feeder, node)
        )
        port = np.array(arcs.port, dtype=np.int64)[kind]
        return TreeRows(src, dst, depth, port, len(trees[0]))

    def arcs(self, ranks: int) -> ArcKinds:
        """Return the kinds of arc between so many ranks."""
        if self.strides is None:
            return torus_arcs(self._sizes(ranks), both_ways=self.both_ways)
        if self.shape is not None or self.both_ways:
            what = "strides are of a ring of all ranks, one way round"
            fix = "leave shape and both_ways out"
            raise InputError(what, where="algorithm.strides", fix=fix)
        other = [one for one in self.strides if gcd(one, ranks) > 1]
        if other or len({one % ranks for one in self.strides}) < len(self.strides):
            what = "a ring of one stride does not pass all ranks, or two are the same"
            allowed = f"different strides without a factor in common with {ranks}"
            where, found = "algorithm.strides", [*self.strides]
            raise InputError(what, where=where, found=found, allowed=allowed)
        return ring_arcs(ranks, self.strides)

    def _sizes(self, ranks: int) -> tuple[int, ...]:
        """Return the sizes of the dimensions longer than 1."""
        near = nearly_square(ranks)
        shape = near if self.shape is None else self.shape
        box = Dimensions.of(shape, ranks, fix=f"try {list(near)}")
        sizes = tuple(size for size in box.sizes if size > 1)
        most = _MOST_KINDS // (1 + self.both_ways)
        if len(sizes) > most:
            what = "a torus of more dimensions than trees are known for"
            where, allowed = "algorithm.shape", f"at most {most} longer than 1"
            raise InputError(what, where=where, found=list(sizes), allowed=allowed)
        return sizes or (1,)


_EFFORT = 12_000
"""Most nodes whose arcs are dealt anew where there are 256 nodes and 4 kinds of arc;
fewer where there are more."""
_LARGE, _FEW_CHOICES = 256, 24

Table: TypeAlias = tuple[tuple[int, ...], ...]
"""A number for each node of each tree, or by each kind of arc."""


@dataclass(frozen=True)
class ArcKinds:
    """Kinds of arc between nodes of a box, each a permutation of all.

    `sizes`: of the box, the last digit of a node running fastest. `source`: who feeds
    each node by each kind, `target`: whom each node feeds. `port`: of each kind; in a
    ring of two both directions lead to one peer, on one port. `first`: by tree and
    node, kinds that make trees from node 0; of tree t the only arc out of node 0 is of
    kind t. `least`: a depth that no trees of these kinds go below.
    """

    sizes: tuple[int, ...]
    source: Table
    target: Table
    port: tuple[int, ...]
    first: Table
    least: int

    @property
    def count(self) -> int:
        """Number of nodes."""
        return prod(self.sizes)


def torus_arcs(sizes: tuple[int, ...], *, both_ways: bool) -> ArcKinds:
    """Return the kinds of arc of a torus: one place further along each dimension.

    With `both_ways` also one place back; the last dimension comes first.
    """
    axes = range(len(sizes))[::-1] if max(sizes) > 1 else ()
    kinds = [(axis, sign) for sign in (1, -1)[: 1 + both_ways] for axis in axes]
    least = 1 + sum(_radius(size, both_ways=both_ways) for size in sizes)
    return ArcKinds(
        sizes,
        tuple(_moved(sizes, axis, -sign) for axis, sign in kinds),
        tuple(_moved(sizes, axis, sign) for axis, sign in kinds),
        tuple(
            kind % len(axes) if sizes[axis] == 2 else kind
            for kind, (axis, _) in enumerate(kinds)
        ),
        _first_trees(sizes, [axis for axis, _ in kinds]),
        least if len(sizes) > 1 else sizes[0] - 1,  # a ring leaves no choice
    )


def _first_trees(sizes: tuple[int, ...], axis: list[int]) -> Table:
    """Return kinds, by tree and node, that make trees from node 0 on a torus.

    A node of which digit a is zero takes the arc of its own kind in a tree whose kind
    goes along dimension a, so it hangs below one of which that digit is not. All other
    trees take each the kind of the next of them, in a circle, as long as the node has
    two digits or more that are not zero: so they make one of these zero after another,
    never the digit of their own dimension, along which at last they come to node 0.
    """
    kinds = range(len(axis))
    first = [[0] * prod(sizes) for _ in kinds]
    for node, digits in enumerate(np.ndindex(*sizes)):
        some = [kind for kind in kinds if digits[axis[kind]]]
        turned = len({axis[kind] for kind in some}) > 1
        following = dict(zip(some, some[1:] + some[:1], strict=True)) if turned else {}
        for tree in kinds:
            first[tree][node] = following.get(tree, tree)
    return tuple(tuple(one) for one in first)


def ring_arcs(nodes: int, strides: tuple[int, ...]) -> ArcKinds:
    """Return arcs from each node to those that are some strides further on.

    At first tree t goes once round the ring of stride t.
    """
    source, target = (
        tuple(_moved((nodes,), 0, sign * stride) for stride in strides)
        for sign in (-1, 1)
    )
    kinds = range(len(strides))
    first = tuple((kind,) * nodes for kind in kinds)
    reached, far = {0}, 0
    while len(reached) < nodes:
        far += 1
        reached |= {(node + stride) % nodes for node in reached for stride in strides}
    # A tree begins with one of the arcs; it is no nearer to what others lead to.
    least = far + 1 if len(strides) > 1 else far
    return ArcKinds((nodes,), source, target, tuple(kinds), first, least)


@lru_cache(maxsize=32)
def spanning_trees(arcs: ArcKinds) -> tuple[Table, Table, Table]:
    """Return for each tree who feeds each node, by which kind of arc, and its depth.

    Three tables with a row for each tree; of node 0 all are 0. No two trees share an
    arc.

    Deterministic; some 10 us times nodes, times 50 at most.
    """
    search = _Search(arcs)
    search.run()
    return search.found()


class _Search:
    """The arcs that nodes have given to trees so far."""

    def __init__(self, arcs: ArcKinds) -> None:
        self._count = arcs.count
        self._trees = range(len(arcs.source))
        self._source, self._target = arcs.source, arcs.target
        self._kind = [list(kinds) for kinds in arcs.first]
        self._wanted = arcs.least
        self._choices = factorial(len(self._trees))

    def run(self) -> None:
        """Deal arcs anew until no tree is too deep, or the effort is spent."""
        rng = seeded_random(0)
        nodes = list(range(1, self._count))
        effort = _EFFORT * _LARGE // max(self._count, _LARGE)
        effort = effort * _FEW_CHOICES // max(self._choices, _FEW_CHOICES)
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

    def found(self) -> tuple[Table, Table, Table]:
        """Return feeders, kinds of arc and depths."""
        feeder = [
            [self._source[kind][node] if node else 0 for node, kind in enumerate(one)]
            for one in self._kind
        ]
        kinds = [[0, *one[1:]] for one in self._kind]
        tables = (feeder, kinds, [self._depths(tree) for tree in self._trees])
        feeders, used, depths = (tuple(tuple(one) for one in table) for table in tables)
        return feeders, used, depths

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


def _moved(sizes: tuple[int, ...], axis: int, step: int) -> tuple[int, ...]:
    """Return the node so many places further along a dimension, by node."""
    digits = list(np.unravel_index(np.arange(prod(sizes)), sizes))
    digits[axis] = digits[axis] + step
    return tuple(_numbers(digits, sizes).tolist())


def _numbers(digits: Sequence[IntArray], sizes: tuple[int, ...]) -> IntArray:
    """Return nodes by their digits, whatever these are modulo the sizes."""
    return np.ravel_multi_index(tuple(digits), sizes, mode="wrap").astype(np.int64)


def _radius(size: int, *, both_ways: bool) -> int:
    """Return how far the farthest place of a ring is."""
    return size // 2 if both_ways else size - 1


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
    lasts, box = setting.rounds_of_data, _box(setting)
    if box is None or lasts is None:
        return
    arcs = convert(box, TorusTrees).arcs(setting.ranks)
    depths = last_pieces(*spanning_trees(arcs))[2]
    hops = max(max(depth) for depth in depths) - 1
    ideal = isqrt(int(hops * lasts))
    near = (max(ideal, 1), ideal + 1)
    best = min(near, key=lambda k: (k + hops) * (1 + lasts / k))
    pieces = min(best, MOST_PIECES, _MOST_ROWS // (arcs.count * len(depths)))
    yield {**box, "pieces": max(pieces, 1)}


def _box(setting: Setting) -> dict[str, object] | None:
    """Return rows and columns, or the strides of rings, that links join ranks along."""
    most = _MOST_KINDS // (1 + setting.both_ways)
    lines = setting.along_lines or setting.linked
    if lines and 0 < len(setting.sizes) <= most:
        return {"shape": [*setting.shape], "both_ways": setting.both_ways}
    network = setting.network if setting.linked else None
    strides = () if network is None else network.strides()
    if not 1 < len(strides) <= _MOST_KINDS or gcd(prod(strides), setting.ranks) > 1:
        return None
    return {"strides": [*strides]}


ALGORITHM = AlgorithmEntry(
    name="torus-trees",
    summary="a pipelined tree per neighbour on a torus: large broadcast and reduce",
    ops=TorusTrees.ops,
    make=TorusTrees,
    proposals=_proposals,
    along_lines=True,
)
