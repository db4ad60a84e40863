"""Configurations: so many of them leave a node so many units, however long they last.

For demands on a LIGHTPATH rack, which nobody forwards. With m configurations of data
times t_1 >= ... >= t_m, a schedule takes at least

    d0 + (m - 1) d1 + m alpha + (t_1 + ... + t_m)

(`step_costs`), where t_k is how long data move in configuration k, over all its steps:
a unit, one wavelength of one configuration, moves what takes t_k on one wavelength.
Take a *line*: what a node sends, or receives, or what leaves a set of nodes, a *cut*.
Its pairs have R units of a configuration in all, the wavelengths of the node, or those
of all waveguides out of the set. Let b_1 >= ... >= b_q be how long a wavelength takes
for each of its q pairs, in whole picoseconds, as data times are. Every pair has a unit
at least, and there are m R of them. So the h largest have at most m R - q + h of them:

    b_1 + ... + b_h  <=  what the m R - q + h longest units move.

With weights y >= 0 of such lines and h the right side is at most sum_k c_k t_k, where
c_k adds up y times the units of configuration k among the longest, and c_1 >= c_2 >= ..
If c_1 + ... + c_p <= p for every p, then sum_k c_k t_k <= t_1 + ... + t_m, since the
t_k fall, and so the data times last sum y (b_1 + ... + b_h) at least. With m = 1, a
line also needs ceil(b_j / t) <= R in sum, and the least such t is a bound.

Fewer than ceil(q / R) configurations do not reach the pairs of a line. Whatever m,
the data times last at least (b_1 + ... + b_q) / R. So a witness has weights for each m
from the fewest up to some last one, and a line for all beyond: ``{"least": m,
"node": v, "direction": 0, "weights": [m, v, direction, h, y, ...], "unit": u}``, five
integers a row: fewer than `least` do not reach the pairs of node v, weights are
multiples of 1 / u, and h = 0 stands for the count of m = 1, with y = u. Direction 0 is
what a node sends, 1 what it receives, 2 what leaves the cut of that number, of those
under ``"cuts": [size, nodes ..., ...]``. Beyond the last m the fullest line counts.
The bound is the least over all m.

Weights do not know that a pair which needs a little more than a unit takes two, nor
that pairs share units of several lines. For few configurations a witness may cover all
durations of some sum by boxes (`proofs.duration_walk`): ``"covers": [m, total, length,
walk, ...]``; then data move for more than `total` picoseconds in m configurations.

**Durations** of a few configurations that no lines can be served with, box by box.

Let data move for t_1 >= ... >= t_m whole picoseconds in m configurations, T in all at
most; longer is no harder, so let it be T. A box holds all such durations with
lo_k <= t_k <= hi_k for k = 2 .. m; all of them are at most u = (T - lo_2 - ... - lo_m,
hi_2, ..., hi_m), and t_1 = T - t_2 - ... - t_m.

A *line* is what shares units: all pairs that a node sends to, all that it receives
from, or all across a cut, which every light path of theirs crosses. Pair j has whole
numbers n_jk of units of configuration k, at most L, with n_j1 t_1 + ... + n_jm t_m >=
b_j, what the pair takes on one unit. Of that line c has at most R_c in a configuration.

What a pair has moves whole bytes in every configuration, so the bytes that
n_jk u_k are enough for, rounded down, add up to those of the pair too. And n_j t, which
is linear in t_2 .. t_m, is b_j or more at a corner of the box, each with its t_1.

With prices p_ck >= 0 a pair pays q_jk = the sum of p_ck over its lines for a unit. Let
f_j be the least of q_j n over whole n <= L that are enough at u, or the least over all
corners of the least that are enough there, whichever is more. Then what the pairs
have costs sum_j f_j at least, and no more than sum_c R_c (p_c1 + ... + p_cm). So where
the first is more, no durations of the box serve all lines. Boxes that leave no such
durations cover all of them: data move longer than T.

A box may also be halved by units: in one part pair j has at most v of configuration k,
in the other more. With at most h_j units of pairs in a box and weights y_j >= 0, what
they move, sum_j y_j h_j t, is linear in t_2 .. t_m; where its most at a corner of the
box is less than sum_j y_j b_j, no durations of the box are enough for them all.

A cover is written as a walk over boxes, the first of which is 0 <= t_k <= T / k. Of
each box it says -1 and an axis, 0 for t_2, along which it is halved, the lower half
first; or -2, a pair, a configuration and v, at most v first; or -3, a number of pairs,
and each with its weight; or a number of lines, and of each its number, its direction
and m prices. Boxes without durations in the right order are left out.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lightloom.core.task import Demand
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S, transmission_ps
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.step_costs import (
    fixed_ps,
    require_carrier,
)
from lightloom.validate.certificates.witness import WitnessError, keys, number, rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lightloom.core.certificate import Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


_MOST_CONFIGURATIONS = 2**20
"""More than any demand needs: a check takes as long as there are configurations."""
_ROW = 5
"""Integers of a row of weights."""
_COVER_HEAD = 3
"""Integers in front of the walk of a cover."""


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    if not isinstance(fabric, Lightpath) or not isinstance(task, Demand):
        message = "the kind configurations is about demands on LIGHTPATH"
        raise WitnessError(message)
    require_carrier(fabric)
    optional = [key for key in ("covers", "cuts") if key in witness]
    keys(witness, "least", "node", "direction", "unit", "weights", *optional)
    if not task.src:
        return 0
    divided = divided_lines(fabric, task, _cuts(fabric, witness))
    lines = divided.lines
    most = max(fabric.node_count, len(lines))
    named = number(witness, "node", most), number(witness, "direction", 3)
    least = number(witness, "least", _MOST_CONFIGURATIONS)
    line = lines.get(named)
    if least != (1 if line is None else max(1, -(-len(line.pairs) // line.room))):
        message = f"least {least} is not proven by {named}, {line}"
        raise WitnessError(message)
    unit = number(witness, "unit", 2**62)
    weights = defaultdict(list)
    flat = rows(witness, "weights", 0)
    if len(flat) % _ROW:
        message = f"weights are {len(flat)} integers, not rows of {_ROW}"
        raise WitnessError(message)
    for count, *row in flat.reshape(-1, _ROW).tolist():
        weights[count].append(row)
    last = least + len(weights)
    if unit < 1 or sorted(weights) != list(range(least, last)):
        message = "weights are for consecutive numbers of configurations from the least"
        raise WitnessError(message)
    rate = fabric.bits_per_second_per_wavelength
    needs_ps = {key: _needs_ps(task, line, rate) for key, line in lines.items()}
    rooms = {key: line.room for key, line in lines.items()}
    fullest = max(-(-sum(needs_ps[key]) // room) for key, room in rooms.items())
    times_ps = [fixed_ps(fabric, last, last) + fullest]
    longer_ps = _covered_ps(divided, witness) if "covers" in witness else {}
    for count in range(least, last):
        data_ps = _data_ps(needs_ps, rooms, count, weights[count], unit)
        data_ps = max(data_ps, longer_ps.get(count, 0))
        times_ps.append(fixed_ps(fabric, count, count) + data_ps)
    return min(times_ps)


def _cuts(fabric: Lightpath, witness: Witness) -> list[IntArray]:
    """Return the nodes of each cut of a witness."""
    flat = rows(witness, "cuts", 0).tolist() if "cuts" in witness else []
    cuts, place = [], 0
    while place < len(flat):
        size = flat[place]
        nodes = flat[place + 1 : place + 1 + size]
        if size < 1 or len(nodes) < size:
            message = f"a cut of {size} nodes has {len(nodes)}"
            raise WitnessError(message)
        if not 0 <= min(nodes) <= max(nodes) < fabric.node_count:
            message = f"a cut has nodes beyond 0 to {fabric.node_count - 1}"
            raise WitnessError(message)
        cuts.append(np.array(nodes, dtype=np.int64))
        place += 1 + size
    return cuts


def divided_lines(
    fabric: Lightpath, demand: Demand, cuts: Sequence[IntArray]
) -> DividedLines:
    """Return a demand with what nodes send and receive, and what leaves cuts.

    `cuts`: nodes of each, which some pair leaves.

    Raises `WitnessError`: no pair leaves a cut, or no waveguide does.
    """
    src, dst = np.array(demand.src), np.array(demand.dst)
    lines: dict[LineKey, SharedLine] = {}
    for direction, ends in enumerate((src, dst)):
        for node in np.unique(ends).tolist():
            pairs = np.flatnonzero(ends == node)
            lines[node, direction] = SharedLine(pairs, fabric.lasers)
    tail, head = fabric.edges()
    for place, nodes in enumerate(cuts):
        inside = np.zeros(fabric.node_count, dtype=np.bool_)
        inside[nodes] = True
        out = inside[tail] & ~inside[head]
        room = int(fabric.edge_waveguides(tail[out], head[out]).sum()) * fabric.lasers
        pairs = np.flatnonzero(inside[src] & ~inside[dst])
        if not room or not len(pairs):
            message = f"{len(pairs)} pairs leave cut {place} on {room} wavelengths"
            raise WitnessError(message)
        lines[place, 2] = SharedLine(pairs, room)
    sizes = np.array(demand.bytes, dtype=np.int64)
    rate = fabric.bits_per_second_per_wavelength
    return DividedLines(sizes, rate, fabric.lasers, lines)


def _needs_ps(demand: Demand, line: SharedLine, rate: int) -> list[int]:
    """Return what the pairs of a line take on one wavelength, the longest first."""
    sizes = [demand.bytes[pair] for pair in line.pairs.tolist()]
    return sorted((transmission_ps(each, rate) for each in sizes), reverse=True)


def _covered_ps(divided: DividedLines, witness: Witness) -> dict[int, int]:
    """Return how long data move at least in each number of configurations covered."""
    if not divided.cuttable:
        message = "a pair takes too long for boxes of durations"
        raise WitnessError(message)
    flat = rows(witness, "covers", 0).tolist()
    longer_ps: dict[int, int] = {}
    place = 0
    while place < len(flat):
        head = flat[place : place + _COVER_HEAD]
        if len(head) < _COVER_HEAD or head[2] < 0:
            message = f"a cover begins with {head}, not with count, total and length"
            raise WitnessError(message)
        count, total_ps, length = head
        place += _COVER_HEAD + length
        walk = flat[place - length : place]
        fault = divided.fault(total_ps, count, walk)
        if fault is not None:
            message = f"the cover of {count} configurations: {fault}"
            raise WitnessError(message)
        # Durations are whole picoseconds.
        longer_ps[count] = max(total_ps + 1, longer_ps.get(count, 0))
    return longer_ps


def _data_ps(
    needs_ps: dict[LineKey, list[int]],
    rooms: dict[LineKey, int],
    count: int,
    weights: list[list[int]],
    unit: int,
) -> int:
    """Return what weights prove of the data times of so many configurations."""
    used = [0] * count
    total = 0
    for place, direction, largest, weight in weights:
        key = place, direction
        line, room = needs_ps.get(key, []), rooms.get(key, 0)
        if count == 1 and largest == 0 and len(weights) == 1 and weight == unit:
            return _alone_ps(line, room)
        if not 1 <= largest <= len(line) or weight < 1:
            message = f"{[place, direction, largest, weight]} weighs nothing here"
            raise WitnessError(message)
        units = count * room - len(line) + largest
        for which in range(count):
            used[which] += weight * min(room, max(0, units - which * room))
        total += weight * sum(line[:largest])
    so_far = 0
    for which, each in enumerate(used, start=1):
        so_far += each
        if so_far > which * unit:
            message = f"the weights of {count} configurations are more than they prove"
            raise WitnessError(message)
    return -(-total // unit)


def _alone_ps(line: list[int], room: int) -> int:
    """Return the least time in which one configuration serves a line."""
    if len(line) > room:
        message = "one configuration does not reach so many pairs"
        raise WitnessError(message)
    low, high = 0, max(line, default=0)
    while high - low > 1:
        middle = (low + high) // 2
        if sum(-(-each // middle) for each in line) <= room:
            high = middle
        else:
            low = middle
    return high


MOST_NUMBER = 2**40
"""Longest time of a pair on one wavelength, in picoseconds, that boxes are cut for."""

_MOST_COVERED = 64
"""Configurations of a cover: a box has a side for each."""
_MOST_PRICE = 2**40
"""Prices below it times units still add up in 64 bits, or are refused."""
_MOST_CORNERS = 2**6
"""Corners of a box that are looked at one by one."""
_HALVED, _SPLIT, _WEIGHED = -1, -2, -3
"""Codes of a walk over boxes: what is done to the next one."""

LineKey: TypeAlias = tuple[int, int]
"""A node and 0 for what it sends, 1 for what it receives; a cut and 2."""

Prices: TypeAlias = "tuple[tuple[LineKey, tuple[int, ...]], ...]"
"""Lines, and of each what a unit of every configuration costs."""


@dataclass(frozen=True, eq=False)
class SharedLine:
    """Pairs that share units.

    `pairs`: their numbers, shape (pairs of the line,). `room`: units that they may have
    in a configuration.
    """

    pairs: IntArray
    room: int


@dataclass(frozen=True, eq=False)
class DividedLines:
    """A demand and its lines, with which boxes of durations are refuted.

    `size_bytes`: of each pair, above 0, shape (pairs,). `units`: most that a pair may
    have in a configuration.
    """

    size_bytes: IntArray
    bits_per_s: int
    units: int
    lines: Mapping[LineKey, SharedLine]

    @cached_property
    def need_ps(self) -> IntArray:
        """What each pair takes on one unit, rounded up; below `MOST_NUMBER`."""
        needs = (
            transmission_ps(each, self.bits_per_s) for each in self.size_bytes.tolist()
        )
        return np.fromiter(needs, dtype=np.int64, count=len(self.size_bytes))

    @property
    def cuttable(self) -> bool:
        """Whether times are small enough for boxes."""
        most = max(self.size_bytes.tolist(), default=0) * BITS_PER_BYTE * PS_PER_S
        return bool(most < self.bits_per_s * MOST_NUMBER)

    def refuted(
        self, box: DurationBox, total_ps: int, prices: Prices, *, corners: bool = True
    ) -> bool:
        """Return whether pairs would pay more than all units of lines cost.

        `corners`: whether to look at the corners of the box where durations larger than
        all in it are not enough.

        Raises `OverflowError`: numbers are too large to add up.
        """
        count = len(box.sides) + 1
        paid, most = self.paid(prices, count)
        dearest = int(paid.sum(axis=1).max(initial=0)) * self.units
        times = total_ps * self.units * count
        if max(most, times, dearest * len(paid)) >= NEVER:
            message = "times or prices are too large to add up"
            raise OverflowError(message)
        groups = list(self._groups(paid, box))
        least = [self._enough_above(box, total_ps, *group) for group in groups]
        if total(least) > most:
            return True
        if not corners or 2 ** (count - 1) > _MOST_CORNERS:
            return False
        there = [self._enough_at_corners(box, total_ps, *group) for group in groups]
        return (
            total([np.maximum(a, b) for a, b in zip(least, there, strict=True)]) > most
        )

    def outweighed(
        self, box: DurationBox, total_ps: int, weights: Sequence[tuple[int, int]]
    ) -> bool:
        """Return whether all units that pairs may have are not enough for them.

        `weights`: pairs, and how much each weighs.
        """
        moved = [0] * (len(box.sides) + 1)
        due = 0
        for pair, weight in weights:
            for place, (_, high) in enumerate(box.units_of(pair, self.units)):
                moved[place] += weight * high
            due += weight * int(self.need_ps[pair])
        first, *others = (each for each in moved)
        most = first * total_ps
        for each, side in zip(others, box.sides, strict=True):
            most += max((each - first) * time_ps for time_ps in side)
        return due > most

    def paid(self, prices: Prices, count: int) -> tuple[IntArray, int]:
        """Return what pairs pay for units, shape (pairs, count), and what all cost."""
        paid = np.zeros((len(self.size_bytes), count), dtype=np.int64)
        most = 0
        for key, each in prices:
            line = self.lines[key]
            paid[line.pairs] += np.array(each, dtype=np.int64)
            most += line.room * sum(each)
        return paid, most

    def _groups(
        self, paid: IntArray, box: DurationBox
    ) -> Iterator[tuple[IntArray, IntArray, Ranges]]:
        """Yield pairs that pay alike, what they pay, and the units they may have."""
        pays = (paid != 0).sum(axis=1) > 0
        for pair, ranges in box.units:
            if pays[pair]:
                yield np.array([pair]), paid[pair], ranges
                pays[pair] = False
        some, free = np.flatnonzero(pays), ((0, self.units),) * paid.shape[1]
        alike, which = np.unique(paid[some], axis=0, return_inverse=True)
        for row, each in enumerate(alike):
            yield some[which.reshape(-1) == row], each, free

    def _enough_above(
        self,
        box: DurationBox,
        total_ps: int,
        pairs: IntArray,
        paid: IntArray,
        ranges: Ranges,
    ) -> IntArray:
        """Return the least cost of units that move whole bytes at durations above."""
        need = self.size_bytes[pairs]
        most, second = int(need.max()), BITS_PER_BYTE * PS_PER_S
        worth = [
            [
                min(most, number * time_ps * self.bits_per_s // second)
                for number in range(low, high + 1)
            ]
            for time_ps, (low, high) in zip(box.above(total_ps), ranges, strict=True)
        ]
        return least_cost(need, worth, ranges, paid.tolist())

    def _enough_at_corners(
        self,
        box: DurationBox,
        total_ps: int,
        pairs: IntArray,
        paid: IntArray,
        ranges: Ranges,
    ) -> IntArray:
        """Return the least cost of units that are enough at some corner."""
        cheapest = np.full(len(pairs), NEVER)
        for times in box.corners(total_ps):
            worth = [
                [number * time_ps for number in range(low, high + 1)]
                for time_ps, (low, high) in zip(times, ranges, strict=True)
            ]
            costs = least_cost(self.need_ps[pairs], worth, ranges, paid.tolist())
            cheapest = np.minimum(cheapest, costs)
        return cheapest

    def fault(self, total_ps: int, count: int, walk: Sequence[int]) -> str | None:
        """Return why a walk does not prove that data move longer, ``None`` if it does.

        `total_ps`: the time that data move in all configurations, at least.
        """
        if not 0 <= total_ps < MOST_NUMBER or not 1 <= count <= _MOST_COVERED:
            return f"{total_ps} ps in {count} configurations is nothing to cover"
        stack = [first_box(total_ps, count)]
        rest = iter(walk)
        while stack:
            box = stack.pop().tightened(total_ps)
            if box is None:
                continue
            head = next(rest, 0)
            if head == _WEIGHED:
                size = min(next(rest, -1), len(self.size_bytes))
                flat = [next(rest, -1) for _ in range(2 * size)]
                pairs_exist = all(
                    0 <= pair < len(self.size_bytes) for pair in flat[::2]
                )
                weights = list(zip(flat[::2], flat[1::2], strict=True))
                if not pairs_exist or min(flat[1::2], default=-1) < 0:
                    return f"{size} pairs do not follow with weights"
                if not self.outweighed(box, total_ps, weights):
                    return f"units of {weights} are enough within a box"
                continue
            if head < 0:
                divided = self._divided(head, rest, box)
                if divided is None:
                    return "a box is not divided"
                stack += reversed(divided)
                continue
            fault = self._unproven(head, rest, box, total_ps)
            if fault:
                return fault
        return None if next(rest, None) is None else "the walk goes on at the end"

    def _divided(
        self, head: int, rest: Iterator[int], box: DurationBox
    ) -> tuple[DurationBox, DurationBox] | None:
        """Return the two parts of a box, ``None`` where it has none."""
        if head == _HALVED:
            axis = next(rest, -1)
            if (
                not 0 <= axis < len(box.sides)
                or box.sides[axis][0] == box.sides[axis][1]
            ):
                return None
            return box.halves(axis)
        pair, place, most = (next(rest, -1) for _ in range(3))
        if head != _SPLIT or not 0 <= pair < len(self.size_bytes):
            return None
        if not 0 <= place <= len(box.sides):
            return None
        now = box.units_of(pair, self.units)
        low, high = now[place]
        return box.parts(pair, place, most, now) if low <= most < high else None

    def _unproven(
        self, head: int, rest: Iterator[int], box: DurationBox, total_ps: int
    ) -> str | None:
        """Return why the next prices do not refute a box, if they do not."""
        if head > len(self.lines):
            return f"there are no {head} lines"
        prices: list[tuple[LineKey, tuple[int, ...]]] = []
        for _ in range(head):
            line, direction, *line_prices = (
                next(rest, -1) for _ in range(len(box.sides) + 3)
            )
            if min(line_prices) < 0 or max(line_prices) >= _MOST_PRICE:
                return f"a price is not among 0 to {_MOST_PRICE - 1}, or the walk ends"
            if (line, direction) not in self.lines:
                return f"{line} has no pairs in direction {direction}"
            prices.append(((line, direction), tuple(line_prices)))
        try:
            proven = self.refuted(box, total_ps, tuple(prices))
        except OverflowError as fault:
            return str(fault)
        return None if proven else f"all lines of {prices} can be served within a box"


Ranges: TypeAlias = "tuple[tuple[int, int], ...]"
"""The least and the most of something in each configuration."""


@dataclass(frozen=True)
class DurationBox:
    """Some durations, and what pairs may have.

    `sides`: the least and the largest of t_2, t_3, . `units`: of a few pairs the least
    and the most units of each configuration.
    """

    sides: Ranges
    units: tuple[tuple[int, Ranges], ...] = ()

    def tightened(self, total_ps: int) -> DurationBox | None:
        """Return the box without what the order rules out; ``None`` if all of it."""
        low, high = [a for a, _ in self.sides], [b for _, b in self.sides]
        for k in range(len(low) - 2, -1, -1):
            low[k] = max(low[k], low[k + 1])
        if low:
            high[0] = min(high[0], -(-(total_ps - sum(low[1:])) // 2))
        for k in range(1, len(low)):
            high[k] = min(high[k], high[k - 1])
        if any(a > b for a, b in zip(low, high, strict=True)):
            return None
        return DurationBox(tuple(zip(low, high, strict=True)), self.units)

    def above(self, total_ps: int) -> tuple[int, ...]:
        """Return durations that none of the box exceed."""
        return total_ps - sum(a for a, _ in self.sides), *(b for _, b in self.sides)

    def corners(self, total_ps: int) -> list[tuple[int, ...]]:
        """Return the corners of the box, each with what is left for the longest."""
        every = itertools.product(*(sorted({*side}) for side in self.sides))
        return [(max(0, total_ps - sum(others)), *others) for others in every]

    def halves(self, axis: int) -> tuple[DurationBox, DurationBox]:
        """Return the lower and the upper half, of whole durations."""
        low, high = self.sides[axis]
        middle = (low + high) // 2
        first, second = (
            DurationBox((*self.sides[:axis], side, *self.sides[axis + 1 :]), self.units)
            for side in ((low, middle), (middle + 1, high))
        )
        return first, second

    def units_of(self, pair: int, most: int) -> Ranges:
        """Return the least and the most units of each configuration of a pair.

        `most`: units that a pair has at most.
        """
        return dict(self.units).get(pair, ((0, most),) * (len(self.sides) + 1))

    def parts(
        self, pair: int, place: int, most: int, now: Ranges
    ) -> tuple[DurationBox, DurationBox]:
        """Return where a pair has at most so many units, and where it has more.

        `most`: units: less than it may have, and not less than it must.
        """
        low, high = now[place]
        held = dict(self.units)
        boxes = []
        for side in ((low, most), (most + 1, high)):
            held[pair] = (*now[:place], side, *now[place + 1 :])
            boxes.append(DurationBox(self.sides, tuple(sorted(held.items()))))
        return boxes[0], boxes[1]


def first_box(total_ps: int, count: int) -> DurationBox:
    """Return the box of all durations.

    `count`: how many there are, 1 or more.
    """
    return DurationBox(tuple((0, -(-total_ps // k)) for k in range(2, count + 1)))


NEVER = 2**62
"""What units cost that are never enough."""


def total(costs: Sequence[IntArray]) -> int:
    """Return what all pay, `NEVER` where one has nothing that is enough."""
    if any(int(each.max()) == NEVER for each in costs):
        return NEVER
    return sum(int(each.sum()) for each in costs)


def least_cost(
    need: IntArray,
    worth: Sequence[Sequence[int]],
    ranges: Ranges,
    prices: Sequence[int],
) -> IntArray:
    """Return the least cost of units that serve each pair, `NEVER` where none do.

    `need`: of each pair, shape (pairs,); positive. `worth`: of each configuration what
    the numbers of units in its range are worth. `ranges`: the fewest and the most units
    of each configuration. `prices`: of a unit of each, 0 or more.
    """
    most = int(need.max())
    value, cost = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for each, (low, high), price in zip(worth, ranges, prices, strict=True):
        number, more = np.arange(low, high + 1), np.array(each, dtype=np.int64)
        value = np.minimum((value[:, None] + more).reshape(-1), most)
        cost = (cost[:, None] + number * price).reshape(-1)
        order = np.lexsort((cost, -value))
        cheapest = np.minimum.accumulate(cost[order])
        # Kept: whatever is cheaper than all of at least its value.
        kept = np.concatenate([[True], cheapest[1:] < cheapest[:-1]])
        value, cost = value[order][kept], cheapest[kept]
    # Values fall and costs fall with them: the last that is enough is the cheapest.
    place = np.searchsorted(-value, -need, side="right") - 1
    return np.where(place >= 0, cost[place], NEVER)


BOUND = BoundKind("configurations", _prove, straight=True)
