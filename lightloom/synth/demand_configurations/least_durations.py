"""Durations of configurations by linear programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.units import BITS_PER_BYTE, PS_PER_S

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.synth.demand_configurations.lines import Lines
    from lightloom.synth.demand_configurations.search import Division

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


def durations_of_counts(need: FloatArray, counts: IntArray) -> FloatArray:
    """Return the durations of least sum in which counts move all data.

    `need`: how long one unit takes for each pair, shape (pairs,); above 0. `counts`:
    units of each pair in each configuration, shape (pairs, configurations); some for
    every pair.
    """
    from scipy.optimize import linprog

    distinct, where = np.unique(counts, axis=0, return_inverse=True)
    most = np.zeros(len(distinct))
    np.maximum.at(most, where.reshape(-1), need)
    scale = most.max()
    found = linprog(
        np.ones(counts.shape[1]),
        A_ub=-distinct.astype(np.float64),
        b_ub=-most / scale,
        method="highs",
    )
    durations: FloatArray = np.asarray(found.x, dtype=np.float64) * scale
    return durations


def moved_bytes(bits_per_s: int, size_bytes: IntArray, division: Division) -> IntArray:
    """Return the bytes of each pair in each configuration, shape of the counts.

    Durations become whole picoseconds, as few more as rounding asks for.
    """
    unit = BITS_PER_BYTE * PS_PER_S
    counts = division.counts.tolist()
    sizes = size_bytes.tolist()
    durations_ps = [int(np.ceil(each)) for each in division.durations.tolist()]
    more_ps = 1
    while True:
        moved = np.zeros(division.counts.shape, dtype=np.int64)
        short = False
        for pair, (size, units) in enumerate(zip(sizes, counts, strict=True)):
            left = size
            for place, (count, time_ps) in enumerate(
                zip(units, durations_ps, strict=True)
            ):
                part = min(left, count * bits_per_s * time_ps // unit)
                moved[pair, place] = part
                left -= part
            short |= left > 0
        if not short:
            return moved
        durations_ps = [each + more_ps for each in durations_ps]
        more_ps *= 2
