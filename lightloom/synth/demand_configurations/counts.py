"""Counts of units for all pairs at given durations, by a weighted local search."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lightloom.synth.demand_configurations.options import (
    MOST_EXACT,
    nested_options,
    options_table,
)
from lightloom.synth.demand_configurations.unit_flows import PairUnits, place_units

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.synth.demand_configurations.lines import Lines

_MOST_OPTIONS = 40
_PATIENCE = 400
_TURNS = 100
_MOST_REST = 20


def fill_counts(
    lines: Lines,
    durations: FloatArray,
    seed: int,
    steps: int,
    *,
    largest_first: bool = False,
) -> tuple[IntArray | None, int]:
    """Return units of each pair in each configuration that fit every line.

    To begin with units of lines have prices, which rise where they are overfull while
    every pair takes the cheapest of its options, and of what it took it keeps one at
    random; or the largest pairs choose first, each where lines are emptiest. Then a
    line with too many units gives the option of one of its pairs up for the one
    that costs least, and what stays overfull weighs more and more. Of many
    configurations, pairs choose lengths of units, of which the longest one, two,
    three ... configurations have room for so many; flows place them.

    `seed`: of random choices, 0 or more.

    Returns counts of shape (pairs, configurations), ``None`` where none are found, and
    how many changes were tried.
    """
    units = lines.most_units
    if lines.of_ends and len(durations) > MOST_EXACT:
        taken, used = nested_units(
            lines, durations, seed, steps, largest_first=largest_first
        )
        if taken is None or taken.overfull:
            return None, used
        return place_units(lines, taken, len(durations)), used
    options, waste = options_table(lines.need, durations, units, _MOST_OPTIONS)
    if not np.isfinite(waste).any(axis=1).all():
        return None, 0
    filling = _Filling(lines, options, waste / durations.mean(), seed, nested=False)
    used = filling.filled(steps, largest_first=largest_first)
    if filling.overfull():
        return None, used
    return options[np.arange(len(lines.need)), filling.choice], used


def nested_units(
    lines: Lines,
    durations: FloatArray,
    seed: int,
    steps: int,
    *,
    largest_first: bool = False,
) -> tuple[PairUnits | None, int]:
    """Return what pairs are cut to: lengths that long configurations have room for.

    Returns units, ``None`` where a pair has no option; some line may be short of room
    for them. And how many changes were tried.
    """
    units = lines.most_units
    options, waste = nested_options(lines.need, durations, units)
    if not np.isfinite(waste).any(axis=1).all():
        return None, 0
    so_far = np.cumsum(options, axis=2)
    filling = _Filling(lines, so_far, waste / durations.mean(), seed, nested=True)
    used = filling.filled(steps, largest_first=largest_first)
    counts = options[np.arange(len(lines.need)), filling.choice]
    pair, which = np.nonzero(counts)
    overfull = filling.overfull()
    return PairUnits(pair, durations[which], counts[pair, which], overfull), used


@dataclass(eq=False)
class _Filling:
    """Chosen options, and how full lines are with them."""

    lines: Lines
    options: IntArray
    waste: FloatArray
    seed: int
    nested: bool
    choice: IntArray = field(init=False)
    load: IntArray = field(init=False)
    weight: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        count = self.options.shape[2]
        # One more line without limits stands for places that are left over.
        room = np.append(self.lines.capacity, np.iinfo(np.int64).max // (4 * count))
        so_many = np.arange(1, count + 1) if self.nested else np.ones(count, np.int64)
        self._room = room[:, None] * so_many
        self.load = np.zeros((len(room), count), dtype=np.int64)
        self.weight = np.ones((len(room), count))
        self.choice = np.zeros(len(self.options), dtype=np.int64)
        self._rests = np.zeros(len(self.options), dtype=np.int64)
        self._random = np.random.default_rng(self.seed)

    def filled(self, steps: int, *, largest_first: bool) -> int:
        """Choose for all, and change options; return the changes tried."""
        if largest_first:
            self.start_by_need()
        else:
            self.start_by_price()
        return self.improve(steps)

    def start_by_need(self) -> None:
        """Choose an option for every pair, those of most need first."""
        full = 1.0 / self._room
        for pair in np.argsort(-self.lines.need, kind="stable").tolist():
            mine = self.lines.of_pair[pair]
            after = (self.load[mine] + self.options[pair][:, None]) * full[mine]
            over = np.maximum(after - 1, 0)
            price = (after**4 + 100 * over).sum(axis=(1, 2)) + 0.05 * self.waste[pair]
            self.choice[pair] = best = int(price.argmin())
            self._add(pair, self.options[pair, best])

    def start_by_price(self) -> None:
        """Choose an option for every pair, by prices of the units of lines."""
        flat = self.options.astype(np.float32)
        dear = (1e-3 * self.waste).astype(np.float32)
        room, rise = self._room[:-1], 1.5 if self.nested else 0.7
        price = np.ones(self.load.shape, dtype=np.float32)
        price[-1] = 0
        pair = np.arange(len(flat))
        taken = np.zeros((_TURNS, len(flat)), dtype=np.int16)
        for turn in range(_TURNS):
            mine = price[self.lines.of_pair].sum(axis=1)
            cost = np.matmul(flat, mine[:, :, None])[:, :, 0] + dear
            taken[turn] = cost.argmin(axis=1)
            load = self._loads(self.options[pair, taken[turn]])[:-1]
            price[:-1] *= np.exp((load / room - 1) * rise / (2 + turn) ** 0.5)
            price[:-1] /= price[:-1].mean()
        kept = self._random.integers(_TURNS // 2, _TURNS, len(flat))
        self.choice = taken[kept, pair].astype(np.int64)
        self.load = self._loads(self.options[pair, self.choice])

    def _loads(self, units: IntArray) -> IntArray:
        """Return how full every line is with so many units of each pair."""
        load = np.zeros(self.load.shape, dtype=np.int64)
        for line in self.lines.of_pair.T:
            np.add.at(load, line, units)
        return load

    def overfull(self) -> bool:
        """Return whether some line has too many units."""
        return bool((self.load > self._room).any())

    def improve(self, steps: int) -> int:
        """Change options until no line is overfull; return the changes tried."""
        best, since = np.inf, 0
        for step in range(steps):
            places = np.argwhere(self.load > self._room)
            if not len(places):
                return step
            excess = float(np.maximum(self.load - self._room, 0)[:-1].sum())
            best, since = (excess, 0) if excess < best else (best, since + 1)
            if since > _PATIENCE:
                return step
            line, which = places[self._random.integers(len(places))].tolist()
            self._change(line, which, step)
        return steps

    def _change(self, line: int, which: int, step: int) -> None:
        """Take the best other option for a pair that has units in a full place."""
        pairs = self.lines.members[line]
        now = self.options[pairs, self.choice[pairs]]
        has = now[:, which] > 0
        fresh = self._rests[pairs] <= step
        if (has & fresh).any():
            has &= fresh
        pairs, now = pairs[has], now[has]
        change = self.options[pairs] - now[:, None]
        mine = self.lines.of_pair[pairs]
        load, weight = self.load[mine][:, None], self.weight[mine][:, None]
        over = load - self._room[mine][:, None]
        moved = np.maximum(over + change[:, :, None], 0) - np.maximum(over, 0)
        cost = (moved * weight).sum(axis=(2, 3))
        cost += 1e-3 * self.waste[pairs]
        cost[np.arange(len(pairs)), self.choice[pairs]] = np.inf
        cost += 1e-2 * self._random.random(cost.shape)
        row, option = divmod(int(cost.argmin()), cost.shape[1])
        if cost[row, option] >= 0.02:
            self.weight[(self.load > self._room)] += 0.3
        pair = int(pairs[row])
        self._add(pair, change[row, option])
        self.choice[pair] = option
        self._rests[pair] = step + 1 + self._random.integers(1, 1 + _MOST_REST)

    def _add(self, pair: int, units: IntArray) -> None:
        self.load[self.lines.of_pair[pair]] += units
