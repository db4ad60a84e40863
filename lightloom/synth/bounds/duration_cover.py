"""The search for boxes of durations with which some line cannot be served."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.validate.certificates.proofs.duration_boxes import first_box

if TYPE_CHECKING:
    from lightloom.validate.certificates.proofs.duration_boxes import DurationBox
    from lightloom.validate.certificates.proofs.duration_walk import (
        DividedLines,
        LineKey,
    )

_KEPT = 6
_TURNS = 60
_RISE = 0.7
_WHOLE = 1000
_MOST_COMBINATIONS = 20_000
_FINEST = 400
_CALL = 20_000


class CoverSearch:
    """Looks for covers of durations, for one demand.

    `divided`: the demand and its lines. `likely`: the lines that are likely to be in
    the way.
    """

    def __init__(self, divided: DividedLines, likely: list[LineKey]) -> None:
        self._divided, self._lines, self.work = divided, likely, 0
        self._last: list[tuple[LineKey, tuple[int, ...]]] = []

    def walk(self, total_ps: int, count: int, work: int) -> list[int] | None:
        """Return a walk that proves that data move longer, if it is found."""
        self._last, self.work = [], work
        walk: list[int] = []
        stack = [first_box(total_ps, count)]
        while stack:
            box = stack.pop().tightened(total_ps)
            if box is None:
                continue
            refuted = self._refuted(box, total_ps)
            if refuted is not None:
                line, prices = refuted
                walk += [1, *line, *prices]
                continue
            widths = [high - low for low, high in box.sides]
            axis = widths.index(max(widths))
            if self.work < 0 or widths[axis] * _FINEST < total_ps:
                return None
            walk += [-1, axis]
            stack += reversed(box.halves(axis))
        return walk

    def _refuted(
        self, box: DurationBox, total_ps: int
    ) -> tuple[LineKey, tuple[int, ...]] | None:
        """Return a line and prices at which it cannot be served, if there are."""
        for place, (line, prices) in enumerate(self._last):
            if self._costs_more(line, box, total_ps, prices):
                self._last.insert(0, self._last.pop(place))
                return line, prices
        for place, line in enumerate(self._lines):
            found = self._prices(line, box, total_ps)
            if found is not None:
                self._lines.insert(0, self._lines.pop(place))
                self._last = [(line, found), *self._last][:_KEPT]
                return line, found
        return None

    def _costs_more(
        self, line: LineKey, box: DurationBox, total_ps: int, prices: tuple[int, ...]
    ) -> bool:
        self.work -= (self._divided.units + 1) ** 2 * len(prices) * 4 + _CALL
        return self._divided.refuted(box, total_ps, ((line, prices),), corners=False)

    def _prices(
        self, line: LineKey, box: DurationBox, total_ps: int
    ) -> tuple[int, ...] | None:
        """Return prices that refute durations, raised where units are short."""
        shared = self._divided.lines[line]
        units, room = self._divided.units, shared.room
        durations_ps = box.above(total_ps)
        need = self._divided.need_ps[shared.pairs].astype(np.float64)
        count = len(durations_ps)
        times = np.array(durations_ps, dtype=np.float64)
        even = tuple(int(_WHOLE * each / max(1.0, times.max())) for each in times)
        if need.sum() > room * times.sum() or len(need) > room * count:
            return even if self._costs_more(line, box, total_ps, even) else None
        most = np.minimum(units, np.ceil(need.max() / np.maximum(times, 1))).astype(int)
        size = int(np.prod(most + 1))
        if size > _MOST_COMBINATIONS:
            return None
        grid = np.indices(tuple(most + 1)).reshape(count, -1).T
        value = grid @ times
        order = np.argsort(-value, kind="stable")
        grid, value = grid[order], value[order]
        enough = np.searchsorted(-value, -need, side="right") - 1
        if enough.min() < 0:
            return even if self._costs_more(line, box, total_ps, even) else None
        price = times / times.sum()
        places = np.arange(size)
        for turn in range(1, _TURNS + 1):
            cost = grid @ price
            least = np.minimum.accumulate(cost)
            self.work -= size * (count + 2) + _CALL
            if least[enough].sum() > room * price.sum() * (1 + 1e-3):
                whole = tuple(round(_WHOLE * each) for each in price / price.max())
                if self._costs_more(line, box, total_ps, whole):
                    return whole
            taken = np.maximum.accumulate(np.where(cost <= least, places, 0))[enough]
            load = grid[taken].sum(axis=0)
            price = price * np.exp((load / room - 1) * _RISE / turn**0.5)
            price /= price.sum()
        return None
