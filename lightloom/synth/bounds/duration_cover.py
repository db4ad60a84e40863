"""The search for boxes of durations with which some line cannot be served."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.validate.certificates.proofs.duration_boxes import (
    corner,
    first_box,
    halves,
    least_cost,
    tightened,
)

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray

_KEPT = 6
_TURNS = 60
_RISE = 0.7
_WHOLE = 1000
_MOST_COMBINATIONS = 20_000
_FINEST = 400
_CALL = 20_000


class CoverSearch:
    """Looks for covers of durations, for one demand.

    Parameters
    ----------
    lines
        Node, direction and what each partner takes in picoseconds, of the lines that
        are likely to be in the way.
    units
        Wavelengths of a node.
    """

    def __init__(self, lines: list[tuple[int, int, IntArray]], units: int) -> None:
        self._lines, self._units, self.work = lines, units, 0
        self._last: list[tuple[int, tuple[int, ...]]] = []

    def walk(self, total_ps: int, count: int, work: int) -> list[int] | None:
        """Return a walk that proves that data move longer, if it is found.

        Parameters
        ----------
        total_ps
            How long.
        count
            Number of configurations.
        work
            Most entries of tables that are looked at.
        """
        self._last, self.work = [], work
        walk: list[int] = []
        stack = [first_box(total_ps, count)]
        while stack:
            box = tightened(stack.pop(), total_ps)
            if box is None:
                continue
            refuted = self._refuted(corner(box, total_ps))
            if refuted is not None:
                line, prices = refuted
                node, direction, _ = self._lines[line]
                walk += [node, direction, *prices]
                continue
            axis = max(range(len(box)), key=lambda k: box[k][1] - box[k][0])
            if self.work < 0 or (box[axis][1] - box[axis][0]) * _FINEST < total_ps:
                return None
            walk += [-1, axis]
            stack += reversed(list(halves(box, axis)))
        return walk

    def _refuted(
        self, durations_ps: tuple[int, ...]
    ) -> tuple[int, tuple[int, ...]] | None:
        """Return a line and prices at which it cannot be served, if there are."""
        for place, (line, prices) in enumerate(self._last):
            if self._costs_more(line, durations_ps, prices):
                self._last.insert(0, self._last.pop(place))
                return line, prices
        for line in range(len(self._lines)):
            found = self._prices(line, durations_ps)
            if found is not None:
                self._lines.insert(0, self._lines.pop(line))
                self._last = [
                    (0 if each == line else each + (each < line), old)
                    for each, old in self._last
                ]
                self._last = [(0, found), *self._last][:_KEPT]
                return 0, found
        return None

    def _costs_more(
        self, line: int, durations_ps: tuple[int, ...], prices: tuple[int, ...]
    ) -> bool:
        need_ps = self._lines[line][2]
        self.work -= (self._units + 1) ** 2 * len(prices) * 4 + _CALL
        costs = least_cost(need_ps, durations_ps, prices, self._units)
        return int(costs.min()) < 0 or int(costs.sum()) > self._units * sum(prices)

    def _prices(
        self, line: int, durations_ps: tuple[int, ...]
    ) -> tuple[int, ...] | None:
        """Return prices that refute durations, raised where units are short."""
        need = self._lines[line][2].astype(np.float64)
        room, count = self._units, len(durations_ps)
        times = np.array(durations_ps, dtype=np.float64)
        even = tuple(int(_WHOLE * each / max(1.0, times.max())) for each in times)
        if need.sum() > room * times.sum() or len(need) > room * count:
            return even if self._costs_more(line, durations_ps, even) else None
        most = np.minimum(room, np.ceil(need.max() / np.maximum(times, 1))).astype(int)
        size = int(np.prod(most + 1))
        if size > _MOST_COMBINATIONS:
            return None
        grid = np.indices(tuple(most + 1)).reshape(count, -1).T
        value = grid @ times
        order = np.argsort(-value, kind="stable")
        grid, value = grid[order], value[order]
        enough = np.searchsorted(-value, -need, side="right") - 1
        if enough.min() < 0:
            return even if self._costs_more(line, durations_ps, even) else None
        price = times / times.sum()
        places = np.arange(size)
        for turn in range(1, _TURNS + 1):
            cost = grid @ price
            least = np.minimum.accumulate(cost)
            self.work -= size * (count + 2) + _CALL
            if least[enough].sum() > room * price.sum() * (1 + 1e-3):
                whole = tuple(round(_WHOLE * each) for each in price / price.max())
                if self._costs_more(line, durations_ps, whole):
                    return whole
            taken = np.maximum.accumulate(np.where(cost <= least, places, 0))[enough]
            load = grid[taken].sum(axis=0)
            price = price * np.exp((load / room - 1) * _RISE / turn**0.5)
            price /= price.sum()
        return None
