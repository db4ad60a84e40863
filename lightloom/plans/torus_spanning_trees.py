"""Arc-disjoint spanning trees of low depth on a grid that is closed to a torus.

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
"""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations
from typing import TYPE_CHECKING

from lightloom.core.seed import seeded_random

if TYPE_CHECKING:
    import random

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
