"""The search for durations at which the critical lines can be served."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.synth.demand_configurations.line_check import LineCheck
from lightloom.synth.demand_configurations.options import MOST_EXACT
from lightloom.synth.demand_configurations.price_check import PriceCheck

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray
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
