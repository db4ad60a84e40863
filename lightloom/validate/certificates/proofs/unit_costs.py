"""What units of several configurations cost at least that are enough for a pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.validate.certificates.proofs.duration_boxes import Ranges

NEVER = 2**62
"""What units cost that are never enough."""


def total(costs: Sequence[IntArray]) -> int:
    """Return what all pay, `NEVER` where one has nothing that is enough."""
    if any(int(each.max()) == NEVER for each in costs):
        return NEVER
    return sum(int(each.sum()) for each in costs)


def least_cost(
    need: IntArray,
    worth: Sequence[Sequence[int]],
    ranges: Ranges,
    prices: Sequence[int],
) -> IntArray:
    """Return the least cost of units that serve each pair, `NEVER` where none do.

    `need`: of each pair, shape (pairs,); positive. `worth`: of each configuration what
    the numbers of units in its range are worth. `ranges`: the fewest and the most units
    of each configuration. `prices`: of a unit of each, 0 or more.
    """
    most = int(need.max())
    value, cost = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for each, (low, high), price in zip(worth, ranges, prices, strict=True):
        number, more = np.arange(low, high + 1), np.array(each, dtype=np.int64)
        value = np.minimum((value[:, None] + more).reshape(-1), most)
        cost = (cost[:, None] + number * price).reshape(-1)
        order = np.lexsort((cost, -value))
        cheapest = np.minimum.accumulate(cost[order])
        # Kept: whatever is cheaper than all of at least its value.
        kept = np.concatenate([[True], cheapest[1:] < cheapest[:-1]])
        value, cost = value[order][kept], cheapest[kept]
    # Values fall and costs fall with them: the last that is enough is the cheapest.
    place = np.searchsorted(-value, -need, side="right") - 1
    return np.where(place >= 0, cost[place], NEVER)
