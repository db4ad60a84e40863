"""Configurations for a demand: how many, how long each, and who has how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.synth.demand_configurations.division import Division, durations_of_counts
from lightloom.synth.demand_configurations.durations import (
    short_durations,
    unit_bound,
)
from lightloom.synth.demand_configurations.units import (
    MOST_EXACT,
    cut_pairs,
    fill_counts,
    place_units,
    unit_shapes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.synth.demand_configurations.durations import UnitBound
    from lightloom.synth.demand_configurations.lines import Lines
    from lightloom.synth.demand_configurations.units import UnitShape

_LONGER = (1.0005, 1.002, 1.005, 1.01, 1.02, 1.04, 1.08, 1.15, 1.3, 1.6, 2.5)
_FEW_LONGER = (1.002, 1.007, 1.015, 1.03, 1.06, 1.15, 1.6)
_STARTS = 3
_POLISHED = 24
_FEW_CHANGES = 400
_ENOUGH = 1.005
_SLIGHTLY = ((0.0, 1.003), (0.002, 1.002), (0.01, 1.001))
_FEW_UNITS = 1_000
_MANY_UNITS = 32_000
_MOST_COUNTS = 3
_LINE_WORK = 100_000_000
_LINE_WORK_MANY = 500_000_000
_CHANGES = 4_000
_CHANGED_OPTIONS = 4_000_000
_MOST_REFUSED = 8
"""Fillings without circuits after which durations are given up: each takes as long as
all looks at other durations together."""
_MOST_VAIN = 1
"""Numbers of configurations that brought nothing, after which another one in a row ends
the search: they come by what they promise, so those that follow promise less."""
_WIDER = 1.1
"""Of the durations wanted, how far above them the search for such may begin: shapes
that pass only there shrink, and fewer chances are missed."""
_FILLED_SHORTER = 1.02
"""Of durations, so much more may be asked of a filling than it needs in the end."""
MOST_UNITS = 64
"""Units of a configuration up to which durations are searched."""
_MOST_PAIRS = 400_000


def divisions(
    lines: Lines,
    fixed: float,
    seed: int = 0,
    known: float = np.inf,
    lights: Callable[[Division], bool] | None = None,
) -> Iterator[Division]:
    """Yield divisions of a demand, each faster than those before.

    `lines`: of the demand; a pair or more. `fixed`: what a configuration costs beside
    its duration, in the unit of needs. `seed`: of random choices, 0 or more. `known`:
    what the demand takes otherwise, configurations included; numbers of configurations
    that cannot be faster are left out. `lights`: whether a division finds circuits,
    where lines do not say all; by default each does.

    Where something is `known`, numbers of configurations come in order of their bounds,
    so that one which is found rules others out, and two in a row that bring nothing end
    the search; else those whose units promise most come first.

    Deterministic. The limits count looks at tables and tried changes. Of more than 64
    units, or 400,000 pairs times configurations, only one configuration is tried, and
    those of `unit_shapes`.
    """
    fewest = max(1, lines.fewest())
    best = np.inf
    asked = _Asked(lines, seed, known < np.inf, lights or (lambda _: True))
    single = _one(lines) if fewest == 1 else None
    if single is not None:
        lasts = fixed + float(single.durations[0])
        if lasts < known and asked.lights(single):
            best = lasts
            yield single
    shapes = unit_shapes(lines)
    promise = _by_promise(shapes, fixed)
    units = lines.most_units
    searched = units <= MOST_UNITS and len(lines.need) * fewest <= _MOST_PAIRS
    queue = [_Count(count, shapes.get(count), None) for count in promise]
    queue = [one for one in queue if lines.of_ends]
    if searched:
        bounded = _bounded(lines, _counts(promise, fewest), shapes)
        if asked.limited:
            bounded.sort(key=lambda one: one.least(fixed))
        queue = [*bounded, *queue]
    vain = 0
    for number in queue:
        if vain > _MOST_VAIN and number.bound is not None:
            continue
        most = min(best, known) - number.count * fixed
        if max(lines.least_total, number.least(0.0)) >= most:
            continue
        search = _placed if number.bound is None else _divided
        division = search(asked, number, most)
        vain += asked.limited and number.bound is not None
        if division is not None and division.durations.sum() < most:
            best = number.count * fixed + float(division.durations.sum())
            vain = 0
            order = np.argsort(-division.durations, kind="stable")
            yield Division(division.durations[order], division.counts[:, order])


@dataclass(frozen=True, eq=False)
class _Count:
    """A number of configurations to search for.

    `shape`: where units of one length ask for so many. `bound`: where durations are
    searched, and not only units placed.
    """

    count: int
    shape: UnitShape | None
    bound: UnitBound | None

    def least(self, fixed: float) -> float:
        """Return what the configurations take at least, as far as bounds say."""
        known = self.shape if self.bound is None else self.bound
        lasts = 0.0 if known is None else float(known.durations.sum())
        return self.count * fixed + lasts


def _bounded(
    lines: Lines, counts: list[int], shapes: dict[int, UnitShape]
) -> list[_Count]:
    """Return the numbers of configurations that lines allow, each with its bound."""
    bounds = ((count, unit_bound(lines, count)) for count in counts)
    return [
        _Count(count, shapes.get(count), bound)
        for count, bound in bounds
        if bound is not None
    ]


def _by_promise(shapes: dict[int, UnitShape], fixed: float) -> list[int]:
    """Return the numbers of configurations whose shapes last the shortest."""
    promise = sorted(
        (count for count in shapes if count > 1),
        key=lambda count: (count * fixed + float(shapes[count].durations.sum()), count),
    )
    return promise[:_MOST_COUNTS]


def _counts(promise: list[int], fewest: int) -> list[int]:
    """Return numbers of configurations to search for, the most promising first."""
    first = max(2, fewest)
    return [*dict.fromkeys([*promise, *range(first, first + _MOST_COUNTS)])]


@dataclass(frozen=True, eq=False)
class _Asked:
    """What every search for a division is asked."""

    lines: Lines
    seed: int
    limited: bool
    lights: Callable[[Division], bool]

    def lit(self, counts: IntArray | None) -> Division | None:
        """Return the shortest division with so many units, if it finds circuits."""
        if counts is None:
            return None
        division = Division(durations_of_counts(self.lines.need, counts), counts)
        return division if self.lights(division) else None


def _placed(asked: _Asked, number: _Count, most: float) -> Division | None:
    """Return a division of the units of a shape, which flows place."""
    del most
    assert number.shape is not None
    units = cut_pairs(asked.lines.need, number.shape.cut)
    return asked.lit(place_units(asked.lines, units, number.count))


def _one(lines: Lines) -> Division:
    """Return the shortest single configuration, by halving."""

    def counts(time: float) -> IntArray:
        units = np.ceil(lines.need / time - 1e-12).astype(np.int64)
        return np.maximum(units, 1)  # however little a pair needs

    def fits(time: float) -> bool:
        units = counts(time)
        return all(
            int(units[pairs].sum()) <= room
            for pairs, room in zip(lines.members, lines.capacity.tolist(), strict=True)
        )

    low, high = 0.0, float(lines.need.max())
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return Division(np.array([high]), counts(high)[:, None])


def _divided(asked: _Asked, number: _Count, most: float) -> Division | None:
    """Return a division among so many configurations, shorter than `most` in all."""
    lines, count, shape, bound = asked.lines, number.count, number.shape, number.bound
    assert bound is not None
    first = [np.maximum(bound.durations, 1e-3 * bound.durations.sum())]
    if shape is not None and count > MOST_EXACT:
        first.append(shape.durations)
    work = _LINE_WORK if count < MOST_EXACT else _LINE_WORK_MANY
    wider = _WIDER if asked.limited else 1.0
    ceiling = min(wider * most, 4 * min(float(each.sum()) for each in first))
    durations = short_durations(lines, first, ceiling, asked.seed, work)
    if durations is None or durations.sum() >= most:
        return None
    enough = float(bound.durations.sum()) * _ENOUGH
    return _Fillings(asked, durations).best(most, enough)


class _Fillings:
    """Divisions at durations and a little longer."""

    def __init__(self, asked: _Asked, first: FloatArray) -> None:
        self._asked, self._first = asked, first
        lines, count = asked.lines, len(first)
        longest = max(len(pairs) for pairs in lines.members)
        self._changes = min(_CHANGES, _CHANGED_OPTIONS // (longest * count))
        units = len(lines.need) * count
        self._few, many = units <= _FEW_UNITS, units > _MANY_UNITS
        self._starts = [(turn, True) for turn in range(_STARTS)] if self._few else []
        self._starts += [(turn, False) for turn in range(1 if many else 2)]
        self._longer = _FEW_LONGER if many else _LONGER
        self._refused = 0

    def best(self, most: float, enough: float) -> Division | None:
        """Return a division at durations as short as one is found at.

        The longest that would be short enough come first: where there is no room at
        these there is none at shorter ones. Then the shortest, and halving between.
        """
        worth = most * _FILLED_SHORTER / float(self._first.sum())
        longer = [each for each in self._longer if each < worth]
        found = self._at(longer[-1]) if longer else None
        if found is None:
            return None
        low, high, middle = -1, len(longer) - 1, 0
        while high - low > 1:
            division = self._at(longer[middle])
            if division is None:
                low = middle
            else:
                high = middle
                if division.durations.sum() < found.durations.sum():
                    found = division
            middle = (low + high) // 2
        return _polished(self._asked, found, enough) if self._few else found

    def _at(self, longer: float) -> Division | None:
        """Return a division at durations so much longer; of few units the best."""
        found: list[Division] = []
        for turn, largest_first in self._starts:
            if self._refused > _MOST_REFUSED:
                break
            counts, _ = fill_counts(
                self._asked.lines,
                self._first * longer,
                self._asked.seed + turn,
                self._changes,
                largest_first=largest_first,
            )
            division = self._asked.lit(counts)
            self._refused += counts is not None and division is None
            if division is not None:
                found.append(division)
                if not self._few:
                    break
        return min(found, key=lambda one: float(one.durations.sum()), default=None)


def _polished(asked: _Asked, best: Division, enough: float) -> Division:
    """Return the best of divisions at durations that are changed a little.

    Units that are found at longer ones often do in shorter ones.
    """
    random = np.random.default_rng(asked.seed)
    for turn in range(_POLISHED):
        if best.durations.sum() <= enough:
            break
        spread, longer = _SLIGHTLY[turn % len(_SLIGHTLY)]
        least = np.maximum(best.durations, 1e-3 * best.durations.sum())
        shape = least * np.exp(random.normal(0, spread, len(least)))
        durations = np.sort(shape)[::-1] / shape.sum() * best.durations.sum() * longer
        counts, _ = fill_counts(
            asked.lines,
            durations,
            asked.seed + turn,
            _FEW_CHANGES,
            largest_first=turn % 2 == 0,
        )
        division = asked.lit(counts)
        if division is not None and division.durations.sum() < best.durations.sum():
            best = division
    return best
