"""The choice among options of many items that loads counters evenly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray

_SWEEPS = 4


def even_choice(
    options: Sequence[IntArray], counters: int
) -> tuple[IntArray, IntArray]:
    """Choose one of the options of every item so that counters are loaded evenly.

    Those with fewest options choose first; every choice is made again, a few times,
    where its counters have most room: by the sum of cubes of the loads.

    `options`: for each item the options it has, at least one: rows of counters that
    each raises by one, none twice, shape (options, counters of the item).

    Returns which option each item takes, and the loads of the counters.
    """
    chosen = np.zeros(len(options), dtype=np.int64)
    load = np.zeros(counters, dtype=np.int64)
    order = sorted(range(len(options)), key=lambda item: len(options[item]))
    for sweep in range(_SWEEPS):
        for item in order:
            rows = options[item]
            if sweep:
                if len(rows) == 1:
                    continue
                load[rows[chosen[item]]] -= 1
            so_far = load[rows]
            # The difference of the cubes is 3 x (x + 1) + 1. Equals take turns.
            cost = np.roll((so_far * (so_far + 1)).sum(axis=1), -chosen[item] - 1)
            taken = int(cost.argmin() + chosen[item] + 1) % len(rows)
            chosen[item] = taken
            load[rows[taken]] += 1
    return chosen, load
