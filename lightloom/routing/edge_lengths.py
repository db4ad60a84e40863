"""Bounds on congestion by edge lengths: the dual of fractional routing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from lightloom.routing.graph import (
    Graph,
    PathSearch,
    RequestedPairs,
    Walks,
)
from lightloom.solvers import SOLVERS, SolveOptions
from lightloom.solvers.child import solve_in_child
from lightloom.solvers.standard_form import StandardForm
from lightloom.validate.certificates.congestion import (
    MOST_UNITS,
    EdgeLengths,
    check_edge_lengths,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.solvers.options import ExtraValue


_PASSES = (8, 24)
"""Fewest and most smoothing passes ..."""
_PASS_WORK = 6_000_000
"""... and edges times sources of all of them."""
_MOST_ENTRIES = 120_000
"""Largest linear program, in (walk, edge) entries: a minute of interior points."""
_FEW_ENTRIES = 4_000
"""Largest one that is solved at once, in milliseconds."""
_MOST_ROUNDS = 30
"""Linear programs of a search; most end after five."""
_MIXES = (1.0, 0.3)
"""Weights of the program's lengths, against the best ones, in the lengths searched."""
_EXACT = 1e-6
"""What is trusted of a floating-point bound."""


class EdgeLengthSearch:
    """A search for edge lengths that prove a large congestion.

    First smoothing (`SmoothedRouting`), which finds good lengths and walks; then the
    linear program of edge lengths by row generation. Every bound is that of rational
    lengths, proved by `check_edge_lengths`; floating point only proposes.

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
        self._search = PathSearch(self._graph)
        self._smooth = SmoothedRouting(self._graph, self._pairs, self._search)
        self._program: LengthProgram | None = None
        self._length, self._value, self._grew = self._smooth.length, 0.0, False
        self._given_up = False
        self.bound = 0
        self.finished = False
        self._take(self._length, 0.0)
        self.witness: EdgeLengths

    @property
    def exhausted(self) -> bool:
        """Whether `advance` would do nothing."""
        return self.finished or self._given_up

    def advance(self, goal: int) -> None:
        """Search on: smooth and solve small programs, then large ones."""
        most = _MOST_ENTRIES
        if self._program is None:
            most = _FEW_ENTRIES
            self._smoothen(goal)
            self._program = LengthProgram(self._graph.capacity, self._pairs)
            # The first paths were tried when nothing was known of the loads.
            walks = self._smooth.walks[len(self._smooth.walks) // 4 :]
            self._program.add(Walks.join(walks))
            self._price(self._length)
        for _ in range(_MOST_ROUNDS):
            if self.bound >= goal or self._program.entries > most:
                break
            optimum = self._improve(self._program)
            if optimum is None:
                break
            if math.ceil(self._value - _EXACT) > self.bound:
                self._take(self._length, self._value)
            if math.ceil(optimum - _EXACT) <= self.bound or not self._grew:
                self.finished = True
                return
        self._given_up = most == _MOST_ENTRIES

    def _smoothen(self, goal: int) -> None:
        """Pass over all sources until the bound meets the goal, or often enough."""
        work = len(np.unique(self._src)) * len(self._rows)
        fewest, most = _PASSES
        for _ in range(min(most, max(fewest, _PASS_WORK // max(work, 1)))):
            self._smooth.step()
            if self._smooth.bound > goal - 1 + _EXACT:
                break
        self._length = self._smooth.length
        self._take(self._length, self._smooth.bound)

    def _improve(self, program: LengthProgram) -> float | None:
        """Solve the program, and price its lengths; return its optimum, if any."""
        solved = program.solve(self._seed)
        if solved is None:
            return None
        point, optimum = solved
        self._grew, centre = False, self._length
        for mix in _MIXES:
            self._price(mix * point + (1 - mix) * centre)
        return optimum

    def _price(self, length: FloatArray) -> None:
        """Keep lengths if they are the best, and add the shortest paths to the program.

        Of equally short paths those of few hops are the stronger rows.
        """
        nudge = 1e-12 * float(length.max(initial=0.0)) + 1e-15
        distance, walks = self._search.shortest(length + nudge, self._pairs)
        value = float(distance @ self._pairs.count)
        if value > self._value:
            self._value, self._length = value, length
        assert self._program is not None
        self._grew = bool(self._program.add(walks)) or self._grew

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


_SOLVER = "highs"
_OPTIONS: dict[str, ExtraValue] = {
    "solver": "ipm",
    "run_crossover": "off",
    "ipm_iteration_limit": 200,
}
"""Interior points: these programs are so degenerate that simplex may take minutes,
and no vertex is needed."""
_MIX = np.uint64(0x9E3779B97F4A7C15)


class LengthProgram:
    """Largest sum of distances by edge lengths, as far as known walks tell.

    With d_k the distance of pair k, n_k its requests, l_e >= 0 lengths, c_e
    capacities: maximise sum n_k d_k subject to d_k <= sum of l_e over each known walk
    of k, and sum c_e l_e = 1. It is the dual of routing fractionally over the known
    walks at least congestion; more walks lower its optimum to that of all routes.

    `capacity`: of each edge, shape (edges,), positive.
    """

    def __init__(self, capacity: IntArray, pairs: RequestedPairs) -> None:
        self._capacity = capacity
        self._count = pairs.count
        self._walks = Walks.join([])
        self._known = np.zeros(0, dtype=np.int64)
        # A walk is known by a sum of codes that wraps round; collisions hardly occur.
        number = np.arange(1, len(capacity) + 2, dtype=np.uint64)
        mixed = number * _MIX
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        self._code: IntArray = (mixed ^ (mixed >> np.uint64(32))).view(np.int64)

    @property
    def entries(self) -> int:
        """Number of (walk, edge) entries."""
        return len(self._walks.edge)

    def add(self, walks: Walks) -> int:
        """Add the walks that are new, and return how many were."""
        key = (walks.pair + 1) * self._code[0]
        np.add.at(key, walks.walk, self._code[1:][walks.edge])
        distinct, first = np.unique(key, return_index=True)
        fresh = np.zeros(len(key), dtype=np.bool_)
        fresh[first[~np.isin(distinct, self._known)]] = True
        self._known = np.append(self._known, key[fresh])
        place = np.cumsum(fresh) - 1
        stays = fresh[walks.walk]
        new = Walks(walks.pair[fresh], place[walks.walk[stays]], walks.edge[stays])
        self._walks = Walks.join([self._walks, new])
        return int(fresh.sum())

    def solve(self, seed: int) -> tuple[FloatArray, float] | None:
        """Return lengths and optimum by HiGHS, or ``None`` if it has no answer.

        Floating point: nothing is proved by it. Every pair must have a walk.
        """
        form = self._form()
        options = SolveOptions(seed=seed, extra=_OPTIONS)
        adapter = SOLVERS[_SOLVER]
        answer = solve_in_child(adapter, form, options)
        if answer.values is None:
            return None
        length = np.maximum(answer.values[: len(self._capacity)], 0)
        scale = float(length @ self._capacity)
        return (length / scale, form.objective(answer.values)) if scale > 0 else None

    def _form(self) -> StandardForm:
        """Return the program: columns lengths, then distances; rows walks, then one."""
        from scipy.sparse import csr_array

        walks, edges = self._walks, len(self._capacity)
        rows = len(walks.pair)
        columns = edges + len(self._count)
        value = np.concatenate(
            [np.full(self.entries, -1.0), np.ones(rows), self._capacity]
        )
        row = np.concatenate([walks.walk, np.arange(rows), np.full(edges, rows)])
        column = np.concatenate([walks.edge, edges + walks.pair, np.arange(edges)])
        # A walk may use an edge twice: equal entries are added up.
        matrix = csr_array((value, (row, column)), shape=(rows + 1, columns))
        matrix.sort_indices()
        infinite = np.inf
        return StandardForm(
            cost=np.concatenate([np.zeros(edges), self._count.astype(np.float64)]),
            column_lower=np.zeros(columns),
            column_upper=np.full(columns, infinite),
            integral=np.zeros(columns, dtype=np.bool_),
            row_start=matrix.indptr.astype(np.int32),
            row_column=matrix.indices.astype(np.int32),
            row_value=matrix.data.astype(np.float64),
            row_lower=np.append(np.full(rows, -infinite), 1.0),
            row_upper=np.append(np.zeros(rows), 1.0),
            offset=0.0,
            maximise=True,
        )


_BLOCKS = 32
"""Blocks that sources are cut into. Each moves by the loads the others have left, so
more converge in fewer passes, at a search for paths and a row of loads each."""
_BISECTIONS = 10
"""Halvings of a step length: a thousandth is finer than the next pass can tell."""
_FIRST_TEMPERATURE = 0.5
"""Gap, as a share of the bound, at which cooling begins: no routing is much worse."""
_COOLING = 0.6
"""Part of the temperature that stays where the gap is below it. Nearer to 1 takes more
passes, farther from it steps that are too sharp to lower anything."""


class SmoothedRouting:
    """Fractional routes that lower a smooth stand-in for the congestion.

    The stand-in is the soft maximum of the edges' loads over their capacities; its
    gradient is a set of edge lengths, so every step also bounds the congestion from
    below. Requests move in blocks of sources, each towards its shortest paths by as
    much as serves the stand-in best (Frank and Wolfe 1956, in blocks; Bienstock,
    Potential Function Methods, 2002). Floating point: its lengths are hints, to be
    rounded and proved elsewhere.

    `graph`: all edges open and sorted by (tail, head). `pairs`: at least one; each has
    a route.

    `length`: the lengths of the best bound, sum of capacity times length 1. `walks`:
    the paths that were tried, by pass and block, `pair` counted in `pairs`.
    """

    def __init__(self, graph: Graph, pairs: RequestedPairs, search: PathSearch) -> None:
        self._capacity = graph.capacity.astype(np.float64)
        self._pairs = pairs
        self._search = search
        sources, row = np.unique(pairs.src, return_inverse=True)
        blocks = min(_BLOCKS, len(sources))
        members = [np.flatnonzero(row % blocks == block) for block in range(blocks)]
        self._blocks = [(rows, pairs.take(rows)) for rows in members]
        self._load = np.zeros((blocks, len(self._capacity)))
        self._total = np.zeros(len(self._capacity))
        self._temperature = _FIRST_TEMPERATURE
        self._passes = 0
        self.length = 1 / (self._capacity * max(len(self._capacity), 1))
        self.bound = 0.0
        self.walks: list[Walks] = []

    @property
    def use(self) -> FloatArray:
        """Load of each edge over its capacity, shape (edges,)."""
        return self._total / self._capacity

    def step(self) -> None:
        """Move every block once, and bound the congestion."""
        sharpness = self._sharpness()
        for block, (rows, pairs) in enumerate(self._blocks):
            length = _softmax(self.use, sharpness) / self._capacity
            _, walks = self._search.shortest(length, pairs)
            weights = pairs.count[walks.pair[walks.walk]].astype(np.float64)
            edges = len(self._capacity)
            load = np.bincount(walks.edge, weights, edges)
            change = load - self._load[block]
            # The first pass places each block where it is cheap by then.
            by = self._step_length(change, sharpness) if self._passes else 1.0
            self._load[block] += by * change
            self._total += by * change
            self.walks.append(walks.of_pairs(rows))
        self._passes += 1
        self._measure()

    def _sharpness(self) -> float:
        """Return how close the soft maximum is to the maximum."""
        scale = max(float(self.use.max()), 1.0)
        return float(np.log(len(self._capacity) + 1)) / (self._temperature * scale)

    def _measure(self) -> None:
        """Bound the congestion by the lengths of now; cool down if they are good."""
        share = _softmax(self.use, self._sharpness())
        length = share / self._capacity
        bound = float(self._search.distances(length, self._pairs) @ self._pairs.count)
        if bound > self.bound:
            self.bound, self.length = bound, length
        if share @ self.use - bound < self._temperature * bound:
            self._temperature *= _COOLING

    def _step_length(self, change: FloatArray, sharpness: float) -> float:
        """Return the part of a change, 0 to 1, that lowers the stand-in most."""
        use, slope = self.use, change / self._capacity
        low, high = 0.0, 1.0
        if _softmax(use + slope, sharpness) @ slope <= 0:
            return 1.0
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            if _softmax(use + middle * slope, sharpness) @ slope > 0:
                high = middle
            else:
                low = middle
        return (low + high) / 2


def _softmax(use: FloatArray, sharpness: float) -> FloatArray:
    """Return shares that add up to 1, largest where the use is."""
    weight = np.exp(sharpness * (use - use.max()))
    share: FloatArray = weight / weight.sum()
    return share


_NOTHING = 1e-7
"""Part of the largest length below which one is taken for 0."""
_MOST_MULTIPLES = 24
"""Denominators that are tried for simple lengths; those of small cuts are below it."""
_NEAR = 1e-3
"""How far, in units, lengths may be from whole ones to count as such: solvers leave
errors of about 1e-6."""
_BITS = (8, 14, 20, 30)
"""Bits of the longest length on each grid, coarse first: coarse lengths make short
certificates, fine ones prove what no coarse one does."""


def rational_lengths(length: FloatArray, capacity: IntArray) -> Iterator[EdgeLengths]:
    """Yield rational lengths near the given ones, none twice.

    First those that are small multiples of one unit, if the given ones nearly are,
    as at vertices of the linear program; then finer and finer grids.
    """
    largest = float(length.max())
    whole = np.where(length < _NOTHING * largest, 0.0, length)
    unit = float(whole[whole > 0].min())
    scales = [
        multiple / unit
        for multiple in range(1, _MOST_MULTIPLES + 1)
        if largest / unit < 1 / _NEAR
    ]
    simple = [s for s in scales if np.abs(whole * s - np.rint(whole * s)).max() < _NEAR]
    grids = [2.0**bits / largest for bits in _BITS]
    total = float(whole @ capacity)
    tried: set[bytes] = set()
    for scale in [*simple[:1], *grids]:
        # Rounding adds at most one unit of length an edge.
        if total * scale + float(capacity.sum()) >= MOST_UNITS:
            return
        units = np.rint(whole * scale).astype(np.int64)
        if units.tobytes() not in tried:
            tried.add(units.tobytes())
            yield EdgeLengths(units, int(units @ capacity))
