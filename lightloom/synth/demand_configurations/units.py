"""Units of pairs: options that just move their data, and which of them all may have.

Of up to `MOST_EXACT` configurations all options are looked at, and a weighted local
search chooses; of more, pairs are cut to lengths, which flows place one configuration
after the other, the shortest first.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.synth.demand_configurations.lines import Lines


MOST_EXACT = 4
"""Most configurations of which all combinations are looked at."""

_MOST_EXACT_UNITS = 32
_SLACK = 1 + 1e-9
"""What sums of rounded durations may lack."""
_CHUNK = 512
"""Pairs whose options are made at a time: a few tens of MiB."""
_MOST_TRIPLES = 9
_OF_FIRST = 12
_UNIT_WEIGHT = 0.1


def options_of(need: float, durations: FloatArray, units: int) -> IntArray:
    """Return units in each configuration that move the data of a pair, none to spare.

    Returns shape (options, configurations): all that there are, those of least waste
    first. Meant for at most `MOST_EXACT` configurations.
    """
    options = np.unique(_combinations(need, durations, units), axis=0)
    order = np.argsort(options @ durations, kind="stable")
    return options[order]


def options_table(
    need: FloatArray, durations: FloatArray, units: int, most: int
) -> tuple[IntArray, FloatArray]:
    """Return the options of least waste of many pairs.

    Returns up to `MOST_EXACT` configurations, two where units are more than 32, of all
    options, else of those that give a pair equally many units of all configurations,
    and more in few of them. Units, shape (pairs, most, configurations), and how much
    more they move than needed, shape (pairs, most); infinite where a pair has fewer
    options.
    """
    count = len(durations)
    if count > MOST_EXACT or (count > 2 and units > _MOST_EXACT_UNITS):
        parts = [
            _few_units(need[first : first + _CHUNK], durations, units, most)
            for first in range(0, len(need), _CHUNK)
        ]
        widest = max(part.shape[1] for _, part in parts)
        table = np.zeros((len(need), widest, count), dtype=np.int64)
        waste = np.full((len(need), widest), np.inf)
        for number, (options, spare) in enumerate(parts):
            rows = slice(number * _CHUNK, number * _CHUNK + len(spare))
            table[rows, : spare.shape[1]] = options
            waste[rows, : spare.shape[1]] = spare
        return table, waste
    table = np.zeros((len(need), most, count), dtype=np.int64)
    waste = np.full((len(need), most), np.inf)
    known: dict[float, tuple[IntArray, FloatArray]] = {}
    for pair, each in enumerate(need.tolist()):
        if each not in known:
            options = options_of(each, durations, units)
            spare = options @ durations - each
            single = np.flatnonzero(options.sum(axis=1) == options.sum(axis=1).min())
            order = np.unique(np.concatenate([np.arange(len(options))[:most], single]))
            if len(order) > most:
                fill = np.setdiff1d(np.arange(len(options)), single)
                order = np.concatenate([single, fill])[:most]
            known[each] = options[order], spare[order]
        options, spare = known[each]
        table[pair, : len(options)] = options
        waste[pair, : len(options)] = spare
    return table, waste


def _combinations(need: float, durations: FloatArray, units: int) -> IntArray:
    """Return all minimal units of some configurations, shape (options, these)."""
    *others, last = durations.tolist()
    ranges = [
        np.arange(min(units, int(np.ceil(need / each / _SLACK))) + 1) for each in others
    ]
    grid = np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1) if others else None
    if grid is None:
        count = int(np.ceil(need / last / _SLACK))
        return np.array(
            [[count]] if count <= units else np.zeros((0, 1)), dtype=np.int64
        )
    rest = need - grid @ np.array(others)
    rest = np.where(rest > need * 1e-12, rest, np.minimum(rest, 0))
    final = np.maximum(0, np.ceil(rest / last / _SLACK)).astype(np.int64)
    minimal = final <= units
    for axis in range(len(others)):
        # One unit less there must take more of the last.
        before = np.full(final.shape, np.iinfo(np.int64).max)
        inner = [slice(None)] * len(others)
        outer = [slice(None)] * len(others)
        inner[axis], outer[axis] = slice(None, -1), slice(1, None)
        before[tuple(outer)] = final[tuple(inner)]
        minimal &= before > final
        # With nothing left to do, less would do as well.
    spare = (final == 0) & (rest < 0)
    for axis, each in enumerate(others):
        minimal &= ~(spare & (grid[..., axis] > 0) & (rest + each <= need * 1e-9))
    kept = minimal
    return np.concatenate([grid[kept], final[kept][:, None]], axis=1)


def _few_units(
    need: FloatArray, durations: FloatArray, units: int, most: int
) -> tuple[IntArray, FloatArray]:
    """Return what `options_table` does, for many configurations.

    Equally many units of the first few, one more of some, and of one as many as are
    needed.
    """
    count = len(durations)
    none = np.zeros((len(need), count), dtype=np.int64)
    parts = [_filled(need, none, _subsets(count), durations, units, most)]
    some = np.concatenate([none[:1], np.eye(count, dtype=np.int64)])
    for longest in range(1, count + 1):
        first = np.arange(count) < longest
        whole = np.floor(need / durations[first].sum() / _SLACK).astype(np.int64)
        base = np.minimum(whole, units)[:, None] * first
        options, waste = _filled(need, base, some, durations, units, _OF_FIRST)
        waste[whole == 0] = np.inf
        parts.append((options, waste))
    tables, wastes = zip(*parts, strict=True)
    table, spare = np.concatenate(tables, axis=1), np.concatenate(wastes, axis=1)
    price = spare + _UNIT_WEIGHT * durations.mean() * table.sum(axis=2)
    used = int(np.isfinite(spare).sum(axis=1).max())
    order = np.argsort(price, axis=1, kind="stable")
    order = order[:, : min(max(1, used), most + most // 2)]
    row = np.arange(len(need))[:, None]
    return table[row, order], spare[row, order]


def _subsets(count: int) -> IntArray:
    """Return the configurations that give one more: any few of them, or the longest."""
    largest = 3 if count <= _MOST_TRIPLES else 1
    chosen = [
        each
        for size in range(largest + 1)
        for each in itertools.combinations(range(count), size)
    ]
    chosen += [tuple(range(size)) for size in range(largest + 1, count)]
    found = np.zeros((len(chosen), count), dtype=np.int64)
    for row, places in enumerate(chosen):
        found[row, list(places)] = 1
    return found


def _filled(
    need: FloatArray,
    base: IntArray,
    some: IntArray,
    durations: FloatArray,
    units: int,
    most: int,
) -> tuple[IntArray, FloatArray]:
    """Return the best options of so many units, one more of some, and more of one."""
    count = len(durations)
    left = (need - base @ durations)[:, None] - (some @ durations)[None]
    more = left[:, :, None] / np.maximum(durations, left.max() * 1e-9) / _SLACK
    more = np.minimum(np.ceil(more), units + 1).astype(np.int64)
    more = np.where((left > 0)[:, :, None], more, np.where(np.arange(count), -1, 0))
    spare = more * durations - left[:, :, None]
    # With a unit less of something there must be too little.
    shortest = np.where(some > 0, durations, np.inf).min(axis=1)
    lowest = np.where(base > 0, durations, np.inf).min(axis=1)
    least = np.minimum(shortest[None, :], lowest[:, None])[:, :, None]
    least = np.minimum(least, np.where(more > 0, durations, np.inf))
    taken = base[:, None] + some[None]
    fits = (more >= 0) & (taken + more <= units) & (spare < least)
    fits &= (taken.max(axis=2) <= units)[:, :, None]
    spare = np.where(fits, spare, np.inf).reshape(len(need), -1)
    number = (taken.sum(axis=2)[:, :, None] + more).reshape(len(need), -1)
    # Options of few units come first where waste is small either way.
    price = spare + _UNIT_WEIGHT * durations.mean() * number
    order = np.argsort(price, axis=1, kind="stable")[:, :most]
    subset, which = np.divmod(order, count)
    row, place = np.indices(order.shape)
    table = taken[row, subset]
    np.add.at(table, (row, place, which), more[row, subset, which])
    return table, np.take_along_axis(spare, order, axis=1)


_NESTED_SLACK = 1 + 1e-9
_SHORTEST = 1e-4


def nested_options(
    need: FloatArray, durations: FloatArray, units: int
) -> tuple[IntArray, FloatArray]:
    """Return units that move the data of pairs, each as short as will do.

    Of each length as many as a pair fills, and the shortest unit for what is left; or
    one less of them, and the shortest unit that is enough then; or the longest unit
    that what is left fills, and the shortest for the rest.

    `durations`: of the configurations, the longest first; those of next to nothing
    count as a ten-thousandth of the longest.

    Returns units by length, shape (pairs, options, configurations), and how much more
    they move than needed, shape (pairs, options): infinite where that is no option. A
    unit may be in its configuration or in a longer one, and not more are in the longest
    few than fit.
    """
    times = np.maximum(durations, durations[0] * _SHORTEST)
    count = len(times)
    each = np.broadcast_to(np.arange(count), (len(need), count))
    whole = np.floor(need[:, None] / times * _NESTED_SLACK).astype(np.int64)
    fewer = np.maximum(whole - 1, 0)
    rest = need[:, None] - whole * times
    filled = np.searchsorted(-times, -rest)  # the longest of no more than the rest
    there = np.minimum(filled, count - 1)
    one = np.ones_like(whole)
    families = [
        [(each, whole), (_shortest(times, rest), one)],
        [(each, fewer), (_shortest(times, need[:, None] - fewer * times), one)],
        [(each, whole), (there, one), (_shortest(times, rest - times[there]), one)],
    ]
    allowed = [whole >= 0, whole > 0, filled < count]
    options = np.zeros((len(need), 3 * count, count + 1), dtype=np.int64)
    good = np.concatenate(allowed, axis=1)
    row, column = np.indices((len(need), count))
    for place, family in enumerate(families):
        columns = column + place * count
        for kind, number in family:
            good[row, columns] &= kind >= 0
            np.add.at(options, (row, columns, kind), number)
    options = options[:, :, :count]  # the last column is of units that nobody needs
    most = units * np.arange(1, count + 1)
    good &= (np.cumsum(options, axis=2) <= most).all(axis=2)
    waste = np.where(good, options @ times - need[:, None], np.inf)
    return options, waste


def _shortest(times: FloatArray, rest: FloatArray) -> IntArray:
    """Return the shortest configuration that is enough for what is left.

    As many as there are where nothing is left, and -1 where none is enough.
    """
    found = np.searchsorted(-times, -rest / _NESTED_SLACK, side="right") - 1
    return np.where(rest <= times[0] * 1e-9, len(times), found)


_LONGER = 1.01
_EQUAL = 1 + 1e-12


@dataclass(frozen=True, eq=False)
class PairUnits:
    """What pairs are cut to.

    `pair`, `length`, `number`: so many units of a length for a pair; each of shape
    (kinds of units,). `overfull`: whether some line is known to be short of room for
    the longest of them.
    """

    pair: IntArray
    length: FloatArray
    number: IntArray
    overfull: bool = False


def cut_pairs(need: FloatArray, cut: float) -> PairUnits:
    """Return units of one length for every pair, and what is left of each."""
    whole = np.floor(need / cut * _EQUAL).astype(np.int64)
    rest = np.maximum(need - whole * cut, 0.0)
    pair = np.arange(len(need))
    length = np.concatenate([np.full(len(need), cut), rest])
    number = np.concatenate([whole, (rest > 0).astype(np.int64)])
    some = np.flatnonzero(number)
    return PairUnits(np.tile(pair, 2)[some], length[some], number[some])


def place_units(lines: Lines, units: PairUnits, count: int) -> IntArray | None:
    """Return how many units of each pair are in each configuration.

    The shortest configuration comes first: of every line it takes as many units as
    the others have no room for, and of all units the shortest, as far as a flow from
    sources to destinations finds enough. What it leaves are units for the others.

    Returns shape (pairs, configurations), the longest first; ``None`` where units do
    not fit. In a configuration lasting as long as the longest unit in it, all are
    moved.
    """
    placing = _Placing(lines, units)
    found = np.zeros((len(lines.need), count), dtype=np.int64)
    for others in range(count - 1, -1, -1):
        taken = placing.take(others)
        if taken is None:
            return None
        found[:, others] = taken
    return found


class _Placing:
    """Units that are left, and the lines that they are on."""

    def __init__(self, lines: Lines, units: PairUnits) -> None:
        order = np.argsort(units.length, kind="stable")
        self._pair, self._length = units.pair[order], units.length[order]
        self._left = units.number[order]
        self._ends = lines.of_pair[self._pair]
        self._room = lines.capacity
        self._pairs, self._of_pair = len(lines.need), lines.of_pair

    def take(self, others: int) -> IntArray | None:
        """Return units of each pair for a configuration beside so many longer ones."""
        due = np.maximum(self._loads(self._left) - self._room * others, 0)
        if (due > self._room).any():
            return None
        if not due.any():
            return np.zeros(self._pairs, dtype=np.int64)
        longest = self._least_length(due)
        while True:
            short = (self._length <= longest * _EQUAL) & (self._left > 0)
            taken = self._flow(short, due)
            if taken is not None:
                self._remove(short, taken)
                return taken
            if longest >= self._length[-1]:
                return None
            longest *= _LONGER

    def _loads(self, number: IntArray) -> IntArray:
        """Return the units of each line."""
        loads = np.zeros(len(self._room), dtype=np.int64)
        for end in self._ends.T:
            np.add.at(loads, end, number)
        return loads

    def _least_length(self, due: IntArray) -> float:
        """Return the length up to which every line has the units that are due."""
        longest = 0.0
        for end in self._ends.T:
            order = np.argsort(end, kind="stable")  # by line, then by length
            line = end[order]
            so_far = np.cumsum(self._left[order])
            first = np.searchsorted(line, np.flatnonzero(due))
            held = first < len(line)
            held[held] &= line[first[held]] == np.flatnonzero(due)[held]
            first, wanted = first[held], due[due > 0][held]
            before = so_far[first] - self._left[order][first]
            place = np.searchsorted(so_far, before + wanted)
            if len(place):
                longest = max(longest, float(self._length[order][place].max()))
        return longest

    def _flow(self, short: npt.NDArray[np.bool_], due: IntArray) -> IntArray | None:
        """Return short units of pairs, as many on each line as are due and fit."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_flow

        number = np.zeros(self._pairs, dtype=np.int64)
        np.add.at(number, self._pair[short], self._left[short])
        pair = np.flatnonzero(number)
        src, dst = self._of_pair[pair].T
        line, half = np.arange(len(due)), len(due) // 2
        sends, receives = line[:half], line[half:]
        source, sink, start, end = len(due) + np.arange(4)
        # What is due flows from `start` to `end`; more may go from sink to source.
        spare, total = self._room - due, [due[:half].sum(), due[half:].sum()]
        arcs = [
            (src, dst, number[pair]),
            (np.full(half, start), sends, due[:half]),
            (np.full(half, source), sends, spare[:half]),
            (receives, np.full(half, end), due[half:]),
            (receives, np.full(half, sink), spare[half:]),
            (
                np.array([source, start, sink]),
                np.array([end, sink, source]),
                np.array([*total, int(self._room.sum())]),
            ),
        ]
        tail, head, most = (np.concatenate(part) for part in zip(*arcs, strict=True))
        used = most > 0
        shape = (int(end) + 1, int(end) + 1)
        arcs_held = most[used].astype(np.int32), (tail[used], head[used])
        found = maximum_flow(csr_array(arcs_held, shape=shape), int(start), int(end))
        if found.flow_value < sum(total):
            return None
        taken = np.zeros(self._pairs, dtype=np.int64)
        taken[pair] = np.asarray(found.flow[src, dst]).reshape(-1)
        return taken

    def _remove(self, short: npt.NDArray[np.bool_], taken: IntArray) -> None:
        """Take so many short units of each pair away, the longest first."""
        rows = np.flatnonzero(short)[::-1]
        rows = rows[np.argsort(self._pair[rows], kind="stable")]
        pair, left = self._pair[rows], self._left[rows]
        so_far = np.cumsum(left)
        first = np.searchsorted(pair, pair)
        before = so_far - left - (so_far - left)[first]
        self._left[rows] -= np.clip(taken[pair] - before, 0, left)


_CUTS = 48
"""Lengths that are tried, each a tenth longer than the one before."""


@dataclass(frozen=True, eq=False)
class UnitShape:
    """Durations for units of one length and what is left of each pair.

    `durations`: of each configuration, the longest first, shape (configurations,).
    """

    durations: FloatArray
    cut: float


def unit_shapes(lines: Lines) -> dict[int, UnitShape]:
    """Return durations at which each line can be served, by their number.

    Every pair is cut to units of one length and a rest. Sorted, the longest are those
    of the first configuration, as many as a line has in it, and so on; a configuration
    lasts as long as the longest unit of it on any line.

    Returns for each number of configurations that some length needs, the shape of least
    sum.
    """
    best: dict[int, UnitShape] = {}
    least, most = lines.least_total * 1e-3, float(lines.need.max())
    for cut in np.geomspace(max(least, most / 64), most, _CUTS).tolist():
        durations = _durations(lines, cut)
        count = len(durations)
        if count not in best or durations.sum() < best[count].durations.sum():
            best[count] = UnitShape(durations, cut)
    return best


def _durations(lines: Lines, cut: float) -> FloatArray:
    """Return the durations for units of one length."""
    whole = np.floor(lines.need / cut * (1 + 1e-12)).astype(np.int64)
    rest = np.maximum(lines.need - whole * cut, 0.0)
    found = np.zeros(0)
    for line, pairs in enumerate(lines.members):
        room, full = int(lines.capacity[line]), int(whole[pairs].sum())
        rests = np.sort(rest[pairs])[::-1]
        units = np.concatenate([np.full(full, cut), rests[rests > 0]])[::room]
        longer, shorter = sorted((found, units), key=len, reverse=True)
        found = longer.copy()
        found[: len(shorter)] = np.maximum(found[: len(shorter)], shorter)
    return found


_MOST_OPTIONS = 40
"""Options of a pair that a search looks at each time."""
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
