"""What a pair may have in each configuration: units that just move its data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.synth.demand_configurations.lines import FloatArray

__all__ = ["MOST_EXACT", "options_of", "options_table"]

MOST_EXACT = 4
"""Most configurations of which all combinations are looked at."""

_SLACK = 1 + 1e-9
_CHUNK = 1024


def options_of(need: float, durations: FloatArray, units: int) -> IntArray:
    """Return units in each configuration that move the data of a pair, none to spare.

    Parameters
    ----------
    need
        How long one unit takes.
    durations
        Of the configurations.
    units
        Most units in a configuration.

    Returns
    -------
    Shape (options, configurations): all that there are, those of least waste first.
    Meant for at most `MOST_EXACT` configurations.
    """
    options = np.unique(_combinations(need, durations, units), axis=0)
    order = np.argsort(options @ durations, kind="stable")
    return options[order]


def options_table(
    need: FloatArray, durations: FloatArray, units: int, most: int
) -> tuple[IntArray, FloatArray]:
    """Return the options of least waste of many pairs.

    Parameters
    ----------
    need
        Of each pair, shape (pairs,).
    durations, units
        As of `options_of`.
    most
        Options of a pair.

    Returns
    -------
    Up to `MOST_EXACT` configurations of all options, else of those that give a pair
    equally many units of all configurations, and more in at most two of them.
    Units, shape (pairs, most, configurations), and how much more they move than
    needed, shape (pairs, most); infinite where a pair has fewer options.
    """
    count = len(durations)
    if count > MOST_EXACT:
        parts = [
            _few_units(need[first : first + _CHUNK], durations, units, most)
            for first in range(0, len(need), _CHUNK)
        ]
        tables, wastes = zip(*parts, strict=True)
        return np.concatenate(tables), np.concatenate(wastes)
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
    """Return what `options_table` does, for many configurations."""
    count = len(durations)
    base = np.floor(need / durations.sum() / _SLACK).astype(np.int64)
    base = np.minimum(base, units)
    rest = need - base * durations.sum()
    first, second = (each.reshape(-1) for each in np.indices((count, count)))
    # As many units of the first as there are to fill, or one less; then the second.
    whole = np.floor(rest[:, None] / durations[first] / _SLACK).astype(np.int64)
    whole = np.stack([whole, whole - 1], axis=2).reshape(len(need), -1)
    first, second = np.repeat(first, 2), np.repeat(second, 2)
    left = rest[:, None] - whole * durations[first]
    more = np.maximum(0, np.ceil(left / durations[second] / _SLACK)).astype(np.int64)
    same = first == second
    fits = (whole >= 0) & (base[:, None] + np.where(same, whole + more, more) <= units)
    fits &= base[:, None] + whole <= units
    fits &= ~same | (np.arange(len(first)) % 2 == 0)
    spare = np.where(fits, more * durations[second] - left, np.inf)
    # Options of few units come first where waste is small either way.
    price = spare + 0.05 * durations.mean() * (whole + more)
    order = np.argsort(price, axis=1, kind="stable")[:, :most]
    table = np.repeat(base[:, None, None], count, axis=2)
    table = np.repeat(table, order.shape[1], axis=1)
    row = np.arange(len(need))[:, None]
    place = np.arange(order.shape[1])[None]
    np.add.at(table, (row, place, first[order]), np.take_along_axis(whole, order, 1))
    np.add.at(table, (row, place, second[order]), np.take_along_axis(more, order, 1))
    return table, np.take_along_axis(spare, order, axis=1)
