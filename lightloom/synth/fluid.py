"""Fluid schedules from columns: a segment a plane, and one step for all bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import FluidTransfers, Schedule, Segment, StepPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Algorithm
    from lightloom.core.task import Demand
    from lightloom.instances.instance import AnyFabric

_MOST_BYTES = 2**60 - 1


def demand_columns(
    demand: Demand, node_count: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Return source, destination and bytes of the pairs of a demand.

    Raises
    ------
    InputError
        A row that is no pair of two nodes, repeats an earlier one, or whose bytes are
        no integer of 1 to 2**60 - 1, naming the row.
    """
    seen: set[tuple[int, int]] = set()
    nodes = f"two different nodes of 0 to {node_count - 1}, each pair once"
    bytes_allowed = "an integer of 1 to 2**60 - 1"
    rows = zip(demand.src, demand.dst, demand.bytes, strict=True)
    for row, (src, dst, size) in enumerate(rows):
        where = f"demand, row {row}"
        pair = (src, dst)
        integers = type(src) is int and type(dst) is int
        inside = integers and 0 <= src < node_count and 0 <= dst < node_count
        if not inside or src == dst or pair in seen:
            raise InputError("no pair", where=where, found=pair, allowed=nodes)
        if type(size) is not int or not 0 < size <= _MOST_BYTES:
            what = "no amount of traffic"
            raise InputError(what, where=where, found=size, allowed=bytes_allowed)
        seen.add(pair)
    columns = (demand.src, demand.dst, demand.bytes)
    ends, others, size_bytes = (np.array(each, dtype=np.int64) for each in columns)
    return ends, others, size_bytes


def fluid_schedule(
    fabric: AnyFabric,
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
        For the rows of each plane, the row of the demand they serve; together they
        name every row of it.

    Notes
    -----
    O(circuits + pairs * planes); without footer.
    """
    size_bytes = np.array(demand.bytes, dtype=np.int64)
    widths = [_widths(circuits) for circuits in planes]
    total = np.zeros(len(size_bytes), dtype=np.int64)
    for pair, width in zip(pairs, widths, strict=True):
        np.add.at(total, pair, width)
    assert total.all()
    dealt = np.zeros(len(size_bytes), dtype=np.int64)
    segments, parts = [], []
    for plane, circuits in enumerate(planes):
        if not len(circuits):
            continue
        segments.append(Segment(plane, 0, circuits))
        pair, width = pairs[plane], widths[plane]
        # A pair has a row a plane, or one a direction: same ends, one transfer.
        served, slot = np.unique(pair, return_inverse=True)
        here = np.bincount(slot, weights=width).astype(np.int64)
        before = _share(size_bytes[served], dealt[served], total[served])
        dealt[served] += here
        share = _share(size_bytes[served], dealt[served], total[served]) - before
        some = share > 0
        row = np.zeros(len(served), dtype=np.int64)
        row[slot] = np.arange(len(pair))
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
