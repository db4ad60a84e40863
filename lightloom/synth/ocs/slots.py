"""Schedules of what switches hold in turn, with the bytes that every slot moves.

What slots hold and how long they last, made better in turn.

Durations are lowered towards a goal, pairs are moved among the slots until little is
lacking, and a linear program sets the durations of what the slots then hold.

Which pairs the slots of switches hold, and moves that serve more of what is asked.

Every slot lasts some time, a pair is served as long as its slots last together, and no
two pairs of a slot share an end. What all pairs lack together is made less; those that
lack something for long weigh more.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from math import inf
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


_TURNS, _TURNS_A_MATCHING = 12, 4
"""Most exchanges between two linear programs, and between two matchings."""
_LEAST_TURNS = 32
"""Exchanges that are worth a start."""
_FIRST, _LEAST = 0.01, 5e-4
"""By which share durations are lowered: at first, and at the least."""
_WIDER, _NARROWER = 1.5, 0.6
_TOWARDS_AIM = 0.1
"""Least share of the way to an aim."""
_MATCHED = 12
"""A matching of n lines takes as long as n / `_MATCHED` rows of each line."""
_CALL = 500
"""To look at few rows takes as long as so many."""
_GAIN = 1e-7


def worth_refining(slots: int, lines: int, work: int) -> bool:
    """Return whether work is enough for some exchanges between all slots."""
    return work >= _LEAST_TURNS * _exchange_work(slots, lines)


def refined(
    slots: HeldPairs,
    switch: IntArray,
    fixed: FloatArray,
    aim: FloatArray | None,
    work: int,
) -> Durations:
    """Move pairs among slots in place, and return durations that end soonest.

    `work`: rows of two slots that are looked at, about.
    """
    best = best_durations(slots.size, slots.held(), switch, fixed)
    assert best is not None
    kept = slots.at.copy()
    least = (slots.busiest_line() + float(fixed.sum())) / len(fixed)
    moves = _Moves(slots, work)
    goal, share = np.zeros(len(switch)), _FIRST
    if aim is not None and _end(aim, switch, fixed) < best.total:
        goal, share = aim, 1.0
    while moves.work > 0 and share > _LEAST and best.total > least + _GAIN:
        served = moves.towards(best.slot + share * (goal - best.slot))
        better = None
        if slots.complete():
            better = best_durations(slots.size, slots.held(), switch, fixed)
        if better is not None and better.total < best.total - _GAIN:
            best, kept = better, slots.at.copy()
        else:
            slots.at = kept.copy()
            share *= 1.0 if served else _NARROWER
        if served:
            share = min(1.0, share * _WIDER)
        reached = _end(goal, switch, fixed) >= best.total
        if goal.any() and (share < _TOWARDS_AIM or reached):
            goal, share = np.zeros(len(switch)), _FIRST
    slots.at = kept
    return best


class _Moves:
    """Moves of pairs among slots, as long as there is work left for them."""

    def __init__(self, slots: HeldPairs, work: int) -> None:
        self._slots, self._random = slots, np.random.default_rng(0)
        count, lines = slots.at.shape
        self._exchange = _exchange_work(count, lines)
        self._match = count * lines * lines // _MATCHED
        self.work = work

    def towards(self, lasts: FloatArray) -> bool:
        """Move pairs until durations serve them all, or for some turns."""
        slots = self._slots
        slots.weight[:] = 1.0
        for turn in range(_TURNS):
            if turn % _TURNS_A_MATCHING == 0:
                slots.drop_needless(lasts)
                slots.insert(lasts)
                slots.rematch(lasts)
                self.work -= self._match
            slots.exchange(lasts, self._random)
            self.work -= self._exchange
            if slots.lacking(lasts) <= _GAIN:
                return True
            slots.weigh(lasts)
        slots.insert(lasts)
        return False


def _exchange_work(slots: int, lines: int) -> int:
    """Return the work of exchanges between all slots."""
    return (slots * lines // 2 + _CALL) * slots


def _end(lasts: FloatArray, switch: IntArray, fixed: FloatArray) -> float:
    """Return when the last switch ends."""
    return float((np.bincount(switch, lasts, len(fixed)) + fixed).max())


@dataclass(frozen=True, eq=False)
class Durations:
    """How long slots move data.

    `slot`: of each slot, 0 or more. `total`: end of the busiest switch, the fixed costs
    of its slots included. `price`: how much sooner that would be if a pair needed one
    unit less; shape (pairs,).
    """

    slot: FloatArray
    total: float
    price: FloatArray


def best_durations(
    need: FloatArray,
    slots: Sequence[IntArray],
    switch: IntArray,
    fixed: FloatArray,
) -> Durations | None:
    """Return the durations with which all pairs are served soonest.

    A pair is served as long as the slots that hold it last together; slots of one
    switch follow one another.

    `need`: how long each pair has to be served, shape (pairs,). `fixed`: what all slots
    of a switch cost beside their durations, shape (switches,).

    Returns ``None`` where some pair is in no slot.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    count = len(slots)
    slot = np.repeat(np.arange(count), [len(pairs) for pairs in slots])
    pair = np.concatenate(slots)
    # Rows: pairs, then switches. Columns: slots, then the end of the busiest switch.
    rows = [pair, len(need) + switch, len(need) + np.arange(len(fixed))]
    columns = [slot, np.arange(count), np.full(len(fixed), count)]
    values = [np.full(len(pair), -1.0), np.ones(count), np.full(len(fixed), -1.0)]
    matrix = csr_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
        shape=(len(need) + len(fixed), count + 1),
    )
    found = linprog(
        np.append(np.zeros(count), 1.0),
        A_ub=matrix,
        b_ub=np.concatenate([-need, -fixed]),
        method="highs-ds",
    )
    if found.x is None:
        return None
    price = -found.ineqlin.marginals[: len(need)]
    return Durations(np.maximum(found.x[:count], 0.0), float(found.x[count]), price)


_TINY = 1e-12
_LEAST_SIZE = 1e-9
"""Pairs are served as long as this at least, so that each is in some slot."""


class HeldPairs:
    """Pairs that slots hold, and moves among them.

    `src`, `dst`: lines of the pairs, 0 to `lines` - 1, no pair twice; shape (pairs,).
    `size`: how long each pair has to be served, above 0. `held`: pairs of each slot, no
    two of them with the same end.

    `at`: pair that a slot holds at a row, -1 for none; shape (slots, lines). `weight`:
    how much of each pair's lack counts, shape (pairs + 1,); the last is of no pair.
    """

    def __init__(
        self,
        src: IntArray,
        dst: IntArray,
        size: FloatArray,
        lines: int,
        held: Sequence[IntArray],
    ) -> None:
        self.size, self._src, self._pairs = size, src, len(src)
        # A pair that is none has no column, and needs nothing.
        self._dst = np.append(dst, -1)
        self._need = np.append(np.maximum(size, _LEAST_SIZE), 0.0)
        self.weight = np.ones(len(src) + 1)
        self.at = np.full((len(held), lines), -1, dtype=np.int64)
        for slot, pairs in enumerate(held):
            self.at[slot, src[pairs]] = pairs

    def held(self) -> list[IntArray]:
        """Return the pairs of each slot."""
        return [pairs[pairs >= 0] for pairs in self.at]

    def complete(self) -> bool:
        """Return whether every pair is in some slot."""
        return bool(np.bincount(self.at[self.at >= 0], minlength=self._pairs).all())

    def busiest_line(self) -> float:
        """Return how long the pairs of a line need together, at the most."""
        ends = self._src, self._dst[:-1]
        return max(float(np.bincount(end, self.size).max()) for end in ends)

    def lack(self, lasts: FloatArray) -> FloatArray:
        """Return how much longer pairs need service; negative if they have more.

        Returns shape (pairs + 1,); the last is of no pair, and not positive.
        """
        count = self._pairs + 1
        weights = np.repeat(lasts, self.at.shape[1])
        served = np.bincount(
            (self.at % count).ravel(), weights=weights, minlength=count
        )
        lack: FloatArray = self._need - served
        return lack

    def weigh(self, lasts: FloatArray) -> None:
        """Let pairs that lack something weigh more, so that others give way to them."""
        self.weight += self.lack(lasts) > _TINY

    def lacking(self, lasts: FloatArray) -> float:
        """Return how much all pairs lack together."""
        return float(np.maximum(self.lack(lasts), 0.0).sum())

    def exchange(self, lasts: FloatArray, random: np.random.Generator) -> None:
        """Exchange chains of pairs between any two slots, where no more is lacking."""
        slot = np.arange(len(self.at))
        for apart in range(1, 2 ** (len(slot) - 1).bit_length()):
            one = slot[(slot < slot ^ apart) & (slot ^ apart < len(slot))]
            other = one ^ apart
            chain, more = self._chains(one, other, self.lack(lasts), lasts)
            coin = random.random(len(more)) < 0.5
            swap = ((more < -_TINY) | ((more <= _TINY) & coin))[chain]
            mine, theirs = self.at[one], self.at[other]
            self.at[one] = np.where(swap, theirs, mine)
            self.at[other] = np.where(swap, mine, theirs)

    def _chains(
        self, one: IntArray, other: IntArray, lack: FloatArray, lasts: FloatArray
    ) -> tuple[IntArray, FloatArray]:
        """Return the chain of each row, and how much more its exchange leaves lacking.

        The pairs of two slots form paths and cycles: from a row to its column in the
        first slot, and from there to the row of that column in the second.

        Returns chains of shape (pairs of slots, lines), numbered over all of them; what
        is lacking of each, shape (pairs of slots * lines,).
        """
        mine, theirs = self.at[one], self.at[other]
        shape = mine.shape
        row = np.arange(mine.size).reshape(shape)
        which = np.arange(len(one))[:, None]
        row_of = np.full((shape[0], shape[1] + 1), -1, dtype=np.int64)
        row_of[which, self._dst[theirs]] = row
        row_of[:, -1] = -1
        after = row_of[which, self._dst[mine]]
        after = np.where(after < 0, row, after).ravel()
        # A path is named by its end, where it stays, and a cycle by its least row.
        chain, following = row.ravel(), after
        for _ in range(1 + shape[1].bit_length()):
            chain = np.minimum(chain, chain[following])
            following = following[following]
        ends = after[following] == following
        chain = np.where(ends, following, chain).astype(np.int64)
        longer = (lasts[one] - lasts[other])[:, None]
        moves = mine != theirs
        more = np.zeros(shape)
        for pairs, change in ((mine, longer), (theirs, -longer)):
            before = lack[pairs]
            rise = np.maximum(before + change, 0.0) - np.maximum(before, 0.0)
            rise *= self.weight[pairs]
            more += np.where(moves & (pairs >= 0), rise, 0.0)
        left = np.bincount(chain, weights=more.ravel(), minlength=mine.size)
        return chain.reshape(mine.shape).astype(np.int64), left.astype(np.float64)

    def drop_needless(self, lasts: FloatArray) -> None:
        """Drop pairs from slots without which they are served, shortest slots first."""
        lack = self.lack(lasts)
        for slot in np.argsort(lasts, kind="stable").tolist():
            pairs = self.at[slot]
            needless = (pairs >= 0) & (lack[pairs] + lasts[slot] <= _TINY)
            lack[pairs[needless]] += lasts[slot]
            pairs[needless] = -1

    def insert(self, lasts: FloatArray) -> None:
        """Give pairs that lack something one more slot, where less is lacking then.

        Its row may be free in one slot and its column in another: then the chain
        between them is exchanged before.
        """
        lack = self.lack(lasts)
        for pair in np.argsort(-lack, kind="stable").tolist():
            if lack[pair] <= _TINY:
                continue
            row = self._src[pair]
            in_column = self._dst[self.at] == self._dst[pair]
            taken = in_column.any(axis=1)
            free = np.flatnonzero(self.at[:, row] < 0), np.flatnonzero(~taken)
            one, other = (each.ravel() for each in np.meshgrid(*free))
            if not len(one):
                continue
            chain, more = self._chains(one, other, lack, lasts)
            start = chain[np.arange(len(one)), in_column.argmax(axis=1)[one]]
            left = np.maximum(lack[pair] - lasts[one], 0.0) - lack[pair]
            cost = left * self.weight[pair] + np.where(taken[one], more[start], 0.0)
            best = int(cost.argmin())
            if cost[best] >= -_TINY:
                continue
            slot = int(one[best])
            if taken[slot]:
                swap = chain[best] == start[best]
                ends = [slot, int(other[best])]
                self.at[ends] = np.where(swap, self.at[ends[::-1]], self.at[ends])
            self.at[slot, row] = pair
            lack = self.lack(lasts)

    def rematch(self, lasts: FloatArray) -> None:
        """Match each slot anew, the longest first, given what the others hold."""
        from scipy.optimize import linear_sum_assignment

        src, dst = self._src, self._dst[:-1]
        lack = self.lack(lasts)
        shape = (self.at.shape[1],) * 2
        for slot in np.argsort(-lasts, kind="stable").tolist():
            before = self.at[slot][self.at[slot] >= 0]
            lack[before] += lasts[slot]
            gain = np.minimum(np.maximum(lack[:-1], 0.0), lasts[slot])
            matrix, pair = np.zeros(shape), np.full(shape, -1, dtype=np.int64)
            matrix[src, dst] = gain * self.weight[:-1]
            pair[src, dst] = np.where(gain > _TINY, np.arange(self._pairs), -1)
            self.at[slot] = pair[linear_sum_assignment(matrix, maximize=True)]
            now = self.at[slot][self.at[slot] >= 0]
            lack[now] -= lasts[slot]


_HALVINGS = 40


def levelled(weight: FloatArray, room: FloatArray, cost: float) -> IntArray:
    """Return the switch of each configuration: none is cut, the longest come first.

    `room`: by how much each switch begins sooner than others, shape (switches,).
    `cost`: of each configuration, beside its duration.
    """
    left = room.copy()
    switch = np.zeros(len(weight), dtype=np.int64)
    for one in np.argsort(-weight, kind="stable").tolist():
        switch[one] = int(left.argmax())
        left[switch[one]] -= weight[one] + cost
    return switch


def wrapped(
    weight: FloatArray,
    room: FloatArray,
    cost: float,
    *,
    tight: bool = True,
    waits: bool = False,
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return pieces of configurations on switches, which end as soon as is found.

    For a given end the longest come first. Where no switch has room for all of one, the
    switch with most room takes what it can. Every piece pays the cost.

    `waits`: whether the rest of one that is cut waits for its turn among the others.

    The end is found by bisection. At ``(sum of weights + (configurations + switches -
    1) cost) / switches`` everything has room.
    """
    least = (float(weight.sum()) + cost * len(weight) - float(room.sum())) / len(room)
    low, high = least, least + float(weight.max()) + 2 * cost
    best = None
    while best is None:
        best = _filled(weight, room + high, cost, tight=tight, waits=waits)
        high += 0.0 if best else high - low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        pieces = _filled(weight, room + middle, cost, tight=tight, waits=waits)
        if pieces is None:
            low = middle
        else:
            best, high = pieces, middle
    which, switch, lasts = zip(*best, strict=True)
    return np.array(which), np.array(switch), np.array(lasts)


def _filled(
    weight: FloatArray, room: FloatArray, cost: float, *, tight: bool, waits: bool
) -> list[tuple[int, int, float]] | None:
    """Return pieces that fit the room of each switch, ``None`` if some do not."""
    pieces: list[tuple[int, int, float]] = []
    waiting = [(-rest, one, rest) for one, rest in enumerate(weight.tolist())]
    heapify(waiting)
    while waiting:
        _, one, rest = waiting[0]
        fits = np.flatnonzero(room >= rest + cost)
        if len(fits):
            left = room[fits]
            switch = int(fits[left.argmin() if tight else left.argmax()])
            pieces.append((one, switch, rest))
            room[switch] -= rest + cost
            heappop(waiting)
            continue
        switch = int(room.argmax())
        part = float(room[switch]) - cost
        if part <= 0:
            return None
        pieces.append((one, switch, part))
        room[switch] = 0.0
        rest -= part
        heapreplace(waiting, (-rest if waits else -inf, one, rest))
    return pieces


def order_to_keep(
    pairs: Sequence[IntArray], switch: IntArray, lasts: FloatArray
) -> list[int]:
    """Return slots, switch by switch, each next to one with many circuits in common.

    The longest of a switch comes first, then always the one that keeps most circuits
    of the one before, the longest among equals.

    `pairs`: rows of the demand that each slot holds.
    """
    order: list[int] = []
    for one in np.unique(switch).tolist():
        rest = np.flatnonzero(switch == one)
        rest = rest[np.argsort(-lasts[rest], kind="stable")].tolist()
        order.append(rest.pop(0))
        while rest:
            before = pairs[order[-1]]
            common = [len(np.intersect1d(before, pairs[slot])) for slot in rest]
            order.append(rest.pop(int(np.argmax(common))))
    return order


def kept_pairs(
    pairs: Sequence[IntArray], switch: IntArray
) -> list[npt.NDArray[np.bool_]]:
    """Return which pairs of each slot the slot before on the same switch holds too.

    `pairs`, `switch`: of slots in the order in which each switch holds them.
    """
    kept = []
    for slot, mine in enumerate(pairs):
        follows = slot > 0 and switch[slot - 1] == switch[slot]
        before = pairs[slot - 1] if follows else mine[:0]
        kept.append(np.isin(mine, before))
    return kept
