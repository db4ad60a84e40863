"""The best division of a small demand, with a proof of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lightloom.synth.demand_configurations.box_search import BoxSearch, searchable
from lightloom.synth.demand_configurations.least_durations import unit_bound
from lightloom.synth.demand_configurations.lines import shared_lines
from lightloom.synth.demand_configurations.search import divisions
from lightloom.synth.demand_configurations.whole_division import (
    WholeDivision,
    shortened,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.synth.demand_configurations.lines import Lines
    from lightloom.validate.certificates.completion_time.configurations import (
        DividedLines,
    )

_MOST_BOXES = 400
MOST_PAIRS = 80
"""Pairs of a small demand."""
_MOST_TRIED = 12
_STEPS = 2
_BOXES_A_STEP = 50
_ROUNDED = 1 - 1e-11
"""What rounded weights prove of a sum, at least."""


@dataclass(eq=False)
class ExactDivision:
    """What is known of a small demand.

    `best`: the fastest division found, ``None`` where there is none. `proven`: whether
    lines leave no faster one. `walks`: for numbers of configurations: a time that data
    move longer than, and the walk over boxes of durations that proves it.
    """

    best: WholeDivision | None = None
    proven: bool = True
    walks: dict[int, tuple[int, list[int]]] = field(default_factory=dict)


def exact_division(
    divided: DividedLines, fixed_ps: Callable[[int], int]
) -> ExactDivision | None:
    """Return the best division of a demand of few pairs.

    The best of `divisions` has to be beaten, by the number of configurations whose
    units promise most first: `BoxSearch` finds a division that is, or
    proves that there is none.

    Returns ``None`` where pairs are too many.

    Deterministic. The limits count boxes, and nodes of integer programs.
    """
    if not divided.cuttable or len(divided.size_bytes) > MOST_PAIRS:
        return None
    lines = shared_lines(divided)
    found = ExactDivision(_first(divided, lines, fixed_ps))
    boxes = _MOST_BOXES
    for count, least_ps in _by_promise(lines, fixed_ps):
        best = found.best
        total_ps = count * int(divided.need_ps.max())
        if best is not None:
            ends_ps = fixed_ps(len(best.durations_ps)) + best.total_ps
            total_ps = min(total_ps, ends_ps - fixed_ps(count) - 1)
        if total_ps >= least_ps:
            boxes -= _search(found, divided, count, least_ps, total_ps, boxes)
    return found


def _first(
    divided: DividedLines, lines: Lines, fixed_ps: Callable[[int], int]
) -> WholeDivision | None:
    """Return the best of divisions that are found without a proof."""
    made = []
    for each in divisions(lines, fixed_ps(2) - fixed_ps(1)):
        start = np.ceil(each.durations).astype(np.int64)
        made.append(shortened(divided, each.counts, start))
    costs = [fixed_ps(len(each.durations_ps)) + each.total_ps for each in made]
    return made[int(np.argmin(costs))] if made else None


def _search(
    found: ExactDivision,
    divided: DividedLines,
    count: int,
    least_ps: int,
    total_ps: int,
    boxes: int,
) -> int:
    """Look for divisions of no longer durations, until none is left or it is known.

    Returns how many boxes were looked at, about as many as there may be at most.
    """
    if boxes <= 0 or not searchable(divided, count):
        found.proven = False
        return 0
    search = BoxSearch(divided, count)
    while total_ps >= least_ps:
        result = search.run(total_ps, boxes, improve=True)
        if isinstance(result, WholeDivision):
            found.best, total_ps = result, result.total_ps - 1
            continue
        if result is None:
            found.proven = False
            _raise(found, search, count, least_ps, total_ps)
        else:
            found.walks[count] = total_ps, result
        break
    return search.boxes


def _by_promise(lines: Lines, fixed_ps: Callable[[int], int]) -> list[tuple[int, int]]:
    """Return numbers of configurations and the least that data move in them."""
    fewest = max(1, lines.fewest())
    found: list[tuple[int, int]] = []
    for count in range(fewest, fewest + _MOST_TRIED):
        bound = unit_bound(lines, count) if count > 1 else None
        least = lines.least_total if bound is None else bound.total
        found.append((count, int(np.ceil(least * _ROUNDED))))
    return sorted(found, key=lambda each: (fixed_ps(each[0]) + each[1], each[0]))


def _raise(
    found: ExactDivision,
    search: BoxSearch,
    count: int,
    least_ps: int,
    total_ps: int,
) -> None:
    """Prove as much as may be of how long data move in so many configurations."""
    low, high = least_ps, total_ps
    for _ in range(_STEPS):
        middle = (low + high) // 2
        walk = search.run(middle, search.boxes + _BOXES_A_STEP, improve=False)
        if isinstance(walk, list):
            found.walks[count], low = (middle, walk), middle
        else:
            high = middle
