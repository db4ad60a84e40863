"""The search for durations at which the critical lines can be served."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.synth.demand_configurations.units import (
    MOST_EXACT,
    nested_options,
    options_of,
)

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.synth.demand_configurations.lines import Lines


_LINES_BY_NEED = 10
_LINES_BY_PAIRS = 4
_RATIOS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
_SPREADS = (0.8, 0.4, 0.2, 0.1, 0.05, 0.02)
_BETTER = 0.998
_PATIENCE = 250
_PATIENCE_WITH_PRICES = 1_000
_STRETCHED = 1.2
_MOST_STATES = 5000


def short_durations(
    lines: Lines, first: list[FloatArray], most: float, seed: int, work: int
) -> FloatArray | None:
    """Return durations of small sum at which the critical lines pass.

    From those to begin with and from geometric ones; the best are changed at random,
    and kept if lines pass in a little less time.

    `first`: durations to begin with, of as many configurations each, the longest first.
    `seed`: of random choices, 0 or more.

    Returns ``None`` if none of a sum below `most` are found.
    """
    count = len(first[0])
    critical = critical_lines(lines)
    room = max(int(lines.capacity[line]) for line in critical)
    exact = count <= MOST_EXACT and (room + 1) ** (count - 1) <= _MOST_STATES
    test = (LineCheck if exact else PriceCheck)(lines, critical)
    patience = _PATIENCE if exact else _PATIENCE_WITH_PRICES
    least = lines.least_total
    shapes = [np.maximum(each, each.sum() * 1e-3) for each in first]
    shapes += [ratio ** np.arange(count) for ratio in _RATIOS]
    best: FloatArray | None = None
    for shape in shapes:
        unit = shape / shape.sum()
        total = _STRETCHED * most if best is None else float(best.sum())
        if test.work < work and test.passes(unit * total * _BETTER):
            best = _shrunk(test, unit, least, total * _BETTER)
    if best is None:
        return None
    random = np.random.default_rng(seed)
    turn = since = 0
    while test.work < work and since < patience:
        spread = _SPREADS[turn % len(_SPREADS)]
        turn, since = turn + 1, since + 1
        shape = best * np.exp(random.normal(0, spread, count))
        total = float(best.sum())
        if total * _BETTER < least:
            break
        changed = np.sort(shape)[::-1] / shape.sum()
        if test.passes(changed * total * _BETTER):
            best, since = _shrunk(test, changed, least, total * _BETTER), 0
    return best if best.sum() < most else None


def _shrunk(test: LineCheck, unit: FloatArray, low: float, high: float) -> FloatArray:
    """Return durations of one shape, shortened by halving while lines pass."""
    while high - low > 5e-4 * high:
        middle = (low + high) / 2
        if test.passes(unit * middle):
            high = middle
        else:
            low = middle
    return unit * high


def critical_lines(lines: Lines) -> list[int]:
    """Return the lines with most to move for their capacity, and with most pairs.

    Of lines that are alike, one.
    """
    everyone = range(len(lines.capacity))
    room = lines.capacity.tolist()
    full = [lines.need[lines.members[line]].sum() / room[line] for line in everyone]
    many = [len(lines.members[line]) / room[line] for line in everyone]
    by_need = sorted(everyone, key=lambda line: -full[line])[:_LINES_BY_NEED]
    by_pairs = sorted(everyone, key=lambda line: -many[line])[:_LINES_BY_PAIRS]
    unlike: dict[tuple[float, bytes], int] = {}
    for line in [*by_need, *by_pairs]:
        need = np.sort(lines.need[lines.members[line]])
        unlike.setdefault((room[line], need.tobytes()), line)
    return [*unlike.values()]


class LineCheck:
    """Tests lines against durations, those that failed last first.

    `chosen`: the lines that are looked at.
    """

    def __init__(self, lines: Lines, chosen: list[int]) -> None:
        self._lines = lines
        self._chosen = list(chosen)
        self.work = 0

    def passes(self, durations: FloatArray) -> bool:
        """Return whether every chosen line can be served."""
        for place, line in enumerate(self._chosen):
            if not self._served(line, durations):
                self._chosen.insert(0, self._chosen.pop(place))
                return False
        return True

    def _served(self, line: int, durations: FloatArray) -> bool:
        """Return whether a line can be served."""
        room = int(self._lines.capacity[line])
        need = self._lines.need[self._lines.members[line]]
        count = len(durations)
        if need.sum() > room * durations.sum() or len(need) > room * count:
            return False
        return not len(need) or self._fits(need, room, durations)

    def _fits(self, need: FloatArray, room: int, durations: FloatArray) -> bool:
        """Return whether units are enough: a program over those that are used.

        ``least[a]`` is the fewest units of the last configuration with which the
        pairs so far take at most a_k units of each other one.
        """
        none, count = room + 1, len(durations)
        least = np.full((room + 1,) * (count - 1), none, dtype=np.int64)
        least[(0,) * (count - 1)] = 0
        for each in need.tolist():
            options = options_of(each, durations, room)
            self.work += len(options) * least.size + 1000
            after = np.full_like(least, none)
            for option in options.tolist():
                *used, last = option
                target = tuple(slice(taken, None) for taken in used)
                source = tuple(slice(0, room + 1 - taken) for taken in used)
                np.minimum(after[target], least[source] + last, out=after[target])
            least = after
            if int(least.min()) > room:
                return False
        return True


_TURNS = 120
"""Times that prices change, at most."""
_NEAR = 1.004
"""Units used over units there are, up to which a line counts as served."""
_NEAR_AT_LAST = 1.008
"""The same after the last turn, when prices may still change."""
_RISE = 1.5
"""How fast prices follow the load: the first step, in logarithms."""


class PriceCheck(LineCheck):
    """Tests lines against durations of many configurations, those that failed first.

    The units of the longest one, two, three ... configurations have a price, and every
    pair takes the cheapest of its options. Where all together cost more than all units
    of the line, it cannot be served; else what the pairs take on average shows that it
    can, in fractions.

    `chosen`: the lines that are looked at.
    """

    def _fits(self, need: FloatArray, room: int, durations: FloatArray) -> bool:
        """Return whether units are enough, as far as prices say."""
        units = self._lines.most_units
        options, waste = nested_options(need, durations, units)
        possible = np.isfinite(waste)
        self.work += options.size * 4
        if not possible.any(axis=1).all():
            return False
        flat = np.cumsum(options, axis=2).astype(np.float64)
        barred = np.where(possible, 0.0, np.inf)
        row, count = np.arange(len(need)), len(durations)
        most = room * np.arange(1.0, count + 1)
        # What a unit costs falls with its duration, in the beginning as fast.
        price = np.maximum(-np.diff(durations, append=0), 1e-3 * durations[0] / count)
        price /= price @ most
        taken, since = np.zeros(count), 0
        for turn in range(1, _TURNS + 1):
            cost = flat @ price + barred
            best = cost.argmin(axis=1)
            self.work += options.size
            if cost[row, best].sum() > 1 + 1e-9:
                return False
            load = flat[row, best].sum(axis=0)
            if turn & (turn - 1) == 0:  # prices have settled since
                taken, since = np.zeros(count), 0
            taken, since = taken + load, since + 1
            if (taken <= most * (since * _NEAR)).all():
                return True
            price = price * np.exp((load / most - 1) * _RISE / (1 + turn) ** 0.5)
            price /= price @ most
        return bool((taken <= most * (since * _NEAR_AT_LAST)).all())


_MOST_LINES = 24


@dataclass(frozen=True, eq=False)
class UnitBound:
    """Durations that no line refutes by its units, and why they are not shorter.

    `durations`: of each configuration, the longest first, shape (configurations,).
    `lines`, `largest`: what weighs: a line, and how many of its largest pairs.
    `weights`: of each, above 0; shape (weights,). `total`: what weights prove of the
    sum of durations, but for rounding.
    """

    durations: FloatArray
    lines: IntArray
    largest: IntArray
    weights: FloatArray
    total: float


def unit_bound(lines: Lines, count: int) -> UnitBound | None:
    """Return the least durations that leave every line enough units.

    A line of q pairs and capacity L has m L units. Its h largest pairs have at most
    m L - q + h of them, as every other pair has one at least; so what they need is no
    more than what so many of the longest units give. A linear program finds the least
    sum of durations with which this holds on the fullest lines.

    `lines`: of a demand; only those that are `exact` count. `count`: number of
    configurations m, in which every pair can have a unit.

    Returns ``None`` if no durations do.
    """
    from scipy.optimize import linprog

    chosen = _fullest(lines)
    rows, due, of_line, largest = [], [], [], []
    for line in chosen:
        need = np.cumsum(lines.need[lines.members[line]])
        room, partners = int(lines.capacity[line]), len(need)
        h = np.arange(1, partners + 1)
        units = count * room - partners + h
        each = np.clip(units[:, None] - np.arange(count) * room, 0, room)
        rows.append(each)
        due.append(need)
        of_line.append(np.full(partners, line))
        largest.append(h)
    units = np.concatenate(rows).astype(np.float64)
    needs = np.concatenate(due)
    # In differences of durations, all of which are positive where they fall.
    steps = np.cumsum(units, axis=1)
    scale = needs.max()
    found = linprog(
        np.arange(1, count + 1, dtype=np.float64),
        A_ub=-steps,
        b_ub=-needs / scale,
        method="highs",
    )
    if found.status != 0:
        return None
    durations = np.cumsum(found.x[::-1])[::-1] * scale
    weights = -np.asarray(found.ineqlin.marginals)
    heavy = np.flatnonzero(weights > 1e-12)
    return UnitBound(
        durations,
        np.concatenate(of_line)[heavy],
        np.concatenate(largest)[heavy],
        weights[heavy],
        float(weights[heavy] @ needs[heavy]),
    )


def _fullest(lines: Lines) -> list[int]:
    """Return the lines with most to move, and those with most pairs."""
    exact = range(lines.exact)
    full = [
        float(lines.need[lines.members[line]].sum() / lines.capacity[line])
        for line in exact
    ]
    many = [len(lines.members[line]) / lines.capacity[line] for line in exact]
    by_need = sorted(exact, key=lambda line: (-full[line], line))[:_MOST_LINES]
    by_pairs = sorted(exact, key=lambda line: (-many[line], -full[line], line))
    chosen = sorted({*by_need, *by_pairs[: _MOST_LINES // 2]})
    return [line for line in chosen if many[line]]
