"""What a pair may have in each configuration: units that just move its data."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray


MOST_EXACT = 4
"""Most configurations of which all combinations are looked at."""

_MOST_EXACT_UNITS = 32
_SLACK = 1 + 1e-9
_CHUNK = 512
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
