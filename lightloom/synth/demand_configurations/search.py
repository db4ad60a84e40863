"""Configurations for a demand: how many, how long each, and who has how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.synth.demand_configurations.counts import fill_counts
from lightloom.synth.demand_configurations.durations import short_durations
from lightloom.synth.demand_configurations.least_durations import (
    durations_of_counts,
    unit_bound,
)
from lightloom.synth.demand_configurations.options import MOST_EXACT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.synth.demand_configurations.lines import FloatArray, Lines

__all__ = ["Division", "divisions"]

_LONGER = (1.0005, 1.002, 1.005, 1.01, 1.02, 1.04, 1.08, 1.15, 1.3, 1.6, 2.5)
_FEW_LONGER = (1.003, 1.015, 1.05, 1.15, 1.4, 2.0)
_TRIES = 3
_MANY_PAIRS = 2500
_MORE = 3
_LINE_WORK = 40_000_000
_LINE_WORK_MANY = 500_000_000
_CHANGES = 4_000
_CHANGED_OPTIONS = 60_000_000
_MOST_UNITS = 64
_MOST_PAIRS = 8_000


@dataclass(frozen=True, eq=False)
class Division:
    """A demand divided among configurations.

    Attributes
    ----------
    durations
        Of each configuration, the longest first, shape (configurations,).
    counts
        Units of each pair in each, shape (pairs, configurations).
    """

    durations: FloatArray
    counts: IntArray


def divisions(lines: Lines, fixed: float, seed: int = 0) -> Iterator[Division]:
    """Yield divisions of a demand, each faster than those before.

    Parameters
    ----------
    lines
        Of the demand; a pair or more.
    fixed
        What a configuration costs beside its duration, in the unit of needs.
    seed
        Of random choices, 0 or more.

    Notes
    -----
    Deterministic. The limits count looks at tables and tried changes. Of more than 64
    units, or 8,000 pairs, only one configuration is tried.
    """
    fewest = max(1, lines.fewest())
    best = np.inf
    if fewest == 1:
        single = _one(lines)
        best = fixed + float(single.durations[0])
        yield single
    units = int(lines.capacity[: lines.exact].max())
    if units > _MOST_UNITS or len(lines.need) > _MOST_PAIRS:
        return
    failed = 0
    for count in range(max(2, fewest), len(lines.need) + 2):
        if count * fixed + lines.least_total >= best or failed >= _MORE:
            return
        found = _divided(lines, count, best - count * fixed, seed)
        failed = failed + 1 if found is None else 0
        if found is not None:
            best = count * fixed + float(found.durations.sum())
            yield found


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


def _divided(lines: Lines, count: int, most: float, seed: int) -> Division | None:
    """Return a division among so many configurations, shorter than `most` in all."""
    bound = unit_bound(lines, count)
    if bound is None or bound.durations.sum() >= most:
        return None
    first = np.maximum(bound.durations, 1e-3 * bound.durations.sum())
    if count <= MOST_EXACT:
        work = _LINE_WORK if count < MOST_EXACT else _LINE_WORK_MANY
        ceiling = most if np.isfinite(most) else 4 * float(first.sum())
        found = short_durations(lines, first, ceiling, seed, work)
        if found is None:
            return None
        first = found
    changes = min(_CHANGES, _CHANGED_OPTIONS // (len(lines.need) * count))
    many = len(lines.need) * count > _MANY_PAIRS * MOST_EXACT
    for longer in _FEW_LONGER if many else _LONGER:
        if first.sum() * longer >= most * 1.02:
            return None
        for turn in range(1 if many else _TRIES):
            counts, _ = fill_counts(lines, first * longer, seed + turn, changes)
            if counts is None:
                continue
            durations = durations_of_counts(lines, counts)
            if durations.sum() >= most:
                return None
            order = np.argsort(-durations, kind="stable")
            return Division(durations[order], counts[:, order])
    return None
