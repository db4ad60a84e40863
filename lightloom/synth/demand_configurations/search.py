"""Configurations for a demand: how many, how long each, and who has how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.synth.demand_configurations.counts import fill_counts
from lightloom.synth.demand_configurations.durations import (
    durations_of_counts,
    short_durations,
    unit_bound,
)
from lightloom.synth.demand_configurations.options import MOST_EXACT
from lightloom.synth.demand_configurations.unit_flows import (
    cut_pairs,
    place_units,
    unit_shapes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.synth.demand_configurations.lines import Lines
    from lightloom.synth.demand_configurations.unit_flows import UnitShape

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
_MOST_UNITS = 64
_MOST_PAIRS = 400_000


@dataclass(frozen=True, eq=False)
class Division:
    """A demand divided among configurations.

    `durations`: of each configuration, the longest first, shape (configurations,).
    `counts`: units of each pair in each, shape (pairs, configurations).
    """

    durations: FloatArray
    counts: IntArray


def divisions(
    lines: Lines, fixed: float, seed: int = 0, known: float = np.inf
) -> Iterator[Division]:
    """Yield divisions of a demand, each faster than those before.

    `lines`: of the demand; a pair or more. `fixed`: what a configuration costs beside
    its duration, in the unit of needs. `seed`: of random choices, 0 or more. `known`:
    what the demand takes otherwise, configurations included; numbers of configurations
    that cannot be faster are left out.

    Deterministic. The limits count looks at tables and tried changes. Of more than 64
    units, or 400,000 pairs times configurations, only one configuration is tried, and
    those of `unit_shapes`.
    """
    fewest = max(1, lines.fewest())
    best = np.inf
    if fewest == 1:
        single = _one(lines)
        best = fixed + float(single.durations[0])
        yield single
    shapes = unit_shapes(lines)
    promise = _by_promise(shapes, fixed)
    units = lines.most_units
    searched = units <= _MOST_UNITS and len(lines.need) * fewest <= _MOST_PAIRS
    makers = [(count, _divided) for count in _counts(promise, fewest) if searched]
    makers += [(count, _placed) for count in promise if lines.of_ends]
    for count, maker in makers:
        most = best - count * fixed
        if lines.least_total >= min(most, known - count * fixed):
            continue
        found = maker(lines, count, shapes.get(count), most, seed)
        if found is not None and found.durations.sum() < most:
            best = count * fixed + float(found.durations.sum())
            order = np.argsort(-found.durations, kind="stable")
            yield Division(found.durations[order], found.counts[:, order])


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


def _placed(
    lines: Lines, count: int, shape: UnitShape | None, most: float, seed: int
) -> Division | None:
    """Return a division of the units of a shape, which flows place."""
    del seed
    if shape is None or shape.durations.sum() >= most:
        return None
    counts = place_units(lines, cut_pairs(lines.need, shape.cut), count)
    if counts is None:
        return None
    return Division(durations_of_counts(lines.need, counts), counts)


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
    lines: Lines, count: int, shape: UnitShape | None, most: float, seed: int
) -> Division | None:
    """Return a division among so many configurations, shorter than `most` in all."""
    bound = unit_bound(lines, count)
    if bound is None or bound.durations.sum() >= most:
        return None
    first = [np.maximum(bound.durations, 1e-3 * bound.durations.sum())]
    if shape is not None and count > MOST_EXACT:
        first.append(shape.durations)
    work = _LINE_WORK if count < MOST_EXACT else _LINE_WORK_MANY
    ceiling = min(most, 4 * min(float(each.sum()) for each in first))
    found = short_durations(lines, first, ceiling, seed, work)
    if found is None:
        return None
    enough = float(bound.durations.sum()) * _ENOUGH
    return _filled(lines, found, most, enough, seed)


def _filled(
    lines: Lines, first: FloatArray, most: float, enough: float, seed: int
) -> Division | None:
    """Return the first division that is found at durations a little longer.

    Of few units the best of several at the first durations at which one is found.
    """
    count = len(first)
    longest = max(len(pairs) for pairs in lines.members)
    changes = min(_CHANGES, _CHANGED_OPTIONS // (longest * count))
    units = len(lines.need) * count
    few, many = units <= _FEW_UNITS, units > _MANY_UNITS
    starts = [(turn, True) for turn in range(_STARTS)] if few else []
    starts += [(turn, False) for turn in range(1 if many else 2)]
    for longer in _FEW_LONGER if many else _LONGER:
        if first.sum() * longer >= most * 1.02:
            return None
        found = []
        for turn, largest_first in starts:
            division = _division(
                lines, first * longer, seed + turn, changes, largest_first=largest_first
            )
            if division is not None:
                found.append(division)
                if not few:
                    break
        if found:
            best = min(found, key=lambda each: float(each.durations.sum()))
            return _polished(lines, best, enough, seed) if few else best
    return None


def _division(
    lines: Lines, durations: FloatArray, seed: int, changes: int, *, largest_first: bool
) -> Division | None:
    """Return units that fit, and the shortest durations in which they are enough."""
    counts, _ = fill_counts(
        lines, durations, seed, changes, largest_first=largest_first
    )
    if counts is None:
        return None
    return Division(durations_of_counts(lines.need, counts), counts)


def _polished(lines: Lines, best: Division, enough: float, seed: int) -> Division:
    """Return the best of divisions at durations that are changed a little.

    Units that are found at longer ones often do in shorter ones.
    """
    random = np.random.default_rng(seed)
    for turn in range(_POLISHED):
        if best.durations.sum() <= enough:
            break
        spread, longer = _SLIGHTLY[turn % len(_SLIGHTLY)]
        least = np.maximum(best.durations, 1e-3 * best.durations.sum())
        shape = least * np.exp(random.normal(0, spread, len(least)))
        durations = np.sort(shape)[::-1] / shape.sum() * best.durations.sum() * longer
        largest_first = turn % 2 == 0
        found = _division(
            lines, durations, seed + turn, _FEW_CHANGES, largest_first=largest_first
        )
        if found is not None and found.durations.sum() < best.durations.sum():
            best = found
    return best
