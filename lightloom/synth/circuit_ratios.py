"""Exact comparison of circuits a byte, in columns.

A ratio is ``count / bytes`` with ``count`` below 2**17 and ``bytes`` below 2**60. A
cross product of two of them has up to 77 bits. Where two ratios nearly agree, though,
the *difference* of their cross products is small, and 64-bit arithmetic that wraps
around gives it exactly. So doubles find what is close, and integers decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from lightloom.core.columns import IntArray


_CLOSE = 1e-14
"""Ratios that differ by more, relatively, are told apart by doubles."""


def circuits_for(size_bytes: IntArray, ratio: Fraction, most: int) -> IntArray:
    """Return ``ceil(ratio * size_bytes)``, or ``most + 1`` where that is above `most`.

    `size_bytes`: shape (pairs,), 1 to 2**60 - 1.
    """
    top, bottom = ratio.numerator, ratio.denominator
    estimate = np.floor(size_bytes * (top / bottom))
    many = estimate > most + 1
    whole = np.where(many, 0, estimate).astype(np.int64)
    # The estimate is off by one at most: the remainder fits, whatever wraps around.
    rest = size_bytes * top - whole * bottom
    whole += rest // bottom
    counts = whole + (rest % bottom > 0)
    return np.where(many, most + 1, np.minimum(counts, most + 1))


def least_ratio(
    counts: IntArray, size_bytes: IntArray
) -> tuple[Fraction, npt.NDArray[np.bool_]]:
    """Return the least ``counts / size_bytes``, and which pairs have it, in O(pairs).

    `counts`: circuits of each pair, at least 0; shape (pairs,), pairs > 0.
    `size_bytes`: bytes of each pair, at least 1, in the same order.

    Returns the exact ratio, and a mask of shape (pairs,).
    """
    ratio = counts / size_bytes
    near = np.flatnonzero(ratio <= ratio.min() * (1 + _CLOSE))
    count, size = counts[near], size_bytes[near]
    least = 0
    while True:
        apart = count * size[least] - count[least] * size
        if apart.min() >= 0:
            break
        least = int(np.argmin(apart / size))
    chosen = np.zeros(len(counts), dtype=np.bool_)
    chosen[near[apart == 0]] = True
    return Fraction(int(count[least]), int(size[least])), chosen


def order_by_ratio(
    counts: IntArray, size_bytes: IntArray
) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Return the rows by ascending ``counts / size_bytes``, and where ratios change.

    Returns order, first Rows in order, equal ones as they came; and for each place in
    that order whether its ratio is another than that of the place before.
    """
    ratio = counts / size_bytes
    order = np.argsort(ratio, kind="stable")
    if len(order) < 2:
        return order, np.ones(len(order), dtype=np.bool_)
    ratio = ratio[order]
    far = ratio[1:] > ratio[:-1] * (1 + _CLOSE)
    apart = np.where(far, 1, _steps(counts[order], size_bytes[order]))
    starts = np.concatenate([[0], np.flatnonzero(far) + 1, [len(order)]])
    # Doubles seldom disorder a run of close ratios; exact fractions put it right.
    wrong = np.searchsorted(starts, np.flatnonzero(apart < 0), side="right") - 1
    for run in np.unique(wrong).tolist():
        begin, end = int(starts[run]), int(starts[run + 1])
        rows = order[begin:end].tolist()
        order[begin:end] = sorted(
            rows,
            key=lambda row: (Fraction(int(counts[row]), int(size_bytes[row])), row),
        )
        inner = order[begin:end]
        apart[begin : end - 1] = _steps(counts[inner], size_bytes[inner])
    return order, np.concatenate([[True], apart != 0])


def _steps(counts: IntArray, size_bytes: IntArray) -> IntArray:
    """Return a number for each ratio after the first: its sign says up or down."""
    steps: IntArray = counts[1:] * size_bytes[:-1] - counts[:-1] * size_bytes[1:]
    return steps


_HALVINGS = 50
"""Halvings of a ratio: nearly as many as floating point tells apart; what is left is
found exactly."""
_MARGIN = 1e-12
"""Relative margin for the rounding of floating point."""


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
