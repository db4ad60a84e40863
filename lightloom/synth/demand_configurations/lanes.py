"""Demands in turns on any fabric whose circuits take the same lane all their way.

A *lane* is a wavelength, or a transceiver with its fibres: what a circuit takes one of,
the same on all that it uses. So whatever circuits use on lane 0, by the fabric's own
`usage`, are the lines that limit them together: each has every lane once. How many
lanes a pair has in each configuration comes from `divisions`; which they are is a
colouring of units such that no line has a colour twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.plans.edge_colouring import edge_colours
from lightloom.synth.demand_configurations.division import (
    Division,
    LitDivision,
    durations_of_counts,
)
from lightloom.synth.demand_configurations.lines import Lines, routed_lines
from lightloom.synth.demand_configurations.search import MOST_UNITS, divisions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.fabric import CircuitFabric
    from lightloom.synth.realisation import Realisation

_WORTH = 1.02
"""Shares that leave the fullest line no less full than this are not searched."""
_LEAST_SHARE = 0.02
"""Of a pair: less is left to its other ways, as it takes a lane like any part."""
_LIGHTLY = 1e-3
"""Of the price of the fullest line, what all lines together count."""
_MOST_SEARCHED = 4_096
"""Parts whose lanes a search colours: a thousand take half a minute in all."""
_STEPS = 300
"""Changes of a colouring: what has room takes fewer than a hundred, and what has none
is tried again at longer durations."""
_REST = 0.6
"""Turns that a unit keeps off a lane it has left, for each unit that still collides."""
_MOST_REST = 10
"""Turns of that drawn at random, so that the search does not go round in circles."""


@dataclass(frozen=True, eq=False)
class LaneWays:
    """The ways of pairs on a fabric, sorted by pair, and how they are lit.

    `src`, `dst`, `size_bytes`: of pairs, one or more, each with a way. `pair`, `lanes`:
    the pair of each way, and how many lanes there are on it, shape (ways,).
    `bits_per_s`: of a lane. `light`: circuits of some ways with lanes for each.
    `colours`: lanes of units from the way of each, and how many it may choose from,
    where the fabric knows better than a search on lines; ``None`` where there are none.
    """

    fabric: CircuitFabric
    src: IntArray
    dst: IntArray
    size_bytes: IntArray
    pair: IntArray
    lanes: IntArray
    bits_per_s: int
    light: Callable[[IntArray, Ragged], Circuits]
    colours: Callable[[IntArray, IntArray], IntArray | None] | None = None

    @cached_property
    def crossed(self) -> Ragged:
        """The lines of each way, numbered as the fabric's resources of lane 0."""
        every = np.arange(len(self.pair), dtype=np.int64)
        first = Ragged.from_lengths(np.ones_like(every), np.zeros_like(every))
        usage = self.fabric.usage(self.light(every, first))
        order = np.argsort(usage.circuit, kind="stable")
        lengths = np.bincount(usage.circuit, minlength=len(every))
        _, line = np.unique(usage.resource[order], return_inverse=True)
        return Ragged.from_lengths(lengths, line.astype(np.int64))

    @cached_property
    def room(self) -> IntArray:
        """Lanes of each line, shape (lines,)."""
        room = np.zeros(int(self.crossed.values.max()) + 1, dtype=np.int64)
        room[self.crossed.values] = self.lanes[self.crossed.row_of_value]
        return room


def in_turns(
    ways: LaneWays, fixed_ps: float, seed: int, limit_ps: float = math.inf
) -> Iterator[Realisation]:
    """Yield a demand in one step of a part for each configuration, ever faster.

    Every pair takes one of its ways, chosen such that lines are evenly loaded; where
    the fullest line then has well more than by a linear program of shares, the pairs
    that this divides also take several ways.

    Where lanes are many, a unit is a bundle of them.

    `fixed_ps`: what a configuration costs beside its data. `seed`: of random choices,
    0 or more. `limit_ps`: what the demand takes otherwise; longer parts are not sought.
    """
    need = ways.size_bytes.astype(np.float64) * (
        BITS_PER_BYTE * PS_PER_S / ways.bits_per_s
    )
    choices = [_one_way(ways, need)]
    if len(ways.pair) > len(need):
        choices.append(_shared_ways(ways, need))
    bundle = min(-(-int(ways.lanes.max()) // MOST_UNITS), int(ways.lanes.min()))
    best_ps, least_ps = limit_ps, math.inf
    for parts in choices:
        lines = _lines(ways, parts, bundle)
        if lines.least_total * _WORTH > least_ps:
            return
        searched = ways.colours is None and not lines.of_ends
        if searched and len(parts.way) > _MOST_SEARCHED:
            return
        least_ps = lines.least_total
        lit = _Lit(ways, parts, bundle, seed)
        for division in divisions(lines, fixed_ps, seed, best_ps, lit.lights):
            whole = lit.joined(division)
            lasts_ps = float(whole.division.durations.sum())
            lasts_ps += len(whole.division.durations) * fixed_ps
            if lasts_ps < best_ps:
                best_ps = lasts_ps
                rate = bundle * ways.bits_per_s
                yield whole.realised(rate, ways.src, ways.dst, ways.size_bytes)


@dataclass(frozen=True, eq=False)
class _Parts:
    """What goes which way: `way` and `need` of each part, shape (parts,).

    Sorted by way, so by pair; one part or more of each pair.
    """

    way: IntArray
    need: FloatArray


def _one_way(ways: LaneWays, need: FloatArray) -> _Parts:
    """Return the pairs whole, each one of its ways."""
    first = np.searchsorted(ways.pair, np.arange(len(need)))
    if len(ways.pair) == len(need):
        return _Parts(first, need)
    rows = [ways.crossed[way] for way in range(len(ways.pair))]
    ends = [*first[1:].tolist(), len(ways.pair)]
    options = [rows[a:b] for a, b in zip(first.tolist(), ends, strict=True)]
    none = np.zeros(0, dtype=np.int64)
    alone = Lines(need, none.reshape(len(need), 0), none, 0)
    _, chosen = routed_lines(alone, options, ways.room)
    return _Parts(first + np.array(chosen, dtype=np.int64), need)


def _shared_ways(ways: LaneWays, need: FloatArray) -> _Parts:
    """Return pairs in such shares that the fullest line is least full.

    At a corner of the linear program no more pairs are divided than lines are full.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    count, rooms = len(ways.pair), len(ways.room)
    whole = need[ways.pair]
    every, carried = np.arange(count), whole / need.max()
    lines = np.append(ways.crossed.values, np.arange(rooms))
    columns = np.append(ways.crossed.row_of_value, np.full(rooms, count))
    load = np.append(carried[ways.crossed.row_of_value], -ways.room.astype(np.float64))
    # Of equals those that cross least.
    price = _LIGHTLY * carried * ways.crossed.lengths / (len(need) * rooms)
    solved = linprog(
        np.append(price, 1.0),
        A_ub=coo_array((load, (lines, columns)), shape=(rooms, count + 1)).tocsr(),
        b_ub=np.zeros(rooms),
        A_eq=coo_array(
            (np.ones(count), (ways.pair, every)), shape=(len(need), count + 1)
        ).tocsr(),
        b_eq=np.ones(len(need)),
        method="highs-ds",
    )
    share = np.where(solved.x[:-1] < _LEAST_SHARE, 0.0, solved.x[:-1])
    share *= whole / np.bincount(ways.pair, share, len(need))[ways.pair]
    way = np.flatnonzero(share)
    return _Parts(way, share[way])


class _Lit:
    """Circuits of divisions of parts, found once for each configuration."""

    def __init__(self, ways: LaneWays, parts: _Parts, bundle: int, seed: int) -> None:
        self._ways, self._parts, self._seed = ways, parts, seed
        self._bundle = bundle
        self._known: dict[bytes, Circuits | None] = {}

    def lights(self, division: Division) -> bool:
        """Return whether all configurations find circuits."""
        return all(self._circuits(counts) is not None for counts in division.counts.T)

    def _circuits(self, counts: IntArray) -> Circuits | None:
        key = counts.tobytes()
        if key not in self._known:
            self._known[key] = _lit(
                self._ways, self._parts.way, counts, self._bundle, self._seed
            )
        return self._known[key]

    def joined(self, division: Division) -> LitDivision:
        """Return a lit division of parts as one of pairs, as short as these need."""
        ways = self._ways
        lit = [self._circuits(counts) for counts in division.counts.T]
        circuits = tuple(one for one in lit if one is not None)
        pairs = len(ways.size_bytes)
        if len(self._parts.way) == pairs:
            return LitDivision(division, circuits)
        counts = np.zeros((pairs, len(circuits)), dtype=np.int64)
        np.add.at(counts, ways.pair[self._parts.way], division.counts)
        rate = self._bundle * ways.bits_per_s
        need = ways.size_bytes.astype(np.float64) * (BITS_PER_BYTE * PS_PER_S / rate)
        whole = Division(durations_of_counts(need, counts), counts)
        return LitDivision(whole, circuits)


def _lines(ways: LaneWays, parts: _Parts, bundle: int) -> Lines:
    """Return the lines of parts, without those that others imply.

    A kind of line (a column, where each way has equally many) goes where all of it is
    implied; two that are left are ends, which are known to be colourable.
    """
    crossed, need = ways.crossed.take(parts.way), parts.need / bundle
    used, line = np.unique(crossed.values, return_inverse=True)
    room, pair = ways.room[used] // bundle, crossed.row_of_value
    kept = _binding(pair, line, room)
    width = int(crossed.lengths.max())
    if (crossed.lengths == width).all():
        columns = line.reshape(-1, width)
        binding = [column for column in columns.T if kept[column].any()]
        for column in columns.T:
            if len(binding) < min(2, width) and not kept[column].any():
                binding.append(column)
        if len(binding) == 2:
            return _end_lines(binding[0], binding[1], room, need)
    chosen = kept[line]
    names, line = np.unique(line[chosen], return_inverse=True)
    lengths = np.bincount(pair[chosen], minlength=len(need))
    place = np.arange(len(line)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    of_pair = np.full((len(need), int(lengths.max())), len(names))
    of_pair[pair[chosen], place] = line
    return Lines(need, of_pair, room[names], len(names))


def _end_lines(
    begin: IntArray, end: IntArray, room: IntArray, need: FloatArray
) -> Lines:
    """Return lines of two kinds, as many of each, those of the first kind first."""
    ends = [np.unique(line, return_inverse=True) for line in (begin, end)]
    half = max(len(names) for names, _ in ends)
    capacity = np.full(2 * half, int(room.max()))
    for side, (names, _) in enumerate(ends):
        capacity[side * half : side * half + len(names)] = room[names]
    of_pair = np.stack([side * half + place for side, (_, place) in enumerate(ends)], 1)
    return Lines(need, of_pair, capacity, 2 * half)


def _binding(pair: IntArray, line: IntArray, room: IntArray) -> np.ndarray:
    """Return which lines are not on pairs that another of no more room all has.

    `pair`, `line`: a row for each line of each pair. Of lines with the same pairs and
    room the first is kept.
    """
    from scipy.sparse import csr_array

    on = csr_array((np.ones(len(line), dtype=np.int64), (line, pair)))
    together = (on @ on.T).tocoo()
    size = np.asarray(on.sum(axis=1)).reshape(-1)
    one, other = together.row, together.col
    implied = (together.data == size[one]) & (room[other] <= room[one])
    same = (size[one] == size[other]) & (room[one] == room[other])
    implied &= (one != other) & (~same | (other < one))
    kept = np.ones(len(room), dtype=np.bool_)
    kept[one[implied]] = False
    return kept


def _lit(
    ways: LaneWays, taken: IntArray, counts: IntArray, bundle: int, seed: int
) -> Circuits | None:
    """Return circuits with so many bundles of lanes, ``None`` where none are found."""
    rows = np.flatnonzero(counts)
    unit = np.repeat(taken[rows], counts[rows])
    if not len(rows):
        return ways.light(rows, Ragged.from_lengths(rows, rows))
    lanes = ways.lanes[unit] // bundle
    if ways.colours is not None:
        colour = ways.colours(unit, lanes)
    else:
        colour = line_colours(ways.crossed.take(unit), lanes, seed)
    if colour is None:
        return None
    order = np.lexsort((colour, np.repeat(rows, counts[rows])))
    lit = (colour[order, None] * bundle + np.arange(bundle)).reshape(-1)
    return ways.light(taken[rows], Ragged.from_lengths(counts[rows] * bundle, lit))


def line_colours(crossed: Ragged, lanes: IntArray, seed: int) -> IntArray | None:
    """Return a lane for each unit such that no line has one twice, if one is found.

    Exact where lines are the two ends of units. Else every unit takes the lane with
    fewest others on its lines, those on the fullest lines first; then the lane of a
    unit that collides changes, the change that leaves fewest collisions, and not back
    for a while.

    `crossed`: lines of each unit. `lanes`: how many it may choose from, shape (units,);
    the same for all units of a line.
    """
    pair, line = crossed.row_of_value, crossed.values
    full = np.bincount(line)
    room = np.zeros_like(full)
    room[line] = lanes[pair]
    if (full > room).any():
        return None
    kept = _binding(pair, line, room)
    width = int(crossed.lengths.max())
    if (crossed.lengths == width).all():
        columns = line.reshape(-1, width).T
        binding = [column for column in columns if kept[column].any()]
        if len(binding) <= 2:
            begin = binding[0] if binding else columns[0]
            end = binding[1] if len(binding) > 1 else np.arange(len(lanes))
            colour = np.zeros(len(lanes), dtype=np.int64)
            for room_of_line in np.unique(lanes).tolist():
                mine = lanes == room_of_line
                colour[mine] = edge_colours(begin[mine], end[mine])
            return colour
    of_unit = np.full((len(lanes), width), len(full))
    place = np.arange(len(line)) - crossed.offsets[pair]
    of_unit[pair, place] = np.where(kept[line], line, len(full))
    return _Collisions(of_unit, lanes, full, seed).settled()


class _Collisions:
    """Units and their lanes, some of which lines still have twice."""

    def __init__(
        self, of_unit: IntArray, lanes: IntArray, full: IntArray, seed: int
    ) -> None:
        self._of_unit = of_unit
        self._shut = np.arange(int(lanes.max())) >= lanes[:, None]
        self._random = np.random.default_rng(seed)
        # One more line without limits stands for places that are left over.
        self._load = np.zeros((len(full) + 1, int(lanes.max())), dtype=np.int64)
        self._lane = np.zeros(len(lanes), dtype=np.int64)
        fullness = np.append(full, 0)[of_unit].sum(axis=1)
        for unit in np.argsort(-fullness, kind="stable").tolist():
            cost = self._load[of_unit[unit]].sum(axis=0) + self._shut[unit] * len(lanes)
            self._put(unit, int(cost.argmin()))

    def _put(self, unit: int, lane: int) -> None:
        lines = self._of_unit[unit]
        np.add.at(self._load[:, lane], lines, 1)
        self._load[-1] = 0
        self._lane[unit] = lane

    def settled(self) -> IntArray | None:
        """Return lanes without collisions, ``None`` where the search ends before."""
        rests = np.zeros(self._shut.shape, dtype=np.int64)
        fewest = math.inf
        for step in range(_STEPS):
            collide = int(np.maximum(self._load - 1, 0).sum())
            if not collide:
                return self._lane
            fewest = min(fewest, collide)
            there = self._load[self._of_unit, self._lane[:, None]]
            units = np.flatnonzero((there > 1).any(axis=1))
            cost = (self._load[self._of_unit[units]] > 0).sum(axis=1)
            cost = cost - (there[units] > 1).sum(axis=1)[:, None]
            resting = (rests[units] > step) & (cost + collide >= fewest)
            barred = self._shut[units] | resting
            barred[np.arange(len(units)), self._lane[units]] = True
            price = np.where(barred, np.inf, cost + self._random.random(cost.shape) / 2)
            row, lane = divmod(int(price.argmin()), price.shape[1])
            unit = int(units[row])
            drawn = int(self._random.integers(1, _MOST_REST))
            before = self._lane[unit]
            rests[unit, before] = step + int(_REST * len(units)) + drawn
            np.subtract.at(self._load[:, before], self._of_unit[unit], 1)
            self._put(unit, lane)
        return None
