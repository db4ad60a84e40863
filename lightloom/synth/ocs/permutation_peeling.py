"""Weighted permutations that cover a matrix, taken off it one after another.

As many permutations as the busiest node has partners are enough, if each covers all
nodes with most partners left, and wholly serves them (König). Which of the matchings
that do so is taken decides how long the permutations last together: at least as long
as the largest row or column sum, and that is what all rules here aim for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray

_ROUNDING = 1e-9
"""What is left of an entry is dropped below this share of what was taken."""
_REMATCHES = 3


@dataclass(frozen=True, eq=False)
class Permutations:
    """Permutations, and what each serves of the entries on it.

    `column`: ``column[k, i]`` is the column that permutation k joins row i to; shape
    (permutations, rows), as many rows as columns. `part`: what permutation k serves of
    entry (i, column[k, i]), 0 or more; same shape. Summed over permutations it is the
    matrix, but for rounding.
    """

    column: IntArray
    part: FloatArray

    @property
    def weight(self) -> FloatArray:
        """How long each lasts: the largest part that it serves."""
        weight: FloatArray = self.part.max(axis=1, initial=0.0)
        return weight


def peel(size: FloatArray, power: int) -> Permutations:
    """Return as many permutations as the busiest line has entries, which cover all.

    Each covers every line with most entries left, wholly. Among the matchings that do,
    with `power` 0 the one of the largest sum is taken. Else one is that keeps the line
    sums down: if the permutation lasts w and the largest line sum is s, a line that
    keeps more than s - w has an excess, and the sum of the excesses to that power is
    least.

    An assignment problem for each permutation, up to four with a positive `power`.
    """
    rest = size.copy()
    columns: list[IntArray] = []
    parts: list[FloatArray] = []
    while rest.any():
        column, weight = _next(rest, size, power)
        rows = np.arange(len(size))
        entry = rest[rows, column]
        part = np.minimum(entry, weight)
        left = entry - part
        left[left < _ROUNDING * weight] = 0.0
        rest[rows, column] = left
        columns.append(column)
        parts.append(part)
    shape = (len(columns), len(size))
    return Permutations(
        np.array(columns, dtype=np.int64).reshape(shape), np.array(parts).reshape(shape)
    )


def _next(rest: FloatArray, size: FloatArray, power: int) -> tuple[IntArray, float]:
    """Return the next permutation, and how long it has to last."""
    some = rest > 0
    lines = some.sum(axis=1), some.sum(axis=0)
    most = max(int(line.max()) for line in lines)
    critical = (lines[0] == most)[:, None] + (lines[1] == most)[None, :] * 1.0
    # Critical lines come first; a row that is idle otherwise joins a large entry.
    bonus = np.where(some, 10.0 * len(size) * critical, 1e-6 * size)

    def matched(gain: FloatArray) -> tuple[IntArray, float]:
        from scipy.optimize import linear_sum_assignment

        rows, columns = linear_sum_assignment(gain + bonus, maximize=True)
        entry = rest[rows, columns]
        served = (critical[rows, columns] > 0) & (entry > 0)
        return columns.astype(np.int64), float(entry[served].max())

    column, weight = matched(rest / rest.max())
    if not power:
        return column, weight
    totals = rest.sum(axis=1), rest.sum(axis=0)
    largest = max(float(total.max()) for total in totals)
    best: tuple[float, IntArray, float] | None = None
    for _ in range(_REMATCHES):
        taken = np.minimum(rest, weight)
        kept = largest - weight
        excess = sum(
            np.maximum(0.0, (total - taken - kept) / weight) ** power
            for total in (totals[0][:, None], totals[1][None, :])
        )
        column, lasts = matched(0.01 * taken / weight - excess)
        score = lasts + _largest_left(rest, totals, column, lasts)
        if best is None or score < best[0]:
            best = score, column, lasts
        if lasts == weight:
            break
        weight = lasts
    assert best is not None
    return best[1], best[2]


def _largest_left(
    rest: FloatArray,
    totals: tuple[FloatArray, FloatArray],
    column: IntArray,
    weight: float,
) -> float:
    """Return the largest line sum after a permutation of some weight."""
    rows = np.arange(len(rest))
    taken = np.minimum(rest[rows, column], weight)
    across = totals[1].copy()
    across[column] -= taken
    return max(float((totals[0] - taken).max()), float(across.max()))
