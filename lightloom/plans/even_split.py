"""The division of items among the arcs that may take them, as evenly as can be."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from lightloom.core.columns import IntArray

_SWEEPS = 4
"""Times that all items choose: a later choice sees what all others have chosen."""


def even_split(fits: npt.NDArray[np.bool_], pieces: int) -> IntArray:
    """Return how many pieces of each item every arc takes, the largest load the least.

    Whole items choose one after another, which evens out smaller loads too. Where that
    is not enough: a maximum flow from items to arcs for each load that is tried; then
    cycles of split items are undone, so that fewer items than there are arcs remain
    split.

    `fits`: whether an arc may take an item, shape (items, arcs); each item has one.
    `pieces`: equal pieces of an item, 1 or more.

    Returns pieces, shape (items, arcs); each row sums to `pieces`. Deterministic.
    """
    items, arcs = fits.shape
    if not items:
        return np.zeros((0, arcs), dtype=np.int64)
    low = -(-items * pieces // arcs)
    if pieces == 1:
        options = [np.flatnonzero(able)[:, None] for able in fits]
        chosen, load = even_choice(options, arcs)
        if load.max() == low:
            taken = [rows[one, 0] for rows, one in zip(options, chosen, strict=True)]
            return np.eye(arcs, dtype=np.int64)[taken]
    high = items * pieces
    best = _flow(fits, pieces, low)
    if best is not None:
        return _few_splits(best)
    while high - low > 1:
        middle = (low + high) // 2
        found = _flow(fits, pieces, middle)
        if found is None:
            low = middle
        else:
            high, best = middle, found
    return _few_splits(_flow(fits, pieces, high) if best is None else best)


def _flow(fits: npt.NDArray[np.bool_], pieces: int, load: int) -> IntArray | None:
    """Return amounts with no more than `load` on an arc, ``None`` if there are none."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    items, arcs = fits.shape
    item, arc = np.nonzero(fits)
    sink = items + arcs + 1
    tail = np.concatenate(
        [np.zeros(items, dtype=np.int64), 1 + item, 1 + items + np.arange(arcs)]
    )
    head = np.concatenate(
        [1 + np.arange(items), 1 + items + arc, np.full(arcs, sink, dtype=np.int64)]
    )
    amount = np.concatenate(
        [np.full(items + len(item), pieces), np.full(arcs, load)]
    ).astype(np.int32)
    graph = csr_array((amount, (tail, head)), shape=(sink + 1, sink + 1))
    found = maximum_flow(graph, 0, sink)
    if found.flow_value < items * pieces:
        return None
    amounts: IntArray = found.flow[1 : 1 + items, 1 + items : sink].toarray()
    return np.maximum(amounts, 0).astype(np.int64)


def _few_splits(amounts: IntArray | None) -> IntArray:
    """Return amounts with the same loads whose split items form no cycle with arcs."""
    assert amounts is not None
    amounts = amounts.copy()
    items = len(amounts)
    # Kept entries form a forest; an entry that closes a cycle is shifted along it.
    neighbours: dict[int, dict[int, None]] = {}
    for item, arc in np.argwhere((amounts > 0) & _is_split(amounts)).tolist():
        while amounts[item, arc]:
            path = _path(neighbours, item, items + arc)
            if path is None:
                neighbours.setdefault(item, {})[items + arc] = None
                neighbours.setdefault(items + arc, {})[item] = None
                break
            _shift(amounts, neighbours, item, arc, path)
    return amounts


def _is_split(amounts: IntArray) -> npt.NDArray[np.bool_]:
    """Return, for each item, whether several arcs share it; shape (items, 1)."""
    split: npt.NDArray[np.bool_] = (amounts > 0).sum(axis=1, keepdims=True) > 1
    return split


def _path(
    neighbours: dict[int, dict[int, None]], start: int, end: int
) -> list[int] | None:
    """Return the nodes from `start` to `end` in a forest, if there is a way."""
    came_from = {start: start}
    waiting = [start]
    while waiting:
        here = waiting.pop()
        if here == end:
            path = [end]
            while path[-1] != start:
                path.append(came_from[path[-1]])
            return path[::-1]
        for other in neighbours.get(here, ()):
            if other not in came_from:
                came_from[other] = here
                waiting.append(other)
    return None


def _shift(
    amounts: IntArray,
    neighbours: dict[int, dict[int, None]],
    item: int,
    arc: int,
    path: list[int],
) -> None:
    """Move as much as can be along a cycle, so that one of its entries is empty.

    The cycle is the path from the item to the arc, closed by their own entry. Entries
    lose and gain in turn, beginning with that one, so loads stay as they are.
    """
    items = len(amounts)
    steps = [(min(pair), max(pair) - items) for pair in pairwise(path)]
    losing, gaining = [(item, arc), *steps[1::2]], steps[0::2]
    moved = min(int(amounts[entry]) for entry in losing)
    for entry in losing:
        amounts[entry] -= moved
    for entry in gaining:
        amounts[entry] += moved
    for one, other in losing[1:]:
        if not amounts[one, other]:
            del neighbours[one][items + other], neighbours[items + other][one]


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
