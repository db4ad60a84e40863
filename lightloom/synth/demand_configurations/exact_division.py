"""The best division of a small demand, with a proof of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.synth.demand_configurations.durations import unit_bound
from lightloom.synth.demand_configurations.lines import shared_lines
from lightloom.synth.demand_configurations.search import divisions
from lightloom.validate.certificates.completion_time.configurations import first_box

if TYPE_CHECKING:
    from collections.abc import Callable

    from scipy.sparse import csr_array

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.synth.demand_configurations.lines import Lines
    from lightloom.validate.certificates.completion_time.configurations import (
        DividedLines,
        DurationBox,
        Prices,
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


_MOST_CHOICES = 200_000
_MOST_COUNT = 7
_KEPT = 8
_WHOLE = 10_000_000
_NARROW = 128
_OVER = 1 - 1e-7
_SELDOM = 8
_MIXED = 1e-3
_WEIGHT = 10**9
_LEAVES = 200
"""Nodes of the integer program of a box, at most."""


@dataclass(frozen=True, eq=False)
class _Options:
    """What pairs may have in a box: a row for each least choice of a pair."""

    pair: IntArray
    units: IntArray

    def cost(self, paid: IntArray) -> int:
        """Return what the cheapest choices cost, with prices of pairs."""
        each = (self.units * paid[self.pair]).sum(axis=1)
        starts = np.flatnonzero(np.diff(self.pair, prepend=-1))
        return int(np.minimum.reduceat(each, starts).sum())

    def taken(self, share: FloatArray) -> IntArray:
        """Return the units of the choices that pairs take, one each."""
        chosen: IntArray = self.units[np.round(share).astype(np.bool_)]
        return chosen


def searchable(divided: DividedLines, count: int) -> bool:
    """Return whether all choices of units of all pairs can be looked at."""
    choices = len(divided.size_bytes) * (divided.units + 1) ** count
    return divided.cuttable and choices <= _MOST_CHOICES and count <= _MOST_COUNT


class BoxSearch:
    """Looks for divisions of a demand among so many configurations.

    `divided`: the demand and its lines.

    In a box of durations every pair has some choices of units that may be enough. A
    linear program mixes them so that lines have least to carry: where that is more
    than their units, its dual prices refute the box. Else an integer program takes one
    choice of every pair; what it takes gives durations. Boxes that are left over are
    halved by durations while they are wide, and by the units of a pair of which
    the program mixes different ones.
    """

    def __init__(self, divided: DividedLines, count: int) -> None:
        self._divided, self._count = divided, count
        self._keys = list(divided.lines)
        self._last: list[Prices] = []
        self.boxes = 0
        self._shape = (divided.units + 1,) * count
        self._grid = np.indices(self._shape).reshape(count, -1).T
        line, pair = [], []
        for number, key in enumerate(self._keys):
            pairs = divided.lines[key].pairs
            line.append(np.full(len(pairs), number))
            pair.append(pairs)
        self._line, self._pair = np.concatenate(line), np.concatenate(pair)
        self._room = np.array([divided.lines[key].room for key in self._keys])

    def run(
        self, total_ps: int, boxes: int, *, improve: bool
    ) -> WholeDivision | list[int] | None:
        """Return a division of no longer durations, or a walk that proves none.

        Returns a walk as of
        `lightloom.validate.certificates.completion_time.configurations`; ``None``
        where nothing is found.
        """
        walk: list[int] = []
        stack = [first_box(total_ps, self._count)]
        while stack:
            box = stack.pop().tightened(total_ps)
            if box is None:
                continue
            self.boxes += 1
            if self.boxes > boxes:
                return None
            found = self._look(box, total_ps, improve=improve)
            if found is None or isinstance(found, WholeDivision):
                return found
            words, parts = found
            walk += words
            stack += reversed(parts)
        return walk

    def _look(
        self, box: DurationBox, total_ps: int, *, improve: bool
    ) -> WholeDivision | tuple[list[int], tuple[DurationBox, ...]] | None:
        """Return a division, or words for a box, and its parts if it has any."""
        options = self._options(box, total_ps)
        prices = self._known(box, total_ps, options)
        mixed: FloatArray | None = None
        if prices is None and options is not None:
            prices, mixed = self._mixed(box, total_ps, options)
        if prices is not None:
            rows = [each for key, price in prices for each in (*key, *price)]
            return [len(prices), *rows], ()
        chosen = self._chosen(box, total_ps, options, mixed, improve=improve)
        words: list[int] = []
        parts: tuple[DurationBox, ...] = ()
        if chosen is not None:
            times, dual = self._durations(chosen)
            if improve and times.sum() < total_ps + 1:
                made = self._made(box, total_ps, chosen, times)
                if made.total_ps <= total_ps:
                    return made
            if _width(box) * _NARROW <= total_ps:
                words, parts = self._pinned(box, total_ps, chosen, dual)
        if not words:
            words, parts = self._divide(box, total_ps, options, mixed)
        return (words, parts) if words else None

    def _options(self, box: DurationBox, total_ps: int) -> _Options | None:
        """Return the least choices of pairs, ``None`` where one has none."""
        divided = self._divided
        above, corners = box.above(total_ps), box.corners(total_ps)
        grid = self._grid
        second, rate = BITS_PER_BYTE * PS_PER_S, divided.bits_per_s
        moved = np.zeros(len(grid), dtype=np.int64)
        for place, time_ps in enumerate(above):
            each = [n * time_ps * rate // second for n in range(divided.units + 1)]
            moved += np.array(each, dtype=np.int64)[grid[:, place]]
        worth = (grid @ np.array(corners, dtype=np.int64).T).max(axis=1)
        enough = (worth >= divided.need_ps[:, None]) & (
            moved >= divided.size_bytes[:, None]
        )
        for pair, ranges in box.units:
            low, high = np.array(ranges).T
            enough[pair] &= ((grid >= low) & (grid <= high)).all(axis=1)
        table = enough.reshape(-1, *self._shape)
        least = table.copy()
        for axis in range(1, self._count + 1):
            more = [slice(None)] * (self._count + 1)
            less = [slice(None)] * (self._count + 1)
            more[axis], less[axis] = slice(1, None), slice(None, -1)
            least[tuple(more)] &= ~table[tuple(less)]
        found = np.argwhere(least)
        if len(np.unique(found[:, 0])) < len(divided.size_bytes):
            return None
        return _Options(found[:, 0], found[:, 1:])

    def _known(
        self, box: DurationBox, total_ps: int, options: _Options | None
    ) -> Prices | None:
        """Return prices that refute a box, of those that did so last."""
        divided = self._divided
        if options is None:
            ones = tuple((key, (1,) * self._count) for key in self._keys)
            return ones if divided.refuted(box, total_ps, ones) else None
        for place, prices in enumerate(self._last):
            paid, most = divided.paid(prices, self._count)
            if options.cost(paid) > most and divided.refuted(box, total_ps, prices):
                self._last.insert(0, self._last.pop(place))
                return prices
        return None

    def _rows(self, options: _Options) -> tuple[csr_array, csr_array]:
        """Return units of lines by option, and which options a pair has."""
        from scipy.sparse import csr_array

        many, count = len(options.pair), self._count
        own = csr_array(
            (np.ones(many), (options.pair, np.arange(many))),
            shape=(len(self._divided.size_bytes), many),
        )
        on_line = csr_array(
            (np.ones(len(self._pair)), (self._line, self._pair)),
            shape=(len(self._keys), len(self._divided.size_bytes)),
        )
        crossed = (on_line @ own).tocoo()
        line, column = crossed.coords
        row = line[:, None] * count + np.arange(count)
        units = options.units[column].astype(np.float64)
        shape = (len(self._keys) * count, many)
        columns = np.repeat(column, count)
        loads = csr_array((units.reshape(-1), (row.reshape(-1), columns)), shape=shape)
        return loads, own

    def _mixed(
        self, box: DurationBox, total_ps: int, options: _Options
    ) -> tuple[Prices | None, FloatArray | None]:
        """Return prices that refute a box, or shares of options that lines carry."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, hstack

        loads, own = self._rows(options)
        room = np.repeat(self._room, self._count).astype(np.float64)
        pairs = own.shape[0]
        found = linprog(
            np.append(np.zeros(loads.shape[1]), 1.0),
            A_ub=hstack([loads, csr_array(-room[:, None])], format="csr"),
            b_ub=np.zeros(len(room)),
            A_eq=hstack([own, csr_array((pairs, 1))], format="csr"),
            b_eq=np.ones(pairs),
            method="highs",
        )
        if found.status != 0:
            return None, None
        if found.fun > _OVER:
            dual = -np.asarray(found.ineqlin.marginals).reshape(-1, self._count)
            whole = np.round(dual / dual.max() * _WHOLE).astype(np.int64)
            prices = tuple(
                (key, tuple(each))
                for key, each in zip(self._keys, whole.tolist(), strict=True)
                if any(each)
            )
            if self._divided.refuted(box, total_ps, prices):
                self._last = [prices, *self._last][:_KEPT]
                return prices, None
        return None, np.asarray(found.x[:-1])

    def _chosen(
        self,
        box: DurationBox,
        total_ps: int,
        options: _Options | None,
        mixed: FloatArray | None,
        *,
        improve: bool,
    ) -> IntArray | None:
        """Return units of an option of every pair that lines can carry, if found."""
        if options is None or mixed is None:
            return None
        if np.abs(mixed - np.round(mixed)).max() < _MIXED:
            return options.taken(mixed)
        narrow = _width(box) * _NARROW <= total_ps
        if improve and (narrow or self.boxes % _SELDOM == 1):
            return self._taken(box, total_ps, options)
        return None

    def _taken(
        self, box: DurationBox, total_ps: int, options: _Options
    ) -> IntArray | None:
        """Return units of an option of every pair, which lack least time."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        loads, own = self._rows(options)
        room = np.repeat(self._room, self._count)
        others = [(low + high) / 2 for low, high in box.sides]
        middle = np.array([total_ps - sum(others), *others])
        lacks = self._divided.need_ps[options.pair] - options.units @ middle
        found = milp(
            np.maximum(lacks, 0) / total_ps,
            integrality=np.ones(len(options.pair)),
            bounds=Bounds(0, 1),
            constraints=[
                LinearConstraint(loads, -np.inf, room),
                LinearConstraint(own, 1, 1),
            ],
            options={"node_limit": _LEAVES},
        )
        if found.x is None:
            return None
        return options.taken(found.x)

    def _durations(self, counts: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the least durations of units, and what pairs weigh in them."""
        from scipy.optimize import linprog

        need, count = self._divided.need_ps, self._count
        found = linprog(
            np.ones(count),
            A_ub=-counts.astype(np.float64),
            b_ub=-need / need.max(),
            method="highs",
        )
        return found.x * need.max(), -np.asarray(found.ineqlin.marginals)

    def _made(
        self, box: DurationBox, total_ps: int, counts: IntArray, times: FloatArray
    ) -> WholeDivision:
        """Return units with the shortest durations that are found for them."""
        starts = [np.ceil(times).astype(np.int64)]
        if not _width(box):
            starts.append(np.array(box.above(total_ps)))
        return min(
            (shortened(self._divided, counts, start) for start in starts),
            key=lambda each: each.total_ps,
        )

    def _divide(
        self,
        box: DurationBox,
        total_ps: int,
        options: _Options | None,
        mixed: FloatArray | None,
    ) -> tuple[list[int], tuple[DurationBox, ...]]:
        """Return words for a box and its two parts, none where it has none."""
        widest = _width(box)
        if options is not None and mixed is not None and widest * _NARROW <= total_ps:
            words, parts = self._split(box, options, mixed)
            if words:
                return words, parts
        if not widest:
            return [], ()
        axis = [high - low for low, high in box.sides].index(widest)
        return [-1, axis], box.halves(axis)

    def _pinned(
        self, box: DurationBox, total_ps: int, chosen: IntArray, dual: FloatArray
    ) -> tuple[list[int], tuple[DurationBox, ...]]:
        """Return weights of pairs whose units are not enough, or parts to that end."""
        need, units = self._divided.need_ps, self._divided.units
        heavy = np.flatnonzero(dual > _MIXED * dual.max()).tolist()
        weights = [(pair, round(_WEIGHT * dual[pair])) for pair in heavy]
        if sum(need[pair] * weight for pair, weight in weights) <= total_ps * _WEIGHT:
            return [], ()  # in durations beyond the box, or but for whole bytes
        for pair in heavy:
            now = box.units_of(pair, units)
            for place, (_, high) in enumerate(now):
                most = int(chosen[pair, place])
                if most < high:
                    words = [-2, pair, place, most]
                    return words, box.parts(pair, place, most, now)
        if not self._divided.outweighed(box, total_ps, weights):
            return [], ()
        return [-3, len(weights), *(each for row in weights for each in row)], ()

    def _split(
        self, box: DurationBox, options: _Options, mixed: FloatArray
    ) -> tuple[list[int], tuple[DurationBox, ...]]:
        """Return parts of a box by the units of a pair that has different ones."""
        share = np.zeros((len(self._divided.size_bytes), self._count))
        np.add.at(share, options.pair, mixed[:, None] * options.units)
        apart = np.zeros_like(share)
        away = np.abs(options.units - share[options.pair])
        np.add.at(apart, options.pair, mixed[:, None] * away)
        pair, place = divmod(int(apart.argmax()), self._count)
        most = int(np.floor(share[pair, place]))
        now = box.units_of(pair, self._divided.units)
        low, high = now[place]
        if apart[pair, place] <= _MIXED or not low <= most < high:
            return [], ()
        return [-2, pair, place, most], box.parts(pair, place, most, now)


def _width(box: DurationBox) -> int:
    """Return by how much a duration differs at most in a box."""
    return max((high - low for low, high in box.sides), default=0)
