"""Boxes of durations of configurations, and of units that pairs have in them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TypeAlias

Ranges: TypeAlias = "tuple[tuple[int, int], ...]"
"""The least and the most of something in each configuration."""


@dataclass(frozen=True)
class DurationBox:
    """Some durations, and what pairs may have.

    `sides`: the least and the largest of t_2, t_3, . `units`: of a few pairs the least
    and the most units of each configuration.
    """

    sides: Ranges
    units: tuple[tuple[int, Ranges], ...] = ()

    def tightened(self, total_ps: int) -> DurationBox | None:
        """Return the box without what the order rules out; ``None`` if all of it."""
        low, high = [a for a, _ in self.sides], [b for _, b in self.sides]
        for k in range(len(low) - 2, -1, -1):
            low[k] = max(low[k], low[k + 1])
        if low:
            high[0] = min(high[0], -(-(total_ps - sum(low[1:])) // 2))
        for k in range(1, len(low)):
            high[k] = min(high[k], high[k - 1])
        if any(a > b for a, b in zip(low, high, strict=True)):
            return None
        return DurationBox(tuple(zip(low, high, strict=True)), self.units)

    def above(self, total_ps: int) -> tuple[int, ...]:
        """Return durations that none of the box exceed."""
        return total_ps - sum(a for a, _ in self.sides), *(b for _, b in self.sides)

    def corners(self, total_ps: int) -> list[tuple[int, ...]]:
        """Return the corners of the box, each with what is left for the longest."""
        every = itertools.product(*(sorted({*side}) for side in self.sides))
        return [(max(0, total_ps - sum(others)), *others) for others in every]

    def halves(self, axis: int) -> tuple[DurationBox, DurationBox]:
        """Return the lower and the upper half, of whole durations."""
        low, high = self.sides[axis]
        middle = (low + high) // 2
        first, second = (
            DurationBox((*self.sides[:axis], side, *self.sides[axis + 1 :]), self.units)
            for side in ((low, middle), (middle + 1, high))
        )
        return first, second

    def units_of(self, pair: int, most: int) -> Ranges:
        """Return the least and the most units of each configuration of a pair.

        `most`: units that a pair has at most.
        """
        return dict(self.units).get(pair, ((0, most),) * (len(self.sides) + 1))

    def parts(
        self, pair: int, place: int, most: int, now: Ranges
    ) -> tuple[DurationBox, DurationBox]:
        """Return where a pair has at most so many units, and where it has more.

        `most`: units: less than it may have, and not less than it must.
        """
        low, high = now[place]
        held = dict(self.units)
        found = []
        for side in ((low, most), (most + 1, high)):
            held[pair] = (*now[:place], side, *now[place + 1 :])
            found.append(DurationBox(self.sides, tuple(sorted(held.items()))))
        return found[0], found[1]


def first_box(total_ps: int, count: int) -> DurationBox:
    """Return the box of all durations.

    `count`: how many there are, 1 or more.
    """
    return DurationBox(tuple((0, -(-total_ps // k)) for k in range(2, count + 1)))
