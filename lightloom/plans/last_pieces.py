"""Ways for the last pieces of pipelined trees that are shorter than the trees.

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
from itertools import product
from typing import TYPE_CHECKING

from lightloom.core.seed import seeded_random

if TYPE_CHECKING:
    import random

Table = tuple[tuple[int, ...], ...]
"""A number for each node of each tree, that of node 0 being 0."""
_Way = tuple[int, int, int]
"""Kind of arc, who feeds, and depth."""
_TRIALS, _EFFORT = 80, 2**19
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
    effort = _EFFORT // max(1, len(ways))
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
