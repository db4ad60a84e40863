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

from lightloom.core.errors import InputError
from lightloom.core.schedule import Algorithm, Schedule
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.synth.demand_columns import demand_columns
from lightloom.synth.demand_rounds import DECOMPOSITION
from lightloom.synth.fabrics.plug import MadeSchedule
from lightloom.synth.ocs.matrix_permutations import (
    coloured_by_level,
    decompositions,
    exchanged,
    matchings_by_size,
)
from lightloom.synth.ocs.slots import (
    HeldPairs,
    SwitchSlots,
    best_durations,
    kept_pairs,
    levelled,
    order_to_keep,
    refined,
    slot_schedule,
    worth_refining,
    wrapped,
)
from lightloom.synth.ocs.switch_circuits import (
    ALGORITHM,
    ocs_schedule,
    port_certificates,
    switch_circuits,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.ocs import Ocs
    from lightloom.synth.ocs.matrix_permutations import Permutations


_PROGRAM_ENTRIES = 2**15
"""Most entries of a linear program."""
_ADDED = 24
"""Most permutations that are added one by one."""
_KEPT = 3
"""Decompositions that are laid on the switches."""
_STARTS = ((True, 1.025), (False, 1.04))
"""How slots for entries by rank are packed, and by how much longer than the least."""
_WORK = 2**21, 2**23
"""Rows of two slots that are looked at, from each start and then from the best.

More only for what then is more than `_FAR` above the least.
"""
_FAR = 0.04
_EXCHANGES = 512
_HALVINGS = 40
_UNUSED = 1e-9


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

    Returns one step, in which every switch walks through its own configurations;
    without footer. Where circuits that stay remain lit, a second schedule counts on
    them. Deterministic.
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
    yield slot_schedule(fabric, demand, slots, unit_ps)
    if fabric.dark_while_reconfiguring == "changed-circuits":
        kept = _with_kept(need, slots, fabric.reconfiguration_ps / unit_ps)
        if kept is not None:
            yield slot_schedule(fabric, demand, kept, unit_ps)


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
    made = list(
        decompositions(need.src, need.dst, need.size, need.lines, thorough=True)
    )
    found = [_with_more(need, *_held(need, each)) for each in made]
    found.sort(key=lambda one: float(one[1].sum()) + need.cost * len(one[1]))
    packed = [
        slots for held, weight in found[:_KEPT] for slots in _packed(need, held, weight)
    ]
    best = min(packed, key=lambda slots: slots.total)
    if not worth_refining(len(packed[0].pairs), need.lines, _WORK[0]):
        return best
    for held, weight in found[:_KEPT]:
        pieces = wrapped(weight, need.room, need.cost, waits=True)
        packed.append(_timed(need, held, *pieces))
    lightest = min(made, key=lambda each: float(each.weight.sum()))
    for work in _WORK:
        tried = [*packed, *_by_rank(need, *_held(need, lightest), work)]
        last = min(tried, key=lambda slots: slots.total)
        tried.append(_refined(need, last.pairs, last.switch, None, work))
        best = min(best, *tried, key=lambda slots: slots.total)
        if best.total <= (1 + _FAR) * _least(need):
            return best
    return min([best, *_of_levels(need)], key=lambda slots: slots.total)


def _of_levels(need: _Need) -> Iterator[SwitchSlots]:
    """Yield slots for large entries apart from small ones, if there are both."""
    matrix = np.zeros((need.lines, need.lines))
    matrix[need.src, need.dst] = need.size
    apart = coloured_by_level(matrix)
    if apart is not None:
        held, weight = _held(need, exchanged(apart, _EXCHANGES))
        yield from _by_rank(need, held, weight, _WORK[-1])


def _least(need: _Need) -> float:
    """Return the least end by which the uses of every line have room, nearly."""
    lines = np.concatenate([need.src, need.lines + need.dst])
    free = float(need.room.max())
    low, high = need.cost - free, 1 + need.cost * (1 + len(need.src))
    for _ in range(_HALVINGS):
        end = (low + high) / 2
        uses = need.cost * np.ceil(need.size / (end + free - need.cost)) + need.size
        busiest = np.bincount(lines, np.tile(uses, 2)).max()
        low, high = (
            (low, end) if busiest <= (end + free) * len(need.room) else (end, high)
        )
    return high


def _by_rank(
    need: _Need, held: list[IntArray], weight: FloatArray, work: int
) -> Iterator[SwitchSlots]:
    """Yield slots for the largest entries of lines, the second largest, and so on.

    A line with most entries has each in one permutation, so the k-th longest lasts at
    least as long as the k-th largest entry of any such line.
    """
    matrix = np.zeros((need.lines, need.lines))
    matrix[need.src, need.dst] = need.size
    lines = np.concatenate([matrix, matrix.T])
    entries = np.count_nonzero(lines, axis=1)
    fullest = lines[entries == len(held)]
    if not len(fullest):
        return
    least = np.sort(fullest, axis=1)[:, : -len(held) - 1 : -1].max(axis=0)
    least *= max(1.0, 1.0 / float(least.sum()))
    order = np.argsort(-weight, kind="stable")
    for tight, longer in _STARTS:
        aim = longer * least
        which, switch, lasts = wrapped(
            aim, need.room, need.cost, tight=tight, waits=True
        )
        pairs = [held[one] for one in order[which].tolist()]
        yield _refined(need, pairs, switch, lasts, work)


def _refined(
    need: _Need,
    pairs: Sequence[IntArray],
    switch: IntArray,
    aim: FloatArray | None,
    work: int,
) -> SwitchSlots:
    """Return slots with pairs moved among them, and without those that are not used."""
    slots = HeldPairs(need.src, need.dst, need.size, need.lines, pairs)
    best = refined(slots, switch, need.fixed(switch), aim, work)
    held = slots.held()
    return _timed(need, held, np.arange(len(held)), switch, best.slot)


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


OCS_DEMAND_ALGORITHMS = (ALGORITHM, DECOMPOSITION)
"""Algorithms for demands on optical switches, by name."""


def ocs_demand_schedules(
    fabric: Ocs, demand: Demand, wanted: tuple[str, ...]
) -> Iterator[MadeSchedule]:
    """Yield schedules of a demand: of one configuration, and of several in turn.

    `wanted`: names of `OCS_DEMAND_ALGORITHMS`, one or more. Among both, a demand that
    finds no room in one configuration is served in several.

    Raises `InputError`: one configuration alone is wanted, and circuits are
    bidirectional, or a node has more partners than there are switches.
    """
    only = wanted == (ALGORITHM,)
    if only or (ALGORITHM in wanted and not fabric.bidirectional):
        plan = switch_circuits(fabric, demand)
        possible = plan.witness is None or bool(plan.witness.ratio)
        if not possible and only:
            raise InputError(
                "a node has more partners than there are switches: one configuration"
                " does not serve them",
                where=f"algorithm {ALGORITHM}",
                allowed=f"at most {fabric.switches} partners",
                fix=f"take turns: `--algorithm {DECOMPOSITION}`, or `auto`",
            )
        if possible:
            proven = () if demand.relays else port_certificates(plan)
            yield MadeSchedule(ocs_schedule(fabric, plan), proven)
    if DECOMPOSITION in wanted:
        for schedule in decomposition_schedules(fabric, demand):
            yield MadeSchedule(schedule)
