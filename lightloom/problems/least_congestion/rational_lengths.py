"""Rational edge lengths near floating-point ones, simplest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.validate.certificates.congestion import MOST_UNITS, EdgeLengths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import FloatArray, IntArray

_NOTHING = 1e-7
"""Part of the largest length below which one is taken for 0."""
_MOST_MULTIPLES = 24
_NEAR = 1e-3
_BITS = (8, 14, 20, 30)


def rational_lengths(length: FloatArray, capacity: IntArray) -> Iterator[EdgeLengths]:
    """Yield rational lengths near the given ones, none twice.

    First those that are small multiples of one unit, if the given ones nearly are,
    as at vertices of the linear program; then finer and finer grids.
    """
    largest = float(length.max())
    whole = np.where(length < _NOTHING * largest, 0.0, length)
    unit = float(whole[whole > 0].min())
    scales = [
        multiple / unit
        for multiple in range(1, _MOST_MULTIPLES + 1)
        if largest / unit < 1 / _NEAR
    ]
    simple = [s for s in scales if np.abs(whole * s - np.rint(whole * s)).max() < _NEAR]
    grids = [2.0**bits / largest for bits in _BITS]
    total = float(whole @ capacity)
    tried: set[bytes] = set()
    for scale in [*simple[:1], *grids]:
        # Rounding adds at most one unit of length an edge.
        if total * scale + float(capacity.sum()) >= MOST_UNITS:
            return
        units = np.rint(whole * scale).astype(np.int64)
        if units.tobytes() not in tried:
            tried.add(units.tobytes())
            yield EdgeLengths(units, int(units @ capacity))
