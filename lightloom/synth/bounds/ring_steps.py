"""The search for prices of spans in steps, by cutting planes, few steps first."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.task import Collective
from lightloom.instances.fabrics.ring import Ring
from lightloom.synth.bounds.witness_search import WitnessSearch
from lightloom.validate.certificates.completion_time.ring_steps import (
    MOST_STEPS,
    NEVER,
    WHOLE,
    RingTrees,
    far_ps,
    fewest_steps,
    serves,
    table_ps,
)

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


_MOST_TABLES = 7
"""Numbers of steps that are looked at: bounds of those beside them follow by prices of
their neighbours."""
_MOST_WORK = 64 * 80
"""Largest product of nodes and steps: a second of a processor."""
_MOST_CUTS = 12
"""Cuts of the program for one number of steps; it mostly ends earlier, by `_CLOSE`."""
_CLOSE = 0.004
"""Gain that a further cut may promise, in prices that add up to 1, and is not made
for."""
_BENDS = (0.0, 0.08, 0.2, 0.4, 0.7, 1.0)
"""Where the line of prices bends, as parts of all steps."""


def _find(fabric: AnyFabric, task: Task) -> Witness | None:
    """Return prices for those numbers of steps that may be the best."""
    if not serves(fabric, task):
        return None
    assert isinstance(fabric, Ring)
    assert isinstance(task, Collective)
    found = _Tables(fabric, task)
    for _ in range(_MOST_TABLES):
        steps = found.next_steps()
        if steps is None:
            break
        found.costs[steps] = _prices(
            fabric.nodes, fabric.reach, steps, one_way=fabric.directions == 1
        )
    used = [steps for steps in sorted(found.costs) if found.costs[steps][0] < NEVER]
    prices = [price for steps in used for price in found.costs[steps][1]]
    return {"steps": used, "prices": prices}


@dataclass(frozen=True, eq=False)
class _Tables:
    """Prices by the number of steps, and the least cost of a tree with each."""

    fabric: Ring
    task: Collective
    costs: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)

    def next_steps(self) -> int | None:
        """Return the number of steps to look at next, ``None`` for no other.

        Where the bound is least: the middle of those numbers of steps that one table
        speaks for, or twice the most so far.
        """
        last, least = fewest_steps(self.fabric) - 1, None
        where = last, last
        for steps in sorted(self.costs):
            cost = self.costs[steps][0]
            now_ps = table_ps(self.fabric, self.task, last, steps, cost)
            if now_ps is not None and (least is None or now_ps < least):
                least, where = now_ps, (last, steps)
            last = steps
        most = min(MOST_STEPS, _MOST_WORK // self.fabric.nodes)
        if last < most:
            far = far_ps(self.fabric, self.task, last, least)
            if least is None or far < least:
                return min(most, max(2 * last, last + 4))
        first, steps = where
        middle = (first + 1 + steps) // 2
        return None if middle in self.costs or steps <= first + 1 else middle


@functools.lru_cache(maxsize=64)
def _prices(
    nodes: int, reach: int, steps: int, *, one_way: bool
) -> tuple[int, tuple[int, ...]]:
    """Return what a tree costs at least with the best prices found, and these.

    The least cost is concave in the prices, and a tree that costs least says how it
    changes with them. A linear program takes all trees so far together; half of the
    way from the best prices to what it proposes is looked at next.
    """
    from scipy.optimize import linprog

    at = np.unique(np.rint(np.array(_BENDS) * (steps - 1)).astype(np.int64))
    bends = len(at)
    line = np.stack(
        [np.interp(np.arange(steps), at, row) for row in np.eye(bends)], axis=1
    )
    part = np.linspace(0.1, 0.9, bends)
    rising = np.eye(bends - 1, bends + 1) - np.eye(bends - 1, bends + 1, 1)
    rows, sides = [*rising], [0.0] * (bends - 1)
    best: tuple[int, tuple[int, ...]] = NEVER, ()
    for _ in range(_MOST_CUTS):
        whole = (line @ part * WHOLE).astype(np.int64) // (nodes - 1)
        egress = WHOLE - (nodes - 1) * whole
        trees = RingTrees.of(nodes, reach, whole, egress, one_way=one_way)
        cost = int(trees.first().min())
        if cost >= NEVER:
            return cost, ()
        if not best[1] or cost > best[0]:
            best, center = (cost, tuple(whole.tolist())), part
        crossed, left = _counts(trees)
        rows.append(np.append(-(crossed / (nodes - 1) - left) @ line, 1.0))
        sides.append(float(left.sum()))
        aim = np.append(np.zeros(bends), -1.0)
        limits = [(0.0, 1.0)] * bends + [(None, None)]
        found = linprog(aim, np.array(rows), sides, bounds=limits, method="highs-ds")
        if not found.success or -found.fun - best[0] / WHOLE < _CLOSE:
            break
        part = (center + np.clip(found.x[:bends], 0.0, 1.0)) / 2
    return best


def _counts(trees: RingTrees) -> tuple[IntArray, IntArray]:
    """Return spans that a cheapest tree crosses, and its circuits from the root.

    Both by step, shape (steps,).
    """
    steps = len(trees.span)
    crossed, left = np.zeros(steps, dtype=np.int64), np.zeros(steps, dtype=np.int64)
    away, step = _least(trees.first())
    crossed[step] += away
    left[step] += 1
    beside, between = [(away, step + 1)], list[tuple[int, int, int]]()
    if trees.one_way:
        between.append((len(trees.beside) - away, step + 1, 0))
    else:
        beside.append((len(trees.beside) - away, step + 1))
    while beside:
        apart, told = beside.pop()
        if apart == 1:
            continue
        sent, passed = trees.from_root(apart)[:, :, told], trees.from_node(apart)
        if trees.one_way or sent.min() <= passed[:, told].min():
            away, step = _least(sent)
            left[step] += 1
            between.append((apart - away, step + 1, told))
            beside.append((away, step + 1))
        else:
            away, step = _least(passed[:, told])[0], told
            between.append((away, told, told + 1))
            beside.append((apart - away, told + 1))
        crossed[step] += away
    while between:
        apart, one, other = between.pop()
        if apart == 1:
            continue
        costs = trees.from_left(apart)
        swapped = costs[:, other, one].min()
        if not trees.one_way and costs[:, one, other].min() > swapped:
            one, other = other, one
        away = _least(costs[:, one, other])[0]
        crossed[one] += away
        between += [(away, one, one + 1), (apart - away, one + 1, other)]
    return crossed, left


def _least(cost: IntArray) -> tuple[int, ...]:
    """Return how far the cheapest first node is, from 1, and its step where it has."""
    away, *step = np.unravel_index(int(cost.argmin()), cost.shape)
    return int(away) + 1, *map(int, step)


SEARCHES = WitnessSearch("ring-steps", _find, long=True)
"""The search for prices of spans."""
