"""Bounds on congestion by edge lengths: the dual of fractional routing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from lightloom.problems.least_congestion.contraction import Contraction
from lightloom.problems.least_congestion.edge_length_program import LengthProgram
from lightloom.problems.least_congestion.frank_wolfe import SmoothedRouting
from lightloom.problems.least_congestion.path_search import (
    PathSearch,
    RequestedPairs,
    Walks,
)
from lightloom.problems.least_congestion.rational_lengths import rational_lengths
from lightloom.validate.certificates.congestion import (
    EdgeLengths,
    check_edge_lengths,
)

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.routing.graph import Graph

_PASSES = (8, 24)
"""Fewest and most smoothing passes ..."""
_PASS_WORK = 6_000_000
"""... and edges times sources of all of them."""
_LEVELS = (0.95, 0.9, 0.8, 0.65, 0.0)
"""Edges may have a length if their use is at least this part of the largest."""
_MOST_ENTRIES = 120_000
"""Largest linear program, in (walk, edge) entries."""
_FEW_ENTRIES = 4_000
"""Largest one that is solved at once, in milliseconds."""
_MOST_ROUNDS = 30
_MIXES = (1.0, 0.3)
"""Weights of the program's lengths, against the best ones, in the lengths searched."""
_EXACT = 1e-6
"""What is trusted of a floating-point bound."""


class EdgeLengthSearch:
    """A search for edge lengths that prove a large congestion.

    First smoothing (`SmoothedRouting`), which finds out which edges matter; then the
    linear program of edge lengths by row generation, for the most used edges alone
    and then for more and more of them. Every bound is that of rational lengths,
    proved by `check_edge_lengths`; floating point only proposes.

    `src`, `dst`: requests, each with a route; at least one.

    `bound`: no routing has a smaller congestion. `witness`: lengths that prove it, in
    the order of the graph's edges. `finished`: whether, up to the solver's tolerances,
    no lengths prove more.
    """

    def __init__(self, graph: Graph, src: IntArray, dst: IntArray, seed: int) -> None:
        self._whole, self._src, self._dst, self._seed = graph, src, dst, seed
        self._graph, self._rows = graph.opened()
        ones = np.ones(len(src), dtype=np.int64)
        self._pairs = RequestedPairs.of(graph.node_count, src, dst, ones)
        search = PathSearch(self._graph)
        self._smooth = SmoothedRouting(self._graph, self._pairs, search)
        self._passes = 0
        self._level = 0
        self._size = -1
        self._best = self._smooth.length
        self.bound = 0
        self.finished = False
        self._take(self._best, 0.0)
        self.witness: EdgeLengths

    @property
    def exhausted(self) -> bool:
        """Whether `advance` would do nothing."""
        return self.finished or self._level >= len(_LEVELS)

    def advance(self, goal: int) -> None:
        """Search on: smooth and solve small programs, or the one of the next level."""
        if not self._passes:
            self._smoothen(goal)
            while self._next_level(goal, _FEW_ENTRIES):
                pass
        elif not self._next_level(goal, _MOST_ENTRIES):
            self._level = len(_LEVELS)

    def _next_level(self, goal: int, most: int) -> bool:
        """Solve the next level; return whether there was one, small enough."""
        if self.bound >= goal or self.exhausted:
            return False
        if not self._solve_level(_LEVELS[self._level], goal, most):
            return False
        self._level += 1
        return True

    def _smoothen(self, goal: int) -> None:
        """Pass over all sources until the bound meets the goal, or often enough."""
        work = len(np.unique(self._src)) * len(self._rows)
        fewest, most = _PASSES
        for _ in range(min(most, max(fewest, _PASS_WORK // max(work, 1)))):
            self._smooth.step()
            self._passes += 1
            if self._smooth.bound > goal - 1 + _EXACT:
                break
        self._best = self._smooth.length
        self._take(self._best, self._smooth.bound)

    def _solve_level(self, part: float, goal: int, most: int) -> bool:
        """Find the best lengths of the edges that are used most, unless too many."""
        use = self._smooth.use
        small = Contraction.of(
            self._graph, self._pairs, np.flatnonzero(use >= part * use.max())
        )
        size = int(small.priced.sum())
        if not len(small.pairs) or (part and size == self._size):
            return True
        level = _Level(small, self._best)
        level.add(Walks.join(self._smooth.walks[len(self._smooth.walks) // 4 :]))
        for _ in range(_MOST_ROUNDS):
            if level.entries > most:
                return False
            ceiling = level.improve(self._seed)
            if ceiling is None:
                break
            if math.ceil(level.value - _EXACT) > self.bound:
                self._best = small.expand(level.length)
                self._take(self._best, level.value)
            if self.bound >= goal:
                break
            if math.ceil(ceiling - _EXACT) <= self.bound or not level.grew:
                self.finished = not part
                break
        self._size = size
        return True

    def _take(self, length: FloatArray, value: float) -> None:
        """Round lengths, prove what they prove, and keep them if that is more."""
        for rounded in rational_lengths(length, self._graph.capacity):
            units = np.zeros(len(self._whole.tail), dtype=np.int64)
            units[self._rows] = rounded.length
            witness = EdgeLengths(units, rounded.denominator)
            proven = check_edge_lengths(
                self._whole.node_count,
                self._whole.edges,
                self._src,
                self._dst,
                witness,
            )
            if proven > self.bound:
                self.bound, self.witness = proven, witness
            if proven >= math.ceil(value - _EXACT):
                return


class _Level:
    """The linear program of some edges, and the best lengths found for them.

    `length`: the best lengths, of the contracted graph. `grew`: whether the last
    `improve` found new walks.
    """

    def __init__(self, small: Contraction, whole_length: FloatArray) -> None:
        self._small = small
        self._search = PathSearch(small.graph)
        self._numbers = np.cumsum(small.priced) - 1
        capacity = small.graph.capacity[small.priced]
        self._program = LengthProgram(capacity, small.pairs)
        self.length = small.shrink(whole_length)
        self.grew = True
        self.value = self._price(self.length)

    @property
    def entries(self) -> int:
        """Size of the program."""
        return self._program.entries

    def add(self, walks: Walks) -> None:
        """Add walks of the whole graph."""
        self._add(self._small.walks(walks))

    def improve(self, seed: int) -> float | None:
        """Solve the program, and price its lengths; return its optimum, if any."""
        solved = self._program.solve(seed)
        if solved is None:
            return None
        found, optimum = solved
        point = np.zeros(len(self.length))
        point[self._small.priced] = found
        self.grew, centre = False, self.length
        for mix in _MIXES:
            length = mix * point + (1 - mix) * centre
            value = self._price(length)
            if value > self.value:
                self.value, self.length = value, length
        return optimum

    def _price(self, length: FloatArray) -> float:
        """Return the sum of distances, and add the shortest paths to the program."""
        # Of equally short paths those of few hops are the stronger rows.
        nudge = 1e-12 * float(length.max(initial=0.0)) + 1e-15
        distance, walks = self._search.shortest(length + nudge, self._small.pairs)
        stays = self._small.priced[walks.edge]
        self._add(Walks(walks.pair, walks.walk[stays], walks.edge[stays]))
        return float(distance @ self._small.pairs.count)

    def _add(self, walks: Walks) -> None:
        walks = Walks(walks.pair, walks.walk, self._numbers[walks.edge])
        self.grew = bool(self._program.add(walks)) or self.grew
