"""Divisions in whole picoseconds, in which units move whole bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.units import BITS_PER_BYTE, PS_PER_S

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.validate.certificates.completion_time.configurations import (
        DividedLines,
    )


@dataclass(frozen=True, eq=False)
class WholeDivision:
    """A division in whole picoseconds.

    `durations_ps`: of each configuration, shape (configurations,). `counts`: units of
    each pair in each, shape (pairs, configurations).
    """

    durations_ps: IntArray
    counts: IntArray

    @property
    def total_ps(self) -> int:
        """How long data move."""
        return int(self.durations_ps.sum())


def shortened(
    divided: DividedLines, counts: IntArray, start: IntArray
) -> WholeDivision:
    """Return units with short durations in which they move whole bytes.

    In turn each configuration lasts as long as others leave bytes for it.

    `counts`: units of each pair in each configuration, shape (pairs, configurations).
    """
    found = []
    every = list(range(len(start)))
    for first in every:
        times = start.tolist()
        # Longer where bytes lack, then each no longer than it has to be.
        for place in (*every, *every[first:], *every[:first]):
            times[place] = _least_ps(divided, counts, times, place)
        found.append(np.array(times, dtype=np.int64))
    return WholeDivision(min(found, key=lambda each: int(each.sum())), counts)


def _least_ps(
    divided: DividedLines, counts: IntArray, times: list[int], place: int
) -> int:
    """Return how long one configuration must last beside the others."""
    rate, second = divided.bits_per_s, BITS_PER_BYTE * PS_PER_S
    least = 0
    for size, units in zip(divided.size_bytes.tolist(), counts.tolist(), strict=True):
        if units[place]:
            others = sum(
                n * time_ps * rate // second
                for k, (n, time_ps) in enumerate(zip(units, times, strict=True))
                if k != place
            )
            due = size - others
            least = max(least, -(-due * second // (units[place] * rate)))
    return least
