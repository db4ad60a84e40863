"""Schedules of what switches hold in turn, with the bytes that every slot moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.schedule import (
    Algorithm,
    FluidTransfers,
    Schedule,
    Segment,
    StepPart,
)
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.synth.demand_rounds import DECOMPOSITION

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.ocs import Ocs

_ROUNDING = 1e-9
"""By which share slots last longer, so that rounding does not lose a byte."""


@dataclass(frozen=True, eq=False)
class SwitchSlots:
    """What switches hold in turn, in units of the busiest line's data time.

    `pairs`: rows of the demand that each slot holds; no two share an end. `lasts`: how
    long each slot moves data. `total`: when the last switch ends. `kept`: which pairs
    of each slot are lit during the reconfiguration before it, as the slot before holds
    them too; slots then are in the order of their switches. ``None`` where none is
    counted on.
    """

    pairs: tuple[IntArray, ...]
    switch: IntArray
    lasts: FloatArray
    total: float
    kept: tuple[npt.NDArray[np.bool_], ...] | None = None


def slot_schedule(
    fabric: Ocs, demand: Demand, slots: SwitchSlots, unit_ps: float
) -> Schedule:
    """Return slots with the bytes that they move, to the byte.

    `unit_ps`: picoseconds of a unit of the slots.
    """
    size_bytes = np.array(demand.bytes, dtype=np.int64)
    src, dst = (np.array(end, dtype=np.int64) for end in (demand.src, demand.dst))
    lasts_ps = np.ceil(slots.lasts * (1 + _ROUNDING) * unit_ps)
    lasts_ps = np.minimum(lasts_ps, 2.0**62).astype(np.int64)
    order = np.lexsort((-lasts_ps, slots.switch)).tolist()
    more = [np.zeros(len(pairs), dtype=bool) for pairs in slots.pairs]
    if slots.kept is not None:
        order, more = list(range(len(slots.pairs))), list(slots.kept)
    most = [
        np.where(
            longer,
            _bytes_in(fabric, lasts + fabric.reconfiguration_ps),
            _bytes_in(fabric, lasts),
        )
        for lasts, longer in zip(lasts_ps.tolist(), more, strict=True)
    ]
    moved = _dealt(size_bytes, slots.pairs, np.concatenate(most))
    segments: list[Segment] = []
    parts: list[StepPart] = []
    index = np.zeros(fabric.switches, dtype=np.int64)
    for slot in order:
        # Circuits that move nothing are held only where later ones count on them.
        held = slots.pairs[slot]
        some = (moved[slot] > 0) | (slots.kept is not None)
        by_source = np.argsort(src[held], kind="stable")
        by_source = by_source[some[by_source]]
        if not moved[slot].any():
            continue
        pairs, moves = held[by_source], moved[slot][by_source]
        plane = int(slots.switch[slot])
        circuits = Circuits(src[pairs], dst[pairs])
        segments.append(Segment(plane, int(index[plane]), circuits))
        pairs, moves = pairs[moves > 0], moves[moves > 0]
        transfers = FluidTransfers(src[pairs], dst[pairs], moves)
        parts.append(StepPart(0, plane, int(index[plane]), transfers))
        index[plane] += 1
    algorithm = Algorithm(DECOMPOSITION)
    return Schedule(fabric.table(), demand, algorithm, tuple(segments), tuple(parts))


def _bytes_in(fabric: Ocs, lasts_ps: int) -> int:
    """Return the bytes that a circuit moves in a time, no more than anybody has."""
    rate = fabric.bits_per_second_per_circuit
    return min(lasts_ps * rate // (BITS_PER_BYTE * PS_PER_S), 2**60)


def _dealt(
    size_bytes: IntArray, held: Sequence[IntArray], most: IntArray
) -> list[IntArray]:
    """Return the bytes that each slot moves for each of its pairs, the longest first.

    `most` is what slots can move for their pairs, all in a row. What rounding leaves
    over goes to the longest slot of a pair.
    """
    lengths = [len(pairs) for pairs in held]
    slot = np.repeat(np.arange(len(held)), lengths)
    pair = np.concatenate(held)
    order = np.lexsort((slot, -most, pair))
    starts = np.searchsorted(pair[order], np.arange(len(size_bytes) + 1))
    rest = size_bytes.copy()
    moved = np.zeros(len(pair), dtype=np.int64)
    for turn in range(int(np.diff(starts).max())):
        here = np.flatnonzero((np.diff(starts) > turn) & (rest > 0))
        place = order[starts[here] + turn]
        moved[place] = np.minimum(rest[here], most[place])
        rest[here] -= moved[place]
    moved[order[starts[:-1]]] += rest
    ends = np.cumsum(lengths)
    return [moved[end - size : end] for end, size in zip(ends, lengths, strict=True)]
