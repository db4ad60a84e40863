"""Colouring of circular arcs: wavelengths for the circuits of one fibre ring.

Fill every span up to the number of colours with idle arcs of one span. At every node
then as many arcs end as begin, and joining each that ends to one that begins makes
closed walks. A colour is a walk that goes round exactly once; so a colouring is a
joining in which every walk does. Exchanging two successors at a node splits a walk
that stops there twice, or merges two that both stop there: the search merges walks
that go round more than once with others, and splits what comes out elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.seed import seeded_random

if TYPE_CHECKING:
    import random

    from lightloom.core.columns import IntArray

DEFAULT_EFFORT = 20_000


def arc_colours(
    begin: IntArray,
    hops: IntArray,
    nodes: int,
    colours: int,
    *,
    seed: int = 0,
    effort: int = DEFAULT_EFFORT,
) -> IntArray | None:
    """Return a colour for each arc such that no span has one twice, if one is found.

    `begin`, `hops`: first span and number of spans of each arc, shape (arcs,); 1 <=
    hops <= nodes. Arc i covers the spans ``begin[i]`` to ``begin[i] + hops[i] - 1``,
    modulo `nodes`.

    Returns colours, shape (arcs,), 0 to ``colours - 1``; ``None`` where a span has more
    arcs than colours, or the search ends without a colouring, which proves nothing.

    O(arcs + nodes * colours) beside the search; deterministic.
    """
    load = span_loads(begin, hops, nodes)
    if len(begin) and load.max() > colours:
        return None
    idle = np.repeat(np.arange(nodes), colours - load)
    starts = np.concatenate([begin, idle])
    ends = np.concatenate([begin + hops, idle + 1]) % nodes
    length = [*hops.tolist(), *([1] * len(idle))]
    # The k-th arc that ends at a node is followed by the k-th that begins there.
    successor = np.empty(len(starts), dtype=np.int64)
    successor[np.argsort(ends, kind="stable")] = np.argsort(starts, kind="stable")
    walks = _Walks(starts.tolist(), length, nodes)
    walks.take(successor.tolist())
    if not walks.settle(seeded_random(seed), effort):
        return None
    colour = np.empty(len(starts), dtype=np.int64)
    for number, walk in enumerate(walks.walks):
        colour[walk] = number
    return colour[: len(begin)]


def span_loads(begin: IntArray, hops: IntArray, nodes: int) -> IntArray:
    """Return how many arcs cover each span of a ring, shape (nodes,).

    Parameters
    ----------
    begin, hops
        First span and number of spans of each arc, shape (arcs,).
    nodes
        Number of nodes, and of spans.

    Examples
    --------
    Of two arcs on a ring of four, one crosses the last span:

    >>> span_loads(np.array([0, 3]), np.array([2, 2]), 4).tolist()
    [2, 1, 0, 1]
    """
    change = np.bincount(begin, minlength=2 * nodes + 1)
    change -= np.bincount(begin + hops, minlength=2 * nodes + 1)
    load: IntArray = np.cumsum(change)[: 2 * nodes].reshape(2, nodes).sum(axis=0)
    return load


class _Walks:
    """Closed walks that stop nowhere twice, of arcs named by numbers."""

    def __init__(self, begin: list[int], hops: list[int], nodes: int) -> None:
        self._begin, self._hops, self._nodes = begin, hops, nodes
        self._walk_of = [0] * len(begin)
        self._at: list[list[int]] = [[] for _ in range(nodes)]
        for arc, node in enumerate(begin):
            self._at[node].append(arc)
        self.walks: list[list[int]] = []

    def take(self, successor: list[int]) -> None:
        """Take the walks of a joining, split wherever they stop twice."""
        seen = [False] * len(successor)
        for first in range(len(successor)):
            walk = []
            arc = first
            while not seen[arc]:
                seen[arc] = True
                walk.append(arc)
                arc = successor[arc]
            for loop in self._loops(walk) if walk else ():
                self._put(len(self.walks), loop)

    def settle(self, rng: random.Random, effort: int) -> bool:
        """Return whether all walks go round once, after so many exchanges at most."""
        long = [number for number in range(len(self.walks)) if self._turns(number) > 1]
        while long and effort:
            effort -= 1
            place = rng.randrange(len(long))
            number = long[place]
            joint = rng.choice(self.walks[number])
            other = self._walk_of[rng.choice(self._at[self._begin[joint]])]
            if other == number:
                continue
            merged = self._merged(number, other, self._begin[joint])
            first = rng.randrange(len(merged))
            loops = self._loops(merged[first:] + merged[:first])
            if len(loops) < 2:
                continue
            changed = [number, other]
            changed += range(len(self.walks), len(self.walks) + len(loops) - 2)
            for target, loop in zip(changed, loops, strict=True):
                self._put(target, loop)
            long = [walk for walk in long if walk not in (number, other)]
            long += [walk for walk in changed if self._turns(walk) > 1]
        return not long

    def _turns(self, number: int) -> int:
        """Return how often a walk goes round."""
        return sum(self._hops[arc] for arc in self.walks[number]) // self._nodes

    def _put(self, number: int, walk: list[int]) -> None:
        """Make a walk the one of a number, or the next one."""
        if number == len(self.walks):
            self.walks.append(walk)
        else:
            self.walks[number] = walk
        for arc in walk:
            self._walk_of[arc] = number

    def _merged(self, one: int, other: int, node: int) -> list[int]:
        """Return two walks as one, the second put in where both stop."""
        merged: list[int] = []
        for walk in (self.walks[one], self.walks[other]):
            stops = [self._begin[arc] for arc in walk]
            place = stops.index(node)
            merged += walk[place:] + walk[:place]
        return merged

    def _loops(self, walk: list[int]) -> list[list[int]]:
        """Return a closed walk split into ones that stop nowhere twice."""
        loops: list[list[int]] = []
        path: list[int] = []
        place_of: dict[int, int] = {}
        for arc in walk:
            node = self._begin[arc]
            place = place_of.get(node)
            if place is not None:
                loop = path[place:]
                del path[place:]
                for left in loop:
                    del place_of[self._begin[left]]
                loops.append(loop)
            place_of[node] = len(path)
            path.append(arc)
        loops.append(path)
        return loops
