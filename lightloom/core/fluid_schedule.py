"""Fluid schedules: every plane holds one segment, and one step serves a demand."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lightloom.core.columns import column
from lightloom.core.schedule import (
    Algorithm,
    FluidTransfers,
    Schedule,
    Segment,
    StepPart,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import Fabric
    from lightloom.core.task import Demand


Pair: TypeAlias = tuple[int, int]
"""Source and destination."""
IDLE = -1
"""Row of a demand that a circuit serves when it serves none."""


def sizes_by_pair(demand: Demand) -> dict[Pair, int]:
    """Return the bytes of each pair, in the order of the demand."""
    pairs = zip(demand.src, demand.dst, strict=True)
    return dict(zip(pairs, demand.bytes, strict=True))


def circuits_by_pair(circuits: Circuits) -> Counter[Pair]:
    """Return the circuits of each pair; a wavelength counts as one."""
    pairs = zip(circuits.src.tolist(), circuits.dst.tolist(), strict=True)
    widths = circuits.wavelengths
    found: Counter[Pair] = Counter()
    for row, pair in enumerate(pairs):
        found[pair] += 1 if widths is None else len(widths[row])
    return found


def exact_schedule(
    fabric: Fabric, demand: Demand, planes: Sequence[Circuits]
) -> Schedule:
    """Return the schedule that serves a demand on the circuits a model decided on.

    Parameters
    ----------
    fabric
        For the header.
    demand
        Every pair has a circuit.
    planes
        Circuits of each plane.
    """
    row_of = {pair: row for row, pair in enumerate(sizes_by_pair(demand))}
    pairs = [
        column(
            row_of.get(pair, IDLE)
            for pair in zip(circuits.src.tolist(), circuits.dst.tolist(), strict=True)
        )
        for circuits in planes
    ]
    return fluid_schedule(fabric, demand, Algorithm("exact"), planes, pairs)


def fluid_schedule(
    fabric: Fabric,
    demand: Demand,
    algorithm: Algorithm,
    planes: Sequence[Circuits],
    pairs: Sequence[IntArray],
) -> Schedule:
    """Return the schedule that serves a demand on circuits that stay.

    The bytes of a pair are dealt out over its circuits, to the byte: shares of two
    circuits differ by one byte at most.

    Parameters
    ----------
    fabric, demand, algorithm
        For the header.
    planes
        Circuits of each plane, one row or none a pair; a plane without any has no
        segment. A row has as many circuits as wavelengths, else one.
    pairs
        For the rows of each plane, the row of the demand they serve, or `IDLE`;
        together they name every row of it.

    Notes
    -----
    O(circuits + pairs * planes); without footer.
    """
    size_bytes = np.array(demand.bytes, dtype=np.int64)
    widths = [_widths(circuits) for circuits in planes]
    total = np.zeros(len(size_bytes), dtype=np.int64)
    for pair, width in zip(pairs, widths, strict=True):
        np.add.at(total, pair[pair != IDLE], width[pair != IDLE])
    assert total.all()
    dealt = np.zeros(len(size_bytes), dtype=np.int64)
    segments, parts = [], []
    for plane, circuits in enumerate(planes):
        if not len(circuits):
            continue
        segments.append(Segment(plane, 0, circuits))
        lit = np.flatnonzero(pairs[plane] != IDLE)
        pair, width = pairs[plane][lit], widths[plane][lit]
        # A pair has a row a plane, or one a direction: same ends, one transfer.
        served, slot = np.unique(pair, return_inverse=True)
        here = np.bincount(slot, weights=width).astype(np.int64)
        before = _share(size_bytes[served], dealt[served], total[served])
        dealt[served] += here
        share = _share(size_bytes[served], dealt[served], total[served]) - before
        some = share > 0
        row = np.zeros(len(served), dtype=np.int64)
        row[slot] = lit
        moved = FluidTransfers(
            circuits.src[row][some], circuits.dst[row][some], share[some]
        )
        if len(moved):
            parts.append(StepPart(0, plane, 0, moved))
    return Schedule(fabric.table(), demand, algorithm, tuple(segments), tuple(parts))


def _widths(circuits: Circuits) -> IntArray:
    """Return how many circuits each row stands for."""
    if circuits.wavelengths is None:
        return np.ones(len(circuits), dtype=np.int64)
    return circuits.wavelengths.lengths


def _share(size_bytes: IntArray, dealt: IntArray, total: IntArray) -> IntArray:
    """Return ``size_bytes * dealt // total``, whose product may not fit."""
    each, rest = np.divmod(size_bytes, total)
    share: IntArray = each * dealt + rest * dealt // total
    return share
