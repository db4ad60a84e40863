"""The largest ratio of circuits to bytes that all pairs can have, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from lightloom.synth.circuit_ratios import circuits_for, least_ratio

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.columns import IntArray

_HALVINGS = 50
_MARGIN = 1e-12


@dataclass(frozen=True, eq=False)
class Threshold:
    """The largest ratio that all pairs can have, and what stops it.

    `ratio`: circuits a byte that every pair can have: 0 where not all can be served.
    `counts`: the fewest circuits of each pair with that ratio, all zeros if it is 0.
    `line`: what would carry more than its capacity if every pair had more than `ratio`;
    ``None`` if nothing does: every pair has as many as it can.
    """

    ratio: Fraction
    counts: IntArray
    line: int | None


def best_threshold(
    size_bytes: IntArray,
    most: int,
    loads: Callable[[IntArray], IntArray],
    capacity: IntArray,
) -> Threshold:
    """Return the largest t such that ``ceil(t * bytes)`` circuits fit every line.

    Halving with doubles comes close to the threshold from below. From there the pairs
    of the least ratio get one more circuit, exactly, until a line stops them.

    `size_bytes`: shape (pairs,), pairs > 0; 1 to 2**60 - 1. `most`: circuits of one
    pair at most, below 2**16 + 1. `loads`: monotone: the load of each line for circuits
    of each pair.

    About fifty times O(pairs) and `loads`, whatever the counts.
    """

    def fits(counts: IntArray) -> bool:
        return bool(counts.max() <= most and (loads(counts) <= capacity).all())

    ones = np.ones(len(size_bytes), dtype=np.int64)
    if not fits(ones):
        return Threshold(Fraction(0), 0 * ones, _first_over(loads(ones), capacity))
    largest = int(size_bytes.max())
    counts = circuits_for(size_bytes, _close(size_bytes, most, fits), most)
    if not fits(counts):
        counts = circuits_for(size_bytes, Fraction(1, largest), most)
    while True:
        ratio, slowest = least_ratio(counts, size_bytes)
        raised = counts + slowest
        if not fits(raised):
            break
        counts = raised
    over = loads(raised) > capacity
    return Threshold(ratio, counts, int(np.argmax(over)) if over.any() else None)


def _close(
    size_bytes: IntArray, most: int, fits: Callable[[IntArray], bool]
) -> Fraction:
    """Return a ratio that some pair can have, a little below the threshold.

    The largest pair has 1 to `most` circuits, which encloses the threshold.
    """
    largest = int(size_bytes.max())
    share = size_bytes / largest
    low, high = 1.0, float(most)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if fits(np.ceil(share * middle).astype(np.int64)):
            low = middle
        else:
            high = middle
    counts = np.floor(share * (low * (1 - _MARGIN))).astype(np.int64)
    best = int(np.argmax(counts / size_bytes))
    if not counts[best]:
        return Fraction(1, largest)
    return Fraction(int(counts[best]), int(size_bytes[best]))


def _first_over(load: IntArray, capacity: IntArray) -> int:
    return int(np.argmax(load > capacity))
