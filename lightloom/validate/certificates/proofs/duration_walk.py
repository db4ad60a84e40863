"""Durations of a few configurations that no lines can be served with, box by box.

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

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.validate.certificates.proofs.duration_boxes import first_box
from lightloom.validate.certificates.proofs.unit_costs import NEVER, least_cost, total

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.validate.certificates.proofs.duration_boxes import (
        DurationBox,
        Ranges,
    )

MOST_NUMBER = 2**40
"""Longest time of a pair on one wavelength, in picoseconds, that boxes are cut for."""

_MOST_CONFIGURATIONS = 64
_MOST_PRICE = 2**40
_MOST_CORNERS = 2**6
_HALVED, _SPLIT, _WEIGHED = -1, -2, -3

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
        bits = [each * BITS_PER_BYTE * PS_PER_S for each in self.size_bytes.tolist()]
        return np.array([-(-each // self.bits_per_s) for each in bits], dtype=np.int64)

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
        for number, each in enumerate(alike):
            yield some[which.reshape(-1) == number], each, free

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
        found = np.full(len(pairs), NEVER)
        for times in box.corners(total_ps):
            worth = [
                [number * time_ps for number in range(low, high + 1)]
                for time_ps, (low, high) in zip(times, ranges, strict=True)
            ]
            costs = least_cost(self.need_ps[pairs], worth, ranges, paid.tolist())
            found = np.minimum(found, costs)
        return found

    def fault(self, total_ps: int, count: int, walk: Sequence[int]) -> str | None:
        """Return why a walk does not prove that data move longer, ``None`` if it does.

        `total_ps`: the time that data move in all configurations, at least.
        """
        if not 0 <= total_ps < MOST_NUMBER or not 1 <= count <= _MOST_CONFIGURATIONS:
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
                known = all(0 <= pair < len(self.size_bytes) for pair in flat[::2])
                weights = list(zip(flat[::2], flat[1::2], strict=True))
                if not known or min(flat[1::2], default=-1) < 0:
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
            line, direction, *each = (next(rest, -1) for _ in range(len(box.sides) + 3))
            if min(each) < 0 or max(each) >= _MOST_PRICE:
                return f"a price is not among 0 to {_MOST_PRICE - 1}, or the walk ends"
            if (line, direction) not in self.lines:
                return f"{line} has no pairs in direction {direction}"
            prices.append(((line, direction), tuple(each)))
        try:
            proven = self.refuted(box, total_ps, tuple(prices))
        except OverflowError as fault:
            return str(fault)
        return None if proven else f"all lines of {prices} can be served within a box"
