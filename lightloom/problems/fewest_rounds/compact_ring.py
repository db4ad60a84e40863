"""Tiles of a grid in the order of a ring whose short pieces are compact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath

_KEPT = 0.9
"""How much of the curve the search for fewer hops begins with."""
_ITERATIONS = 100


def compact_ring(
    fabric: Lightpath, tiles: IntArray, *, ahead: int, behind: int
) -> IntArray:
    """Return tiles in an order in which few hops lead to those ahead and behind.

    They are on a space-filling curve through the upper half of the grid and one back
    through the lower half, and change places by a quadratic assignment, solved
    approximately [1]_. Where a half turn of the grid takes the tiles to each other, and
    none to itself, it moves each by half of the ring.

    Parameters
    ----------
    fabric
        The grid.
    tiles
        Which, two at least, all different.
    ahead, behind
        Hops to so many of the next, and to so many before, are counted for each tile.

    Returns
    -------
    Shape (tiles,). Deterministic.

    Notes
    -----
    On 16x16 tiles, 8 ahead and 7 behind are 2.50 hops away on average along Hilbert's
    curves and 2.31 in the order that is returned; no order has fewer than 1.93.

    References
    ----------
    .. [1] J. T. Vogelstein et al., "Fast approximate quadratic programming for graph
       matching", PLOS ONE, 2015.
    """
    last = fabric.node_count - 1
    curve = _there_and_back(fabric.rows, fabric.cols)
    curve = curve[np.isin(curve, tiles)]
    half = len(curve) // 2
    order = _shortened(fabric, curve, ahead, behind)
    if np.array_equal(curve[half:], last - curve[:half]):
        order = _turned_alike(order)
    return curve[order]


def _there_and_back(rows: int, cols: int) -> IntArray:
    """Return all tiles of a grid, through the upper half and back through the lower."""
    if rows % 2 and not cols % 2:
        order = _there_and_back(cols, rows)
        return np.asarray(order % rows * cols + order // rows)
    upper = -(-rows // 2)
    there, back = (
        np.array(list(_curve(0, cols, height * 1j)), dtype=np.complex128)
        for height in (upper, rows - upper)
    )
    row = np.concatenate([upper - 1 - there.imag, upper + back.imag])
    col = np.concatenate([there.real, cols - 1 - back.real])
    return np.asarray(np.rint(row * cols + col), dtype=np.int64)


def _curve(at: complex, along: complex, across: complex) -> Iterator[complex]:
    """Yield the places of a rectangle, from a corner to the other end of one side.

    Hilbert's curve for any sides: a long rectangle is halved; in another it goes up
    half of the first half, through the upper half and back down. All steps are between
    neighbours unless pieces are odd.

    `along`, `across`: sides, of so many places: the side at whose other end it stops,
    and the other.
    """
    long, deep = round(abs(along)), round(abs(across))
    if not long * deep:
        return
    right, up = along / long, across / deep
    if long == 1 or deep == 1:
        step = right if deep == 1 else up
        yield from (at + place * step for place in range(long * deep))
    elif 2 * long > 3 * deep:
        half = _even_half(long)
        yield from _curve(at, half * right, across)
        yield from _curve(at + half * right, (long - half) * right, across)
    else:
        half, low = long // 2, _even_half(deep)
        yield from _curve(at, low * up, half * right)
        yield from _curve(at + low * up, along, (deep - low) * up)
        end = at + along - right + (low - 1) * up
        yield from _curve(end, -low * up, (half - long) * right)


def _even_half(count: int) -> int:
    """Return half of a number, even if it may be."""
    return count // 2 + count // 2 % 2 * (count > 2)


def _shortened(fabric: Lightpath, curve: IntArray, ahead: int, behind: int) -> IntArray:
    """Return which place of a curve comes when, so that hops are few."""
    from scipy.optimize import quadratic_assignment

    count = len(curve)
    row, col = np.divmod(curve, fabric.cols)
    hops = np.abs(row[:, None] - row) + np.abs(col[:, None] - col)
    apart = np.abs(np.arange(count) - np.arange(count)[:, None])
    apart = np.minimum(apart, count - apart)
    counted = (apart <= ahead).astype(np.float64) + (apart <= behind)
    begin = np.full((count, count), (1 - _KEPT) / count) + _KEPT * np.eye(count)
    # Nothing is drawn, but a generator that is seeded elsewhere is warned of.
    rng = np.random.default_rng(0)
    options = {"P0": begin, "maxiter": _ITERATIONS, "rng": rng}
    found = quadratic_assignment(counted, hops, method="faq", options=options)
    return np.asarray(found.col_ind, dtype=np.int64)


def _turned_alike(order: IntArray) -> IntArray:
    """Return a near order in which places half a ring apart are so on the curve too."""
    from scipy.optimize import linear_sum_assignment

    half = len(order) // 2
    agree = np.zeros((half, half))
    np.add.at(agree, (np.arange(2 * half) % half, order % half), 1)
    chosen = linear_sum_assignment(agree, maximize=True)[1]
    kept = (order[:half] == chosen) | (order[half:] == chosen + half)
    first = np.where(kept, chosen, chosen + half)
    return np.concatenate([first, (first + half) % (2 * half)])
