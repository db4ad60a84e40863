"""The search for what a demand takes in each number of configurations."""

from __future__ import annotations

import functools
from math import floor
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.task import Demand
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.synth.bounds.witness_search import WitnessSearch
from lightloom.synth.demand_configurations.durations import critical_lines, unit_bound
from lightloom.synth.demand_configurations.lines import shared_lines
from lightloom.synth.demand_configurations.units import MOST_EXACT
from lightloom.synth.lightpath.small_demands import small_division
from lightloom.synth.lightpath.tight_cuts import tight_cuts
from lightloom.validate.certificates.completion_time.configurations import (
    divided_lines,
    first_box,
)
from lightloom.validate.certificates.completion_time.step_costs import fixed_ps

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric
    from lightloom.synth.demand_configurations.durations import UnitBound
    from lightloom.synth.demand_configurations.lines import Lines
    from lightloom.validate.certificates.completion_time.configurations import (
        DividedLines,
        DurationBox,
        LineKey,
    )


_UNIT = 10**12
"""What weights of a line add up to at most, in whole numbers: rounded down, they lose a
part in 10**12 each."""
_MOST_TRIED = 6
"""Numbers of configurations that are tried, from the fewest on: each takes a linear
program."""
_MOST_UNITS = 64
"""Lasers of a node up to which covers are looked for: the table of a line grows as
their square."""
_COVER_WORK = 1_000_000_000
"""Operations of the search for covers at most: each box costs some, and a demand may
need any number of boxes."""
_COVER_WORK_A_PAIR = 2_000_000
"""The same for each pair, so that small demands are answered sooner."""
_STEPS = 8
"""Steps in which a cover is raised towards the goal. More come nearer to what can be
proven, and each is a search of its own."""
_MOST_PAIRS = 20_000
"""Pairs of a demand up to which weights are looked for: the linear programs grow with
them."""


def _find(fabric: AnyFabric, task: Task) -> Witness | None:
    """Return weights for each number of configurations that may be best."""
    if not isinstance(fabric, Lightpath) or not isinstance(task, Demand):
        return None
    if not task.src or len(task.src) > _MOST_PAIRS:
        return None
    return _weights_and_covers(fabric, task)


@functools.lru_cache(maxsize=2)  # asked by a search, and for the footer
def _weights_and_covers(fabric: Lightpath, task: Demand) -> Witness:
    """Return the witness of a demand that has pairs, and not too many."""
    cuts = tight_cuts(fabric, task)
    divided = divided_lines(fabric, task, cuts)
    lines, keys = shared_lines(divided), list(divided.lines)
    rooms = lines.capacity.tolist()
    many = [len(pairs) / room for pairs, room in zip(lines.members, rooms, strict=True)]
    widest = many.index(max(many))
    least = max(1, lines.fewest())
    weights: list[list[int]] = []
    least_ps: dict[int, float] = {}
    best = np.inf
    for count in range(least, least + _MOST_TRIED):
        cost = fixed_ps(fabric, count, count)
        if cost + lines.least_total >= best and count > MOST_EXACT:
            break
        if count == 1:
            line, time_ps = _alone(lines)
            weights.append([1, *keys[line], 0, _UNIT])
        else:
            found = unit_bound(lines, count)
            if found is None:
                break
            rows = _whole(lines, found, count)
            if not rows:
                break
            weights += [[count, *keys[line], *row] for line, *row in rows]
            time_ps = found.total
        best = min(best, cost + time_ps)
        least_ps[count] = cost + time_ps
    node, direction = keys[widest]
    witness: dict[str, int | list[int]] = {
        "least": least,
        "node": node,
        "direction": direction,
        "unit": _UNIT,
        "weights": [each for row in weights for each in row],
    }
    if cuts:
        witness["cuts"] = [each for cut in cuts for each in (len(cut), *cut.tolist())]
    last = least + len(least_ps)
    least_ps[last] = fixed_ps(fabric, last, last) + lines.least_total
    covers = _covers(fabric, task, divided, lines, least_ps)
    if covers:
        witness["covers"] = covers
    return witness


def _covers(
    fabric: Lightpath,
    task: Demand,
    divided: DividedLines,
    lines: Lines,
    least_ps: dict[int, float],
) -> list[int]:
    """Return covers of durations that raise the least of all numbers.

    `least_ps`: what is known for each number of configurations; what few take is
    raised.
    """
    if fabric.lasers > _MOST_UNITS or not divided.cuttable:
        return []
    covers: list[int] = []
    exact = small_division(fabric, task)
    for count, (total_ps, proof) in (exact.walks if exact else {}).items():
        covers += [count, total_ps, len(proof), *proof]
        ends_ps = fixed_ps(fabric, count, count) + total_ps
        least_ps[count] = max(least_ps.get(count, 0), ends_ps)
    if exact is not None and exact.proven:
        return covers
    keys = list(divided.lines)
    search = CoverSearch(divided, [keys[line] for line in critical_lines(lines)])
    work = min(_COVER_WORK, _COVER_WORK_A_PAIR * len(lines.need))
    few = [count for count in least_ps if 2 <= count <= MOST_EXACT]
    goal = min((time for each, time in least_ps.items() if each not in few), default=0)
    for count in few:
        cost = fixed_ps(fabric, count, count)
        first = least_ps[count]
        cover: list[int] = []
        for step in range(1, _STEPS + 1):
            total_ps = int(first + (goal - first) * step / _STEPS) - cost
            walk = search.walk(total_ps, count, work) if goal > first else None
            if walk is None:
                break
            cover = [count, total_ps, len(walk), *walk]
            least_ps[count] = total_ps + cost
        covers += cover
        goal = min(goal, least_ps[count])
    return covers


def _whole(lines: Lines, found: UnitBound, count: int) -> list[list[int]]:
    """Return weights as whole multiples that never add up to more than they may."""
    rows = zip(
        found.lines.tolist(),
        found.largest.tolist(),
        found.weights.tolist(),
        strict=True,
    )
    kept = [list(row) for row in rows]
    used = np.zeros(count)
    for line, largest, weight in kept:
        room = int(lines.capacity[line])
        units = count * room - len(lines.members[line]) + largest
        used += weight * np.clip(units - np.arange(count) * room, 0, room)
    most = float((np.cumsum(used) / np.arange(1, count + 1)).max())
    scale = _UNIT / max(1.0, most * (1 + 1e-12))
    whole = [[line, largest, floor(weight * scale)] for line, largest, weight in kept]
    return [row for row in whole if row[2] > 0]


def _alone(lines: Lines) -> tuple[int, float]:
    """Return the line that needs longest in one configuration, and how long."""
    worst, most = 0, 0.0
    for line, pairs in enumerate(lines.members):
        need, room = lines.need[pairs], int(lines.capacity[line])
        if not len(pairs) or np.ceil(need / max(most, 1e-9)).sum() <= room:
            continue
        low, high = most, float(need.max())
        for _ in range(60):
            middle = (low + high) / 2
            if np.ceil(need / middle).sum() <= room:
                high = middle
            else:
                low = middle
        worst, most = line, high
    return worst, most


SEARCHES = WitnessSearch("configurations", _find, long=True)


_KEPT = 6
"""Prices that refuted the last boxes, tried first: neighbours fall to the same ones,
and each that does not costs a look at all units."""
_TURNS = 60
"""Steps of the ascent of prices; each goes through the table of all combinations."""
_RISE = 0.7
"""How much the price of a duration rises that is twice as busy as it may be, as a
logarithm, in the first turn. Larger prices swing, smaller ones arrive late."""
_WHOLE = 1000
"""The largest price, in whole numbers: a thousandth is the margin that prices must win
by."""
_MOST_COMBINATIONS = 20_000
"""Ways to give a pair units of each duration, a table that each turn goes through."""
_FINEST = 400
"""Part of the total time, one in so many, below which the widest side of a box is not
halved: the search gives up."""
_CALL = 20_000
"""What a call costs beside its table, in the operations that `_COVER_WORK` counts."""


class CoverSearch:
    """Looks for covers of durations, for one demand.

    `divided`: the demand and its lines. `likely`: the lines that are likely to be in
    the way.
    """

    def __init__(self, divided: DividedLines, likely: list[LineKey]) -> None:
        self._divided, self._lines, self.work = divided, likely, 0
        self._last: list[tuple[LineKey, tuple[int, ...]]] = []

    def walk(self, total_ps: int, count: int, work: int) -> list[int] | None:
        """Return a walk that proves that data move longer, if it is found."""
        self._last, self.work = [], work
        walk: list[int] = []
        stack = [first_box(total_ps, count)]
        while stack:
            box = stack.pop().tightened(total_ps)
            if box is None:
                continue
            refuted = self._refuted(box, total_ps)
            if refuted is not None:
                line, prices = refuted
                walk += [1, *line, *prices]
                continue
            widths = [high - low for low, high in box.sides]
            axis = widths.index(max(widths))
            if self.work < 0 or widths[axis] * _FINEST < total_ps:
                return None
            walk += [-1, axis]
            stack += reversed(box.halves(axis))
        return walk

    def _refuted(
        self, box: DurationBox, total_ps: int
    ) -> tuple[LineKey, tuple[int, ...]] | None:
        """Return a line and prices at which it cannot be served, if there are."""
        for place, (line, prices) in enumerate(self._last):
            if self._costs_more(line, box, total_ps, prices):
                self._last.insert(0, self._last.pop(place))
                return line, prices
        for place, line in enumerate(self._lines):
            found = self._prices(line, box, total_ps)
            if found is not None:
                self._lines.insert(0, self._lines.pop(place))
                self._last = [(line, found), *self._last][:_KEPT]
                return line, found
        return None

    def _costs_more(
        self, line: LineKey, box: DurationBox, total_ps: int, prices: tuple[int, ...]
    ) -> bool:
        self.work -= (self._divided.units + 1) ** 2 * len(prices) * 4 + _CALL
        return self._divided.refuted(box, total_ps, ((line, prices),), corners=False)

    def _prices(
        self, line: LineKey, box: DurationBox, total_ps: int
    ) -> tuple[int, ...] | None:
        """Return prices that refute durations, raised where units are short."""
        shared = self._divided.lines[line]
        units, room = self._divided.units, shared.room
        durations_ps = box.above(total_ps)
        need = self._divided.need_ps[shared.pairs].astype(np.float64)
        count = len(durations_ps)
        times = np.array(durations_ps, dtype=np.float64)
        even = tuple(int(_WHOLE * each / max(1.0, times.max())) for each in times)
        if need.sum() > room * times.sum() or len(need) > room * count:
            return even if self._costs_more(line, box, total_ps, even) else None
        most = np.minimum(units, np.ceil(need.max() / np.maximum(times, 1))).astype(int)
        size = int(np.prod(most + 1))
        if size > _MOST_COMBINATIONS:
            return None
        grid = np.indices(tuple(most + 1)).reshape(count, -1).T
        value = grid @ times
        order = np.argsort(-value, kind="stable")
        grid, value = grid[order], value[order]
        enough = np.searchsorted(-value, -need, side="right") - 1
        if enough.min() < 0:
            return even if self._costs_more(line, box, total_ps, even) else None
        price = times / times.sum()
        places = np.arange(size)
        for turn in range(1, _TURNS + 1):
            cost = grid @ price
            least = np.minimum.accumulate(cost)
            self.work -= size * (count + 2) + _CALL
            if least[enough].sum() > room * price.sum() * (1 + 1e-3):
                whole = tuple(round(_WHOLE * each) for each in price / price.max())
                if self._costs_more(line, box, total_ps, whole):
                    return whole
            taken = np.maximum.accumulate(np.where(cost <= least, places, 0))[enough]
            load = grid[taken].sum(axis=0)
            price = price * np.exp((load / room - 1) * _RISE / turn**0.5)
            price /= price.sum()
        return None
