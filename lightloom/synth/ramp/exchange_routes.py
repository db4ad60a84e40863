"""Routes of an all-to-all on a box of nodes, along shifts.

In one to four phases:

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

Routes of an all-to-all on a small box of nodes along few random shifts.

A block takes one shift, or two or three in their order, whichever is least; of several
routes one whose offsets of the groups have fewest blocks. That comes close to the bound
``hops``: S random shifts lead to S x displacements at once, to nearly C(S, 2) x^2 by
two of them, and so on.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.schedule import Op, Segment, StepPart
from lightloom.core.seed import seeded_random
from lightloom.core.units import transmission_ps
from lightloom.synth.ramp.node_box import (
    MOST_ROWS,
    NodeBox,
    Shift,
    fewest_shifts,
    joined_rows,
    random_shift,
    ranks_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.ramp import Ramp
    from lightloom.synth.ramp.node_box import Followed


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


MOST_NODES = 256
"""Most nodes of a box for which routes are searched."""
_MOST_HOPS = 3
"""Hops of a route: there are as many slots to the power of hops."""
_MORE_SHIFTS = 5
"""Numbers of shifts from the fewest on: more shifts balance loads, and each costs a
setting."""
_TRIALS = 24
"""Draws for each number of shifts; each takes a search of all displacements."""
_PASSES = 2
"""Times that each displacement chooses: in the first it does not know who comes after
it."""

_Found = tuple[tuple["Shift", ...], "IntArray", "IntArray"]


def relay_routes(box: NodeBox, block_bytes: int) -> Routes | None:
    """Return the routes along random shifts that are fastest for a size of blocks.

    Returns ``None`` for more than `MOST_NODES` nodes, and where none are found.
    """
    if not 1 < len(box) <= MOST_NODES:
        return None
    sizes = (box.groups, box.racks, box.numbers)
    found = [Routes(box, *one) for one in _searched(box.fabric, *sizes)]
    return min(found, key=lambda one: one.time_ps(block_bytes), default=None)


@functools.lru_cache(maxsize=8)
def _searched(
    fabric: Ramp, groups: int, racks: int, numbers: int
) -> tuple[_Found, ...]:
    """Return the best routes for each of some numbers of shifts."""
    count = groups * racks * numbers
    box = NodeBox(fabric, groups, racks, numbers, np.arange(count, dtype=np.int64))
    random = seeded_random(count)
    least = fewest_shifts(groups, count)
    found = []
    for shifts in range(least, least + _MORE_SHIFTS):
        best: tuple[int, _Found] | None = None
        for _ in range(_TRIALS):
            drawn = tuple(random_shift(box, random, index) for index in range(shifts))
            columns = _routed(box, drawn)
            if columns is None:
                continue
            busiest = int(Routes(box, drawn, *columns).loads.max(axis=1).sum())
            if best is None or busiest < best[0]:
                best = (busiest, (drawn, *columns))
        if best is not None:
            found.append(best[1])
    return tuple(found)


def _routed(
    box: NodeBox, shifts: tuple[Shift, ...]
) -> tuple[IntArray, IntArray] | None:
    """Return shifts and offsets of all hops, ``None`` where some are not reached."""
    groups = box.groups
    slots = [index * groups + shift.lit for index, shift in enumerate(shifts)]
    leads = np.concatenate([shift.displacements(box) for shift in shifts])
    options: dict[int, list[tuple[int, ...]]] = {}
    for hops in range(1, _MOST_HOPS + 1):
        fresh: dict[int, list[tuple[int, ...]]] = {}
        for chosen in combinations(slots, hops):
            ways = np.stack(np.meshgrid(*chosen, indexing="ij")).reshape(hops, -1)
            there = leads[ways[0]]
            for way in ways[1:]:
                there = box.moved(there, leads[way])
            for target, way in zip(there.tolist(), ways.T.tolist(), strict=True):
                if target and target not in options:
                    fresh.setdefault(target, []).append(tuple(way))
        options |= fresh
        if len(options) == len(box) - 1:
            break
    if len(options) < len(box) - 1:
        return None
    return _columns(box, _chosen(options, len(leads)))


def _chosen(
    options: dict[int, list[tuple[int, ...]]], slots: int
) -> dict[int, tuple[int, ...]]:
    """Return a route of each displacement, such that slots are nearly equally busy."""
    loads = [0] * slots
    chosen: dict[int, tuple[int, ...]] = {}

    def cost(way: tuple[int, ...]) -> tuple[int, int]:
        busy = [loads[slot] for slot in way]
        return max(busy), sum(busy)

    order = sorted(options, key=lambda target: (len(options[target]), target))
    for _ in range(_PASSES):
        for target in order:
            for slot in chosen.get(target, ()):
                loads[slot] -= 1
            best = min(options[target], key=cost)
            chosen[target] = best
            for slot in best:
                loads[slot] += 1
    return chosen


def _columns(
    box: NodeBox, chosen: dict[int, tuple[int, ...]]
) -> tuple[IntArray, IntArray]:
    shape = (_MOST_HOPS, len(box))
    slot = np.full(shape, -1, dtype=np.int64)
    for target, way in chosen.items():
        slot[: len(way), target] = way
    return np.where(slot < 0, -1, slot // box.groups), slot % box.groups


@dataclass(frozen=True, eq=False)
class RoutedExchange:
    """An all-to-all, and the routes that its blocks take.

    `routes`: in the box of its nodes.
    """

    collective: Collective
    routes: Routes

    def events(self) -> Iterator[Segment | StepPart]:
        """Yield segments and steps, these in parts of about `MOST_ROWS` rows."""
        box, rank = self.routes.box, ranks_of(self.routes.box, self.collective)
        before, by = (column.reshape(-1) for column in self.routes.hops)
        for index, hops in enumerate(self._hops(slice(None))):
            yield Segment(0, index, self.routes.shifts[index].circuits(box))
            moving = hops % len(box)
            size = max(1, MOST_ROWS // len(hops))
            for start in range(0, len(box), size):
                src = np.arange(start, min(start + size, len(box)))[:, None]
                origin = box.moved(src, box.opposite(before[hops]))
                block = rank[origin] * len(box) + rank[box.moved(origin, moving)]
                dst = box.moved(src, by[hops])
                ends = np.repeat(src[:, 0], len(hops)), dst.reshape(-1)
                rows = joined_rows(
                    box.nodes, ends, block.reshape(-1), self.chunks, Op.COPY
                )
                yield StepPart(index, 0, index, rows)

    def followed(self, sources: IntArray, targets: IntArray) -> Followed:
        """Return the first chunks of some blocks, and the events in which they move.

        `sources`, `targets`: ranks that the blocks go from and to, all pairs different,
        shape (blocks,) each.
        """
        blocks = sources * len(self.routes.box) + targets
        return self.chunks(blocks), self._moving(blocks)

    def _moving(self, blocks: IntArray) -> Iterator[Segment | StepPart]:
        """Yield the segments, each with its step, where only some blocks move."""
        box = self.routes.box
        place = np.argsort(ranks_of(box, self.collective))
        origin, target = place[blocks // len(box)], place[blocks % len(box)]
        displacement = box.moved(target, box.opposite(origin))
        before, by = (column[:, displacement] for column in self.routes.hops)
        src = box.moved(origin, before).reshape(-1)
        dst = box.moved(src, by.reshape(-1))
        for index, hops in enumerate(self._hops(displacement)):
            yield Segment(0, index, self.routes.shifts[index].circuits(box))
            ends, moving = (src[hops], dst[hops]), blocks[hops % len(blocks)]
            rows = joined_rows(box.nodes, ends, moving, self.chunks, Op.COPY)
            yield StepPart(index, 0, index, rows)

    def _hops(self, chosen: IntArray | slice) -> Iterator[IntArray]:
        """Yield the hops of chosen displacements in each shift.

        Hop h of the i-th of n displacements is number ``h n + i``.
        """
        shift = self.routes.shift[:, chosen].reshape(-1)
        order = np.argsort(shift, kind="stable")
        ends = np.searchsorted(shift[order], np.arange(len(self.routes.shifts) + 1))
        for first, last in pairwise(ends.tolist()):
            yield order[first:last]

    def chunks(self, blocks: IntArray) -> IntArray:
        """Return the first chunk of blocks."""
        each = self.collective.chunk_count // len(self.routes.box)
        return blocks * each
