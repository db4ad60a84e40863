"""Demands served by configurations of optical switches that take turns.

Configurations that together last long enough for every pair are found (see
`permutation_peeling` and `magnitude_split`), then laid on the switches and cut where
that ends sooner (see `switch_packing`); a linear program sets the durations of what is
then on the switches. Each slot of a switch costs a reconfiguration and one alpha.
"""

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
from lightloom.synth.demand_columns import demand_columns
from lightloom.synth.demand_rounds import DECOMPOSITION
from lightloom.synth.ocs.kept_circuits import kept_pairs, order_to_keep
from lightloom.synth.ocs.matrix_permutations import decompositions
from lightloom.synth.ocs.pair_matchings import matchings_by_size
from lightloom.synth.ocs.slot_program import best_durations
from lightloom.synth.ocs.switch_packing import levelled, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.ocs import Ocs
    from lightloom.solvers.standard_form import FloatArray
    from lightloom.synth.ocs.permutation_peeling import Permutations

__all__ = ["SwitchSlots", "decomposition_schedules"]

_PROGRAM_ENTRIES = 2**15
"""Most entries of a linear program."""
_ADDED = 24
"""Most permutations that are added one by one."""
_KEPT = 3
"""Decompositions that are laid on the switches."""
_UNUSED = 1e-9


@dataclass(frozen=True, eq=False)
class SwitchSlots:
    """What switches hold in turn, in units of the busiest line's data time.

    Attributes
    ----------
    pairs
        Rows of the demand that each slot holds; no two share an end.
    switch
        Of each slot.
    lasts
        How long each slot moves data.
    total
        When the last switch ends.
    kept
        Which pairs of each slot are lit during the reconfiguration before it, as the
        slot before holds them too; slots then are in the order of their switches.
        ``None`` where none is counted on.
    """

    pairs: tuple[IntArray, ...]
    switch: IntArray
    lasts: FloatArray
    total: float
    kept: tuple[npt.NDArray[np.bool_], ...] | None = None


@dataclass(frozen=True, eq=False)
class _Need:
    """A demand in units of its busiest line's data time, on nodes renumbered from 0."""

    src: IntArray
    dst: IntArray
    size: FloatArray
    lines: int
    cost: float
    room: FloatArray

    def fixed(self, switch: IntArray) -> FloatArray:
        """Return what the slots of each switch cost beside their durations."""
        count = np.bincount(switch, minlength=len(self.room))
        cost: FloatArray = count * self.cost - self.room * (count > 0)
        return cost


def decomposition_schedules(fabric: Ocs, demand: Demand) -> Iterator[Schedule]:
    """Yield schedules of a demand in configurations that take turns.

    Parameters
    ----------
    fabric
        The switches. Where circuits lead both ways, what they hold are matchings.
    demand
        Bytes of each pair.

    Returns
    -------
    One step, in which every switch walks through its own configurations; without
    footer. Where circuits that stay remain lit, a second schedule counts on them.
    Deterministic.
    """
    src, dst, size_bytes = demand_columns(demand, fabric.nodes)
    if not len(src):
        yield Schedule(fabric.table(), demand, Algorithm(DECOMPOSITION), (), ())
        return
    unit_ps, need = _scaled(fabric, src, dst, size_bytes)
    if fabric.bidirectional:
        packed = _packed(need, *matchings_by_size(src, dst, need.size))
        slots = min(packed, key=lambda some: some.total)
    else:
        slots = _best_slots(need)
    yield _filled_schedule(fabric, demand, slots, unit_ps)
    if fabric.dark_while_reconfiguring == "changed-circuits":
        kept = _with_kept(need, slots, fabric.reconfiguration_ps / unit_ps)
        if kept is not None:
            yield _filled_schedule(fabric, demand, kept, unit_ps)


def _with_kept(need: _Need, slots: SwitchSlots, gain: float) -> SwitchSlots | None:
    """Return slots whose durations count on circuits that stay, if any do.

    A pair that the slot before holds too is lit for a reconfiguration longer.
    """
    order = order_to_keep(slots.pairs, slots.switch, slots.lasts)
    pairs, switch = [slots.pairs[slot] for slot in order], slots.switch[order]
    kept = kept_pairs(pairs, switch)
    times = np.bincount(
        np.concatenate(pairs), weights=np.concatenate(kept), minlength=len(need.src)
    )
    if not times.any() or _entries(pairs) > _PROGRAM_ENTRIES:
        return None
    size = np.maximum(need.size - gain * times, 0.0)
    best = best_durations(size, pairs, switch, need.fixed(switch))
    assert best is not None
    return SwitchSlots(tuple(pairs), switch, best.slot, best.total, tuple(kept))


def _scaled(
    fabric: Ocs, src: IntArray, dst: IntArray, size_bytes: IntArray
) -> tuple[float, _Need]:
    """Return the data time of the busiest line in picoseconds, and the demand in it."""
    rate = fabric.bits_per_second_per_circuit
    size_ps = size_bytes * (BITS_PER_BYTE * PS_PER_S / rate)
    row, column = (
        np.unique(end, return_inverse=True)[1].astype(np.int64) for end in (src, dst)
    )
    lines = 1 + max(int(row.max()), int(column.max()))
    unit_ps = max(
        float(np.bincount(number, weights=size_ps).max()) for number in (row, column)
    )
    delay = fabric.reconfiguration_ps / unit_ps
    free = 0.0 if fabric.initial_configuration_charged else delay
    need = _Need(
        row,
        column,
        (size_ps / unit_ps).astype(np.float64),
        lines,
        delay + fabric.alpha_ps / unit_ps,
        np.full(fabric.switches, free),
    )
    return unit_ps, need


def _best_slots(need: _Need) -> SwitchSlots:
    """Return the slots that end soonest, of several decompositions and packings."""
    found = [
        _with_more(need, *_held(need, permutations))
        for permutations in decompositions(need.src, need.dst, need.size, need.lines)
    ]
    found.sort(key=lambda one: float(one[1].sum()) + need.cost * len(one[1]))
    packed = [
        slots for held, weight in found[:_KEPT] for slots in _packed(need, held, weight)
    ]
    return min(packed, key=lambda slots: slots.total)


def _held(need: _Need, permutations: Permutations) -> tuple[list[IntArray], FloatArray]:
    """Return the pairs that each permutation holds, and how long it lasts."""
    key = need.src * need.lines + need.dst
    order = np.argsort(key, kind="stable")
    rows = np.arange(need.lines)
    held = []
    for column in permutations.column:
        wanted = rows * need.lines + column
        place = np.minimum(np.searchsorted(key[order], wanted), len(key) - 1)
        found = order[place]
        held.append(found[key[found] == wanted])
    return held, permutations.weight


def _with_more(
    need: _Need, held: list[IntArray], weight: FloatArray
) -> tuple[list[IntArray], FloatArray]:
    """Return configurations with more that save more than they cost, best first.

    The prices of a linear program name the permutation that shortens the whole most.
    """
    from scipy.optimize import linear_sum_assignment

    if _entries(held) > _PROGRAM_ENTRIES:
        return held, weight
    nothing = np.zeros(1)
    switch = np.zeros(len(held), dtype=np.int64)
    best = best_durations(need.size, held, switch, nothing)
    assert best is not None
    for _ in range(_ADDED):
        price = np.zeros((need.lines, need.lines))
        price[need.src, need.dst] = best.price
        rows, columns = linear_sum_assignment(price, maximize=True)
        if price[rows, columns].sum() <= 1 + _UNUSED:
            break
        pairs = np.full((need.lines, need.lines), -1)
        pairs[need.src, need.dst] = np.arange(len(need.src))
        new = pairs[rows, columns]
        more = [*held, new[new >= 0]]
        switch = np.zeros(len(more), dtype=np.int64)
        longer = best_durations(need.size, more, switch, nothing)
        if longer is None or best.total - longer.total <= need.cost:
            break
        held, best = more, longer
    used = _needed(held, best.slot, len(need.src))
    return [held[one] for one in used.tolist()], best.slot[used]


def _needed(held: Sequence[IntArray], lasts: FloatArray, pairs: int) -> IntArray:
    """Return the configurations without those of no duration that others replace."""
    times = np.bincount(np.concatenate(held), minlength=pairs)
    used = np.ones(len(held), dtype=bool)
    for one in np.flatnonzero(lasts <= _UNUSED).tolist():
        if (times[held[one]] > 1).all():
            used[one] = False
            times[held[one]] -= 1
    return np.flatnonzero(used)


def _packed(
    need: _Need, held: Sequence[IntArray], weight: FloatArray
) -> Iterator[SwitchSlots]:
    """Yield configurations on the switches: none cut, and cut where that saves."""
    whole = levelled(weight, need.room, need.cost)
    yield _timed(need, held, np.arange(len(held)), whole, weight)
    yield _timed(need, held, *wrapped(weight, need.room, need.cost))


def _timed(
    need: _Need,
    held: Sequence[IntArray],
    which: IntArray,
    switch: IntArray,
    lasts: FloatArray,
) -> SwitchSlots:
    """Return slots with the durations that end soonest, where they are not too many."""
    pairs = [held[one] for one in which.tolist()]

    if _entries(pairs) > _PROGRAM_ENTRIES:
        busy = np.bincount(
            switch, weights=lasts, minlength=len(need.room)
        ) + need.fixed(switch)
        return SwitchSlots(tuple(pairs), switch, lasts, float(busy.max()))
    while True:
        best = best_durations(need.size, pairs, switch, need.fixed(switch))
        assert best is not None
        used = _needed(pairs, best.slot, len(need.src))
        if len(used) == len(pairs):
            return SwitchSlots(tuple(pairs), switch, best.slot, best.total)
        pairs, switch = [pairs[one] for one in used.tolist()], switch[used]


def _entries(held: Sequence[IntArray]) -> int:
    return sum(len(pairs) for pairs in held)


def _filled_schedule(
    fabric: Ocs, demand: Demand, slots: SwitchSlots, unit_ps: float
) -> Schedule:
    """Return slots with the bytes that they move, to the byte."""
    size_bytes = np.array(demand.bytes, dtype=np.int64)
    src, dst = (np.array(end, dtype=np.int64) for end in (demand.src, demand.dst))
    lasts_ps = np.ceil(slots.lasts * (1 + _UNUSED) * unit_ps).astype(np.int64)
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
