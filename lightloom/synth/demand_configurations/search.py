"""Configurations for a demand: how many, how long each, and who has how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.synth.demand_configurations.division import Division, durations_of_counts
from lightloom.synth.demand_configurations.durations import short_durations, unit_bound
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

    Deterministic. The limits count looks at tables and tried changes. Of more than 64
    units, or 400,000 pairs times configurations, only one configuration is tried, and
    those of `unit_shapes`.
    """
    fewest = max(1, lines.fewest())
    best = np.inf
    asked = _Asked(lines, seed, lights or (lambda _: True))
    single = _one(lines) if fewest == 1 else None
    if single is not None and asked.lights(single):
        best = fixed + float(single.durations[0])
        yield single
    shapes = unit_shapes(lines)
    promise = _by_promise(shapes, fixed)
    units = lines.most_units
    searched = units <= MOST_UNITS and len(lines.need) * fewest <= _MOST_PAIRS
    makers = [(count, _divided) for count in _counts(promise, fewest) if searched]
    makers += [(count, _placed) for count in promise if lines.of_ends]
    for count, maker in makers:
        most = best - count * fixed
        if lines.least_total >= min(most, known - count * fixed):
            continue
        division = maker(asked, count, shapes.get(count), most)
        if division is not None and division.durations.sum() < most:
            best = count * fixed + float(division.durations.sum())
            order = np.argsort(-division.durations, kind="stable")
            yield Division(division.durations[order], division.counts[:, order])


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
    lights: Callable[[Division], bool]

    def lit(self, counts: IntArray | None) -> Division | None:
        """Return the shortest division with so many units, if it finds circuits."""
        if counts is None:
            return None
        division = Division(durations_of_counts(self.lines.need, counts), counts)
        return division if self.lights(division) else None


def _placed(
    asked: _Asked, count: int, shape: UnitShape | None, most: float
) -> Division | None:
    """Return a division of the units of a shape, which flows place."""
    if shape is None or shape.durations.sum() >= most:
        return None
    units = cut_pairs(asked.lines.need, shape.cut)
    return asked.lit(place_units(asked.lines, units, count))


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


def _divided(
    asked: _Asked, count: int, shape: UnitShape | None, most: float
) -> Division | None:
    """Return a division among so many configurations, shorter than `most` in all."""
    lines = asked.lines
    bound = unit_bound(lines, count)
    if bound is None or bound.durations.sum() >= most:
        return None
    first = [np.maximum(bound.durations, 1e-3 * bound.durations.sum())]
    if shape is not None and count > MOST_EXACT:
        first.append(shape.durations)
    work = _LINE_WORK if count < MOST_EXACT else _LINE_WORK_MANY
    ceiling = min(most, 4 * min(float(each.sum()) for each in first))
    durations = short_durations(lines, first, ceiling, asked.seed, work)
    if durations is None:
        return None
    enough = float(bound.durations.sum()) * _ENOUGH
    return _filled(asked, durations, most, enough)


def _filled(
    asked: _Asked, first: FloatArray, most: float, enough: float
) -> Division | None:
    """Return the first division that is found at durations a little longer.

    Of few units the best of several at the first durations at which one is found.
    """
    lines, count = asked.lines, len(first)
    longest = max(len(pairs) for pairs in lines.members)
    changes = min(_CHANGES, _CHANGED_OPTIONS // (longest * count))
    units = len(lines.need) * count
    few, many = units <= _FEW_UNITS, units > _MANY_UNITS
    starts = [(turn, True) for turn in range(_STARTS)] if few else []
    starts += [(turn, False) for turn in range(1 if many else 2)]
    refused = 0
    for longer in _FEW_LONGER if many else _LONGER:
        if first.sum() * longer >= most * 1.02:
            return None
        found = []
        for turn, largest_first in starts:
            counts, _ = fill_counts(
                lines,
                first * longer,
                asked.seed + turn,
                changes,
                largest_first=largest_first,
            )
            division = asked.lit(counts)
            refused += counts is not None and division is None
            if refused > _MOST_REFUSED:
                return None
            if division is not None:
                found.append(division)
                if not few:
                    break
        if found:
            best = min(found, key=lambda each: float(each.durations.sum()))
            return _polished(asked, best, enough) if few else best
    return None


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
