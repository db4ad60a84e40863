"""What a pair may have of many configurations, where longer ones do as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray

_SLACK = 1 + 1e-9
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
    whole = np.floor(need[:, None] / times * _SLACK).astype(np.int64)
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
    found = np.searchsorted(-times, -rest / _SLACK, side="right") - 1
    return np.where(rest <= times[0] * 1e-9, len(times), found)
