"""Routes of an all-to-all on a box of nodes, in one to four phases of shifts.

The displacement of a block is made up of digits. Each phase is some shifts, of which a
block takes one, with one offset c of the groups. In phase 1 c makes up for the groups
alone; in phase 2 c is the displacement of racks as well, where racks can turn with
groups, and c div J a digit of that of numbers; in phases 3 and 4 c is such a digit.
What is left of racks and numbers is given by which shift of a phase is taken. So every
displacement has exactly one route, and every c of a phase carries equally many blocks
where the digits are complete:

- one phase, direct: J L shifts, and each block is sent once;
- two phases: about 2 sqrt(L) shifts, and each block is sent twice;
- three phases: about 3 cbrt(L / x) shifts; four: 4, as long as L is at most x * x.

With k phases, S shifts take S alpha + k B / R, R being the rate of a node.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.units import transmission_ps
from lightloom.synth.ramp.node_box import Shift

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.synth.ramp.node_box import NodeBox

MOST_PHASES = 4


@dataclass(frozen=True, eq=False)
class Routes:
    """The way of every block of an all-to-all.

    `shifts`: in the order in which they are lit. `shift`: shift that the blocks of each
    displacement take in each of their hops, ascending, -1 where there is none; shape
    (hops, displacements). `offset`: offset of the groups by which they move, of the
    same shape.
    """

    box: NodeBox
    shifts: tuple[Shift, ...]
    shift: IntArray
    offset: IntArray

    @cached_property
    def loads(self) -> IntArray:
        """Blocks that a node sends in each shift at each offset, (shifts, groups)."""
        groups, taken = self.box.groups, self.shift >= 0
        slot = self.shift[taken] * groups + self.offset[taken]
        counts = np.bincount(slot, minlength=len(self.shifts) * groups)
        return counts.reshape(len(self.shifts), groups)

    @cached_property
    def hops(self) -> tuple[IntArray, IntArray]:
        """How far blocks are from their origin before each hop, and how far they go.

        Two columns of displacements of the shape of `shift`.
        """
        before, by = np.zeros_like(self.shift), np.zeros_like(self.shift)
        if self.shifts:
            leads = np.stack([one.displacements(self.box) for one in self.shifts])
            by = np.where(self.shift < 0, 0, leads[self.shift, self.offset])
        for hop in range(1, len(before)):
            before[hop] = self.box.moved(before[hop - 1], by[hop - 1])
        return before, by

    def time_ps(self, block_bytes: int) -> int:
        """Return what the shifts take, up to rounding."""
        fabric = self.box.fabric
        data_ps = sum(
            transmission_ps(most * block_bytes, shift.pair_bits_per_s(self.box))
            for shift, most in zip(
                self.shifts, self.loads.max(axis=1).tolist(), strict=True
            )
        )
        fixed_ps = fabric.alpha_ps + fabric.reconfiguration_ps
        charged = fabric.initial_configuration_charged
        free_ps = 0 if charged else fabric.reconfiguration_ps
        return len(self.shifts) * fixed_ps - free_ps + data_ps


@dataclass(frozen=True)
class _Phase:
    """Shifts that are alike, but for constants.

    `racks`, `numbers`: shifts by so many constant numbers of racks, and for each by so
    many of numbers. `turns`: whether racks turn with groups. `digits`: values of the
    digit of numbers that the offset of groups says, 1 if none. `digit_width`,
    `shift_width`: what one more of this digit, and of the shift, adds to the number.
    """

    racks: int
    numbers: int
    turns: bool
    digits: int
    digit_width: int
    shift_width: int


def exchange_routes(box: NodeBox, phases: int) -> Routes:
    """Return the routes in a number of phases, with the fewest shifts."""
    made = _phases(box, phases)
    displacement = np.arange(len(box), dtype=np.int64)
    group, rack, number = box.coordinates(displacement)
    offsets: list[IntArray] = []
    for phase in made[1:]:
        digit = number // phase.digit_width % phase.digits
        offsets.append(rack + box.racks * digit if phase.turns else digit)
    spent = sum(offsets, np.zeros(len(box), dtype=np.int64))
    offsets.insert(0, (group - spent) % box.groups)
    shifts: list[Shift] = []
    taken: list[IntArray] = []
    for phase, offset in zip(made, offsets, strict=True):
        candidates = list(_shifts(box, phase))
        of_shift = number // phase.shift_width % phase.numbers
        if not phase.turns:
            of_shift += rack % phase.racks * phase.numbers
        leads = np.stack([shift.displacements(box) for shift in candidates])
        away = leads[of_shift, offset] > 0
        lit = np.zeros((len(candidates), box.groups), dtype=np.bool_)
        lit[of_shift[away], offset[away]] = True
        used = lit.any(axis=1)
        index = len(shifts) + np.cumsum(used) - 1
        taken.append(np.where(away, index[of_shift], -1))
        shifts += [
            replace(candidates[row], lit=np.flatnonzero(lit[row]))
            for row in np.flatnonzero(used).tolist()
        ]
    return Routes(box, tuple(shifts), np.stack(taken), np.stack(offsets))


def _shifts(box: NodeBox, phase: _Phase) -> Iterator[Shift]:
    offset = np.arange(box.groups, dtype=np.int64)
    digit = offset // box.racks if phase.turns else offset
    digit = digit % phase.digits * phase.digit_width
    for racks in range(phase.racks):
        for number in range(phase.numbers):
            numbers = (digit + number * phase.shift_width) % box.numbers
            yield Shift(racks, phase.turns, numbers, offset)


def _phases(box: NodeBox, count: int) -> list[_Phase]:
    """Return the phases with the fewest shifts in all."""
    turning = box.turns and count > 1
    digits = [1] + [box.groups] * (count - 1)
    if turning:
        digits[1] = box.groups // box.racks
    width, widths = 1, []
    for index, values in enumerate(digits):
        # Digits beyond the last number would only leave offsets without blocks.
        digits[index] = min(values, -(-box.numbers // width))
        widths.append(width)
        width *= digits[index]
    rest = -(-box.numbers // width)
    best: tuple[int, int, tuple[int, ...]] | None = None
    for carrier in range(count):
        racks = [1] * count
        if not turning:
            racks[carrier] = box.racks
        numbers = _fewest(rest, racks)
        total = sum(a * b for a, b in zip(racks, numbers, strict=True))
        if best is None or total < best[0]:
            best = (total, carrier, numbers)
    assert best is not None
    _, carrier, numbers = best
    made = []
    # The shifts of the first phase are the highest digit: so it sends whole ranges.
    for index in reversed(range(count)):
        alone = index == carrier and not turning
        made.append(
            _Phase(
                racks=box.racks if alone else 1,
                numbers=numbers[index],
                turns=turning and index == 1,
                digits=digits[index],
                digit_width=widths[index],
                shift_width=width,
            )
        )
        width *= numbers[index]
    return made[::-1]


def _fewest(product: int, weights: list[int]) -> tuple[int, ...]:
    """Return factors of `product` or more of which the weighted sum is least."""
    if len(weights) == 1:
        return (product,)
    best: tuple[int, tuple[int, ...]] | None = None
    for first in range(1, product + 1):
        if best is not None and first * weights[0] + sum(weights[1:]) >= best[0]:
            break
        rest = _fewest(-(-product // first), weights[1:])
        total = first * weights[0] + sum(
            a * b for a, b in zip(rest, weights[1:], strict=True)
        )
        if best is None or total < best[0]:
            best = (total, (first, *rest))
    assert best is not None
    return best[1]
