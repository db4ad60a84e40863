"""Durations of a few configurations that no line can be served with, box by box.

Let data move for t_1 >= ... >= t_m in m configurations, T in all at most; longer is no
harder, so let it be T. A box holds all such durations with lo_k <= t_k <= hi_k for
k = 2 .. m; all of them are at most u = (T - lo_2 - ... - lo_m, hi_2, ..., hi_m).

Take what a node sends, or receives: partner j needs n_j1 t_1 + ... + n_jm t_m >= b_j of
units, whole numbers of at most L each, and in each configuration all partners together
have at most L. With prices p_k >= 0 let f(b) be the least of p.n over whole n <= L with
n.u >= b. Then what the partners have costs sum_j p.n_j >= sum_j f(b_j), and it costs no
more than L (p_1 + ... + p_m). So where the sum of f(b_j) is larger, no durations of the
box serve that line. Boxes that leave no such durations cover all of them: data move
longer than T.

A cover is written as a walk over boxes, the first of which is 0 <= t_k <= T / k: of
each box either -1 and an axis, 0 for t_2, along which it is halved, the lower half
first; or a node, a direction and m prices. Boxes without durations in the right order
are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lightloom.core.columns import IntArray

MOST_NUMBER = 2**40
"""Longest time of a pair on one wavelength, in picoseconds, that boxes are cut for."""

_MOST_CONFIGURATIONS = 64

Box = tuple[tuple[int, int], ...]
"""The least and the largest of t_2, t_3, ..."""


def first_box(total_ps: int, count: int) -> Box:
    """Return the box of all durations.

    Parameters
    ----------
    total_ps
        What they add up to.
    count
        How many there are, 2 or more.
    """
    return tuple((0, -(-total_ps // k)) for k in range(2, count + 1))


def tightened(box: Box, total_ps: int) -> Box | None:
    """Return a box without what the order rules out; ``None`` if nothing is left.

    Parameters
    ----------
    box
        Any.
    total_ps
        What all durations add up to.
    """
    low, high = [a for a, _ in box], [b for _, b in box]
    for k in range(len(box) - 2, -1, -1):
        low[k] = max(low[k], low[k + 1])
    high[0] = min(high[0], -(-(total_ps - sum(low[1:])) // 2))
    for k in range(1, len(box)):
        high[k] = min(high[k], high[k - 1])
    if any(a > b for a, b in zip(low, high, strict=True)):
        return None
    return tuple(zip(low, high, strict=True))


def halves(box: Box, axis: int) -> Iterator[Box]:
    """Yield the lower and the upper half of a box, which share a side.

    Parameters
    ----------
    box
        Any.
    axis
        Along which it is cut.
    """
    low, high = box[axis]
    middle = (low + high) // 2
    for side in ((low, middle), (middle, high)):
        yield (*box[:axis], side, *box[axis + 1 :])


def corner(box: Box, total_ps: int) -> tuple[int, ...]:
    """Return durations that none of a box exceed.

    Parameters
    ----------
    box
        Any.
    total_ps
        What all durations add up to.
    """
    return (total_ps - sum(a for a, _ in box), *(b for _, b in box))


def least_cost(
    need_ps: IntArray, durations_ps: Sequence[int], prices: Sequence[int], units: int
) -> IntArray:
    """Return the least cost of units that serve each partner, -1 where none do.

    Parameters
    ----------
    need_ps
        What each partner takes on one wavelength, shape (partners,); positive.
    durations_ps
        Of the configurations.
    prices
        Of a unit of each, 0 or more.
    units
        Most units in one configuration.
    """
    most = int(need_ps.max())
    value, cost = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    number = np.arange(units + 1)
    for time_ps, price in zip(durations_ps, prices, strict=True):
        value = np.minimum((value[:, None] + number * time_ps).reshape(-1), most)
        cost = (cost[:, None] + number * price).reshape(-1)
        order = np.lexsort((cost, -value))
        cheapest = np.minimum.accumulate(cost[order])
        # Kept: whatever is cheaper than all of at least its value.
        kept = np.concatenate([[True], cheapest[1:] < cheapest[:-1]])
        value, cost = value[order][kept], cheapest[kept]
    # Values fall and costs fall with them: the last that is enough is the cheapest.
    place = np.searchsorted(-value, -need_ps, side="right") - 1
    return np.where(place >= 0, cost[place], -1)


def longer_than(
    total_ps: int,
    count: int,
    walk: Sequence[int],
    lines: Mapping[tuple[int, int], IntArray],
    units: int,
) -> str | None:
    """Return why a walk does not prove that data move longer, ``None`` if it does.

    Parameters
    ----------
    total_ps
        The time that data move in all configurations, at least.
    count
        How many configurations, 2 or more.
    walk
        As above.
    lines
        What the partners of each node and direction take on one wavelength, in
        picoseconds, rounded up.
    units
        Wavelengths of a node.
    """
    if not 0 <= total_ps < MOST_NUMBER or not 2 <= count <= _MOST_CONFIGURATIONS:
        return f"{total_ps} ps in {count} configurations is nothing to cover"
    stack = [first_box(total_ps, count)]
    rest = iter(walk)
    while stack:
        box = tightened(stack.pop(), total_ps)
        if box is None:
            continue
        head = next(rest, None)
        if head == -1:
            axis = next(rest, -1)
            if not 0 <= axis < count - 1 or box[axis][0] == box[axis][1]:
                return f"a box is not halved along {axis}"
            stack += reversed(list(halves(box, axis)))
            continue
        fault = _fault(head, rest, corner(box, total_ps), lines, units)
        if fault:
            return fault
    return None if next(rest, None) is None else "the walk goes on after the last box"


def _fault(
    node: int | None,
    rest: Iterator[int],
    durations_ps: tuple[int, ...],
    lines: Mapping[tuple[int, int], IntArray],
    units: int,
) -> str | None:
    """Return why the next line and prices do not refute durations, if they do not."""
    row = [next(rest, -1) for _ in range(len(durations_ps) + 1)]
    if node is None or min(row) < 0:
        return "the walk ends before the last box"
    direction, *prices = row
    need_ps = lines.get((node, direction))
    if need_ps is None:
        return f"node {node} has no partners in direction {direction}"
    largest = max(*durations_ps, *prices, int(need_ps.max()))
    if largest * units * len(prices) * len(need_ps) >= 2**62:
        return "times or prices are too large to add up"
    costs = least_cost(need_ps, durations_ps, prices, units)
    if costs.min() >= 0 and int(costs.sum()) <= units * sum(prices):
        return f"node {node} can be served within a box"
    return None
