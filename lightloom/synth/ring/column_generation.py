"""Bounds for a ring by the dual of fractional colouring, with column generation.

One wavelength of one fibre holds a lap: arcs that do not overlap. Circuits that fit do
so all the more where laps may be used in fractions. So where prices make circuits worth
more than all wavelengths can hold, they do not fit, whichever way round they go. The
best prices are a linear program with a row for each lap; dearest laps are added until
none is dearer than known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.solvers import SOLVERS, SolveOptions
from lightloom.solvers.child import solve_in_child
from lightloom.synth.ring.linear_program import integer_point, linear_program
from lightloom.synth.ring.pricing import PricedLaps
from lightloom.validate.certificates.circuits_per_byte import dearest_lap

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.synth.ring.arcs import RingWays

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
