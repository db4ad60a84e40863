"""Cayley digraphs: every rank v has arcs to v s for the same few steps s of a group.

They look the same from every rank, so paths are chosen for one rank and hold for all.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.plans.digraphs.balanced_choice import even_choice
from lightloom.plans.digraphs.kautz_graph import ColouredArcs, Digraph

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.plans.digraphs.metacyclic import Metacyclic


@dataclass(frozen=True)
class Cayley:
    """The digraph of some steps, ascending and without 0, that generate a group."""

    group: Metacyclic
    steps: tuple[int, ...]

    def distances(self) -> IntArray:
        """Return how many steps lead to each element, -1 where none do."""
        distance = np.full(self.group.order, -1, dtype=np.int64)
        step = np.array(self.steps, dtype=np.int64)
        here = np.zeros(1, dtype=np.int64)
        distance[0] = length = 0
        while len(here):
            length += 1
            reached = np.zeros(len(distance), dtype=np.bool_)
            reached[self.group.product(here[:, None], step)] = True
            here = np.flatnonzero(reached & (distance < 0))
            distance[here] = length
        return distance

    def arcs(self) -> ColouredArcs:
        """Return the arcs; those of a step have a port."""
        ranks, step = self.group.order, np.array(self.steps, dtype=np.int64)
        src = np.repeat(np.arange(ranks, dtype=np.int64), len(step))
        dst = self.group.product(src, np.tile(step, ranks))
        port = np.tile(np.arange(len(step), dtype=np.int64), ranks)
        key = src * ranks + dst
        order = np.argsort(key)
        return ColouredArcs(ranks, key[order], port[order])

    def trees(self, *, backwards: bool = False) -> Digraph:
        """Return shortest paths whose last arcs are evenly loaded, round by round.

        See `lightloom.plans.digraphs.kautz_graph.shortest_trees`; here all ranks
        take the same steps, and time is O(n^2).
        """
        return _trees(self, backwards=backwards)

    def walks(self) -> IntArray:
        """Return where the walk between every pair is, as `even_walks` does.

        Shape (longest distance + 1, n, n). The steps of every hop are evenly loaded.
        """
        node = np.arange(self.group.order, dtype=np.int64)
        prefixes, _ = _words(self)
        between = self.between()
        return np.stack(
            [self.group.product(node[:, None], prefix[between]) for prefix in prefixes]
        )

    def walk_loads(self) -> IntArray:
        """Return how many walks from a rank take each step, shape (hops, d)."""
        return _words(self)[1]

    def between(self) -> IntArray:
        """Return the element that leads from u to v, as [u, v]."""
        node = np.arange(self.group.order, dtype=np.int64)
        return self.group.product(self.group.inverse(node)[:, None], node)


@functools.lru_cache(maxsize=4)
def _trees(cayley: Cayley, *, backwards: bool) -> Digraph:
    group = cayley.group
    if backwards:
        back = group.inverse(np.array(cayley.steps, dtype=np.int64))
        cayley = Cayley(group, tuple(sorted(back.tolist())))
    distance = cayley.distances()
    step = np.array(cayley.steps, dtype=np.int64)
    element = np.arange(1, group.order, dtype=np.int64)
    previous = group.product(element[:, None], group.inverse(step))
    fits = distance[previous] == distance[element, None] - 1
    options = [
        (int(distance[one]) - 1) * len(step) + np.flatnonzero(able)[:, None]
        for one, able in zip(element.tolist(), fits, strict=True)
    ]
    chosen, _ = even_choice(options, int(distance.max()) * len(step))
    before = np.zeros(group.order, dtype=np.int64)
    for one, rows, taken in zip(element.tolist(), options, chosen, strict=True):
        before[one] = previous[one - 1, rows[taken, 0] % len(step)]
    node = np.arange(group.order, dtype=np.int64)
    between = cayley.between()
    return Digraph(distance[between], group.product(node[:, None], before[between]))


@functools.lru_cache(maxsize=16)
def _words(cayley: Cayley) -> tuple[IntArray, IntArray]:
    """Return the steps multiplied so far to each element, hop by hop, and the loads.

    Shapes (longest distance + 1, n) and (longest distance, d).
    """
    group, distance = cayley.group, cayley.distances()
    step = np.array(cayley.steps, dtype=np.int64)
    hops, count = int(distance.max()), len(step)
    options: list[IntArray] = [np.zeros((1, 0), dtype=np.int64)] * group.order
    end, word = np.zeros(1, dtype=np.int64), np.zeros((1, 0), dtype=np.int64)
    for hop in range(hops):
        longer = group.product(end[:, None], step)
        row, slot = np.nonzero(distance[longer] == hop + 1)
        word = np.concatenate([word[row], hop * count + slot[:, None]], axis=1)
        end = longer[row, slot]
        order = np.argsort(end, kind="stable")
        end, word = end[order], word[order]
        found, first = np.unique(end, return_index=True)
        for one, rows in zip(found.tolist(), np.split(word, first[1:]), strict=True):
            options[one] = rows
    chosen, load = even_choice(options, hops * count)
    prefix = np.zeros((hops + 1, group.order), dtype=np.int64)
    for hop in range(hops):
        going = np.flatnonzero(distance > hop)
        taken = np.array([options[one][chosen[one], hop] % count for one in going])
        prefix[hop + 1] = prefix[hop]
        prefix[hop + 1, going] = group.product(prefix[hop, going], step[taken])
    return prefix, load.reshape(hops, count)
