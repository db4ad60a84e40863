"""Bounds for a ring by the dual of fractional colouring, with column generation.

One wavelength of one fibre holds a lap: arcs that do not overlap. Circuits that fit do
so all the more where laps may be used in fractions. So where prices make circuits worth
more than all wavelengths can hold, they do not fit, whichever way round they go. The
best prices are a linear program with a row for each lap; dearest laps are added until
none is dearer than known.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from lightloom.solvers import SOLVERS, SolveOptions
from lightloom.solvers.child import solve_in_child
from lightloom.solvers.standard_form import StandardForm
from lightloom.synth.ring.arcs import crossings, span_loads
from lightloom.synth.ring.load_bounds import RingBound
from lightloom.synth.ring.ratio_ladder import light_coloured, light_split
from lightloom.validate.certificates.circuits_per_byte import PricedPairs, dearest_lap

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.synth.ring.arcs import RingWays

    Chain = tuple[float, int, "Chain | None"]
    from collections.abc import Callable

    from lightloom.synth.ring.arcs import LitRing
    from lightloom.synth.ring.ratio_ladder import Ladder


_SOLVER = "highs"
_CONFLICTS = 20_000
_PACKING = 0.4
"""Most work of a packing, in CP-SAT's own reproducible seconds."""
_DRAWN = 60
_ROUNDS = 200
_WORK = 40_000
"""Most rows and columns of all programs for prices together, about a second."""
_NEAR = 1e-7
_SCALES = (1, 2, 6, 60, 840, 27_720, 720_720, 2**26)
"""Largest prices, as whole numbers: few where they do."""


class PriceSearch:
    """Prices of the pairs of a ring, against any numbers of circuits.

    `fabric`, `ways`: the ring, and the ways of the pairs.

    What all its programs for prices may cost together is limited by their sizes. Once
    that is spent, no prices are found any more; answers stay reproducible.
    """

    def __init__(self, fabric: Ring, ways: RingWays) -> None:
        self._fabric, self._ways = fabric, ways
        self._work = _WORK
        self._mine = [
            np.flatnonzero(ways.direction == direction)
            for direction in range(fabric.directions)
        ]
        self._laps = [
            PricedLaps(ways.begin[mine], ways.hops[mine], fabric.nodes)
            for mine in self._mine
        ]
        self._known: dict[tuple[int, tuple[int, ...]], None] = {}

    def prices(self, counts: IntArray) -> tuple[int, ...] | None:
        """Return whole prices at which these circuits do not fit, if any are found.

        `counts`: circuits of each pair, shape (pairs,), at least one each.

        Returns prices by pair, checked in whole numbers; deterministic. ``None`` where
        laps in fractions hold the circuits, the work is spent, or the program has no
        answer.
        """
        for direction, mine in enumerate(self._mine):
            self._add(direction, self._ways.hops[mine].astype(np.float64), 0.0)
        room = self._fabric.wavelengths * (1 + _NEAR)
        for _ in range(_ROUNDS):
            solved = self._solve(counts) if self._work > 0 else None
            if solved is None:
                return None
            price, worth = solved
            asked = price @ counts
            if asked <= room * worth.sum():
                return None
            dearest, added = 0.0, False
            for direction, mine in enumerate(self._mine):
                found, new = self._add(
                    direction, price[self._ways.pair[mine]], worth[direction]
                )
                dearest, added = dearest + found, added or new
            # Laps not yet known are no reason to go on: these prices prove it.
            proof = self._whole(price, counts) if asked > room * dearest else None
            if proof is not None or not added:
                return proof
        return None

    def packed(self, counts: IntArray, seed: int) -> tuple[IntArray, IntArray] | None:
        """Return the way and the wavelength of so many circuits, if laps hold them.

        Only laps that have been dearest at some prices are tried, some more of them
        at prices drawn anew: a solver, its work limited, says how often each is used.
        Fibres are packed by themselves. Deterministic for a seed.

        `counts`: circuits of each pair, shape (pairs,).
        """
        rng = np.random.default_rng(seed)
        for _ in range(_DRAWN):
            drawn = rng.random(len(counts)) * counts
            for direction, mine in enumerate(self._mine):
                self._add(direction, drawn[self._ways.pair[mine]], 0.0)
        laps = list(self._known)
        pairs, directions = len(counts), self._fabric.directions
        row = [at for d, arcs in laps for at in (*arcs, pairs + d)]
        column = [i for i, (_, arcs) in enumerate(laps) for _ in range(len(arcs) + 1)]
        most = float(self._fabric.wavelengths)
        form = linear_program(
            (row, column, np.ones(len(row))),
            cost=np.zeros(len(laps)),
            upper=np.full(len(laps), most),
            rows=(
                np.concatenate([counts, np.zeros(directions)]),
                np.concatenate([np.full(pairs, np.inf), np.full(directions, most)]),
            ),
            integral=True,
        )
        limit = {"max_deterministic_time": _PACKING}
        options = SolveOptions(seed=seed, node_limit=_CONFLICTS, extra=limit)
        uses = integer_point(form, options)
        return None if uses is None else self._circuits(uses, counts)

    def _circuits(self, uses: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
        """Return laps in use as circuits, without those that are too many."""
        left = counts.tolist()
        lit: list[tuple[int, int]] = []
        used = [0] * self._fabric.directions
        way_of = {
            (pair, direction): way
            for way, (pair, direction) in enumerate(
                zip(
                    self._ways.pair.tolist(), self._ways.direction.tolist(), strict=True
                )
            )
        }
        for (direction, arcs), times in zip(self._known, uses.tolist(), strict=True):
            for _ in range(times):
                for pair in arcs:
                    if left[pair]:
                        left[pair] -= 1
                        lit.append((way_of[pair, direction], used[direction]))
                used[direction] += 1
        way, wavelength = np.array(lit, dtype=np.int64).T
        return way, wavelength

    def _add(
        self, direction: int, price: FloatArray, worth: float
    ) -> tuple[float, bool]:
        """Return what the dearest lap is worth; add it if it is worth more and new."""
        found, arcs = self._laps[direction].best(price)
        if found <= worth * (1 + _NEAR) or not arcs:
            return found, False
        pairs = self._ways.pair[self._mine[direction][arcs]]
        key = direction, tuple(pairs.tolist())
        if key in self._known:
            return found, False
        self._known[key] = None
        return found, True

    def _solve(self, counts: IntArray) -> tuple[FloatArray, FloatArray] | None:
        """Return best prices by the laps known, and what they are worth a direction.

        With p_k the price of pair k, n_k its circuits and m_d the worth of direction d:
        maximise sum n_k p_k - W sum m_d, every lap of d being worth m_d at most and no
        price more than 1. What does not fit makes it positive.
        """
        pairs, directions = len(counts), self._fabric.directions
        laps = list(self._known)
        self._work -= pairs + len(laps)
        row = [i for i, (_, arcs) in enumerate(laps) for _ in range(len(arcs) + 1)]
        column = [at for d, arcs in laps for at in (*arcs, pairs + d)]
        value = [one for _, arcs in laps for one in ([1.0] * len(arcs) + [-1.0])]
        form = linear_program(
            (row, column, np.array(value)),
            cost=np.append(counts, np.full(directions, -self._fabric.wavelengths)),
            upper=np.append(np.ones(pairs), np.full(directions, np.inf)),
            rows=(np.full(len(laps), -np.inf), np.zeros(len(laps))),
        )
        answer = solve_in_child(SOLVERS[_SOLVER], form, SolveOptions())
        if answer.values is None:
            return None
        values = np.maximum(answer.values, 0.0)
        return values[:pairs], values[pairs:]

    def _whole(self, price: FloatArray, counts: IntArray) -> tuple[int, ...] | None:
        """Return whole prices that still prove it, as small ones as are tried."""
        ways, nodes = self._ways, self._fabric.nodes
        for scale in _SCALES:
            whole = np.rint(price * scale).astype(np.int64)
            room = 0
            for mine in self._mine:
                columns = (ways.begin[mine], ways.hops[mine], whole[ways.pair[mine]])
                arcs = zip(*(column.tolist() for column in columns), strict=True)
                room += dearest_lap(list(arcs), nodes)
            if int(whole @ counts) > self._fabric.wavelengths * room:
                return tuple(whole.tolist())
        return None


class PricedLaps:
    """Arcs of one fibre; finds the lap that is worth most at any prices.

    `begin`, `hops`: first span and number of spans of each arc, shape (arcs,).
    """

    def __init__(self, begin: IntArray, hops: IntArray, nodes: int) -> None:
        # Where fewest arcs cross, a lap has one of these or none.
        cut = int(span_loads(begin, hops, nodes).argmin()) if len(begin) else 0
        self._last = nodes - 1
        self._ending: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._crossing: list[tuple[int, int, int]] = []
        starts = ((begin - cut - 1) % nodes).tolist()
        for arc, (start, count) in enumerate(zip(starts, hops.tolist(), strict=True)):
            end = start + count
            if end >= nodes:
                self._crossing.append((start, end - nodes, arc))
            else:
                self._ending[end].append((start, arc))

    def best(self, price: FloatArray) -> tuple[float, list[int]]:
        """Return what the dearest lap is worth, and its arcs, sorted.

        O(arcs that cross the cut * (arcs + nodes)).
        """
        prices = price.tolist()
        found = self._on_line(prices, 0, self._last), -1
        for start, end, arc in self._crossing:
            if prices[arc] > 0:
                inner = self._on_line(prices, end, start)
                whole = (inner[0] + prices[arc], arc, inner)
                if whole[0] > found[0][0]:
                    found = whole, arc
        arcs = []
        chain: Chain | None = found[0]
        worth = found[0][0]
        while chain is not None:
            if chain[1] >= 0:
                arcs.append(chain[1])
            chain = chain[2]
        return worth, sorted(arcs)

    def _on_line(self, prices: list[float], low: int, high: int) -> Chain:
        """Return the dearest arcs between two places, as a chain."""
        nothing: Chain = (0.0, -1, None)
        best = [nothing] * (high + 1)
        for place in range(low + 1, high + 1):
            at = best[place - 1]
            for start, arc in self._ending.get(place, ()):
                worth = prices[arc]
                if start >= low and worth > 0 and best[start][0] + worth > at[0]:
                    at = (best[start][0] + worth, arc, best[start])
            best[place] = at
        return best[high] if high >= low else nothing


_MOST_NODES = 50
"""Most nodes of HiGHS, where it stands in for CP-SAT."""


def integer_point(form: StandardForm, options: SolveOptions) -> IntArray | None:
    """Return a point of an integer program, if one is found within some work.

    CP-SAT finds it, whose conflicts and reproducible seconds can be limited. Where
    OR-Tools is not installed HiGHS does, which finds less.

    Returns shape (columns,), ``None`` if there is none or none was found; the same
    arguments have one answer by one solver.
    """
    adapter = SOLVERS["cp-sat"]
    if not adapter.status().availability:
        adapter = SOLVERS["highs"]
        options = SolveOptions(seed=options.seed, node_limit=_MOST_NODES)
    answer = solve_in_child(adapter, form, options)
    return None if answer.values is None else np.rint(answer.values).astype(np.int64)


def linear_program(
    entries: tuple[list[int], list[int], FloatArray],
    *,
    cost: FloatArray | IntArray,
    upper: FloatArray,
    rows: tuple[FloatArray, FloatArray],
    integral: bool = False,
) -> StandardForm:
    """Return a program to maximise, of (row, column, value) entries, columns from 0.

    `entries`: rows, columns and values of the matrix. `cost`: what a unit of each
    column is worth, shape (columns,). `upper`: most of each column, shape (columns,).
    `rows`: least and most of each row, shape (rows,) both.
    """
    from scipy.sparse import csr_array

    row, column, value = entries
    matrix = csr_array((value, (row, column)), shape=(len(rows[0]), len(cost)))
    matrix.sort_indices()
    return StandardForm(
        cost=cost.astype(np.float64),
        column_lower=np.zeros(len(cost)),
        column_upper=upper,
        integral=np.full(len(cost), integral),
        row_start=matrix.indptr.astype(np.int32),
        row_column=matrix.indices.astype(np.int32),
        row_value=matrix.data.astype(np.float64),
        row_lower=rows[0],
        row_upper=rows[1],
        offset=0.0,
        maximise=True,
    )


_SPLIT_WORK = 0.1
"""Most work of a split, in CP-SAT's own reproducible seconds."""


def solved_split(
    fabric: Ring, ways: RingWays, counts: IntArray, seed: int
) -> IntArray | None:
    """Return the circuits of each way, if a solver finds a split that fits all spans.

    `counts`: circuits of each pair, shape (pairs,).

    Returns shape (ways,); ``None`` if none is found within the work.
    """
    pairs, spans = len(counts), fabric.directions * fabric.nodes
    way, span = crossings(ways, fabric.nodes)
    row = np.concatenate([ways.pair, pairs + ways.direction[way] * fabric.nodes + span])
    column = np.concatenate([np.arange(len(ways.pair)), way])
    form = linear_program(
        (row.tolist(), column.tolist(), np.ones(len(row))),
        cost=np.zeros(len(ways.pair)),
        upper=counts[ways.pair].astype(np.float64),
        rows=(
            np.concatenate([counts, np.zeros(spans)]),
            np.concatenate([counts, np.full(spans, float(fabric.wavelengths))]),
        ),
        integral=True,
    )
    options = SolveOptions(seed=seed, extra={"max_deterministic_time": _SPLIT_WORK})
    return integer_point(form, options)


MOST_PAIRS = 512
"""Pairs up to which prices and laps are worth their time at all."""
_FEW_PAIRS = 64
"""Pairs up to which they are worth it for any gap."""
_SMALL_GAP = Fraction(3, 100)
_SPLITS = 6
_PACKINGS = 6
_PACKINGS_OF_MANY = 2
_EFFORT = 5_000
"""Of colouring a split that a solver found."""


def worth_finishing(ladder: Ladder, depth: int, pairs: int) -> bool:
    """Return whether the gap between a depth and the top is worth the time it takes.

    Few pairs are always; more, where the gap is above 3 % or no circuits were found.
    """
    if not depth or pairs > MOST_PAIRS:
        return False
    few = pairs <= _FEW_PAIRS
    return few or ladder.ratio(depth) < (1 - _SMALL_GAP) * ladder.ratio(0)


def priced_bound(
    search: PriceSearch, ladder: Ladder, depth: int, bound: RingBound
) -> tuple[RingBound, int]:
    """Return the best bound by prices above a depth, and how deep it is.

    Halving: what does not fit at a depth does not fit above it.
    """
    best, low, high = bound, -1, depth
    while high - low > 1:
        middle = (low + high) // 2
        prices = search.prices(ladder.counts(middle))
        if prices is None:
            high = middle
            continue
        low = middle
        ratio = ladder.ratio(low + 1)
        counts = ladder.counts(min(low + 1, ladder.levels - 1))
        best = RingBound(ratio, counts, PricedPairs(ratio, prices))
    return best, low + 1


def split_anew(
    fabric: Ring, ways: RingWays, ladder: Ladder, depth: int, seed: int
) -> tuple[LitRing | None, int]:
    """Return circuits above a depth, if a solver splits them over the ways so.

    `seed`: of the solver and of the colouring, whose work is limited: the same
    arguments have one answer.

    Returns ``None`` and the depth of what was found where that stays the best.
    """
    if len(ways.src) > MOST_PAIRS or not (ways.count == 2).any():
        return None, depth

    def light(counts: IntArray) -> LitRing | None:
        on_way = solved_split(fabric, ways, counts, seed)
        if on_way is None:
            return None
        return light_split(fabric, ways, on_way, seed, _EFFORT)

    return _nearer(ladder, (0, depth), _SPLITS, light)


def packed_laps(
    fabric: Ring,
    ways: RingWays,
    ladder: Ladder,
    span: tuple[int, int],
    *,
    search: PriceSearch,
    seed: int,
) -> tuple[LitRing | None, int]:
    """Return circuits nearer to the bound, if laps can be packed so.

    `seed`: of the packing; its limits are on work, so the same arguments have one
    answer.

    Returns ``None`` and the depth of what was found where that stays the best.
    """

    def light(counts: IntArray) -> LitRing | None:
        fits = search.prices(counts) is None
        lit = search.packed(counts, seed) if fits else None
        return None if lit is None else light_coloured(fabric, ways, *lit)

    few = len(ways.src) <= _FEW_PAIRS
    return _nearer(ladder, span, _PACKINGS if few else _PACKINGS_OF_MANY, light)


def _nearer(
    ladder: Ladder,
    span: tuple[int, int],
    questions: int,
    light: Callable[[IntArray], LitRing | None],
) -> tuple[LitRing | None, int]:
    """Return the best that so many questions find between two depths, the top first."""
    best: LitRing | None = None
    target, depth = span
    low = target
    for _ in range(questions):
        if target >= depth:
            break
        ring = light(ladder.counts(target))
        if ring is None:
            low = target + 1
        else:
            best, depth = ring, target
        target = (low + depth) // 2
    return best, depth
