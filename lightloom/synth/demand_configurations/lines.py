"""The lines of a demand: sets of pairs that share a capacity."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.core.units import transmission_ps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.validate.certificates.completion_time.configurations import (
        DividedLines,
    )


_PASSES = 3
"""Times that every pair chooses its route."""


@dataclass(frozen=True, eq=False)
class Lines:
    """Pairs with their needs, and the lines that they are on.

    `need`: how long one unit takes to move the data of each pair, shape (pairs,); above
    0. `of_pair`: the lines of each pair, shape (pairs, most lines of a pair); places
    that are left over hold the number of lines. `capacity`: units that the pairs of a
    line may have in a configuration, shape (lines,). `exact`: the first so many lines
    have all units in one place: no pair on them needs less than a unit of some
    configuration. What nodes send and receive.
    """

    need: FloatArray
    of_pair: IntArray
    capacity: IntArray
    exact: int

    @cached_property
    def members(self) -> list[IntArray]:
        """The pairs of each line, those of most need first."""
        order = np.argsort(-self.need, kind="stable")
        line = self.of_pair[order].reshape(-1)
        pair = np.repeat(order, self.of_pair.shape[1])
        by_line = np.argsort(line, kind="stable")
        ends = np.searchsorted(line[by_line], np.arange(len(self.capacity) + 1))
        return [pair[by_line[a:b]] for a, b in pairwise(ends.tolist())]

    @cached_property
    def least_total(self) -> float:
        """How long all configurations last together at least: the fullest line."""
        sums = [
            self.need[pairs].sum() / room
            for pairs, room in zip(self.members, self.capacity.tolist(), strict=True)
        ]
        return float(max(sums, default=0.0))

    @cached_property
    def most_units(self) -> int:
        """Units that a pair may have in a configuration: as many as all its lines."""
        room = np.append(self.capacity, self.capacity.max(initial=0))
        return int(room[self.of_pair].min(axis=1).max(initial=0))

    @property
    def of_ends(self) -> bool:
        """Whether every pair is on two lines, one of each half: its two ends."""
        half, count = len(self.capacity) // 2, len(self.capacity)
        if self.exact < count or count % 2 or self.of_pair.shape[1] != 2:
            return False
        first, second = self.of_pair.T
        return bool(
            (first < half).all() and ((second >= half) & (second < count)).all()
        )

    def fewest(self) -> int:
        """Return the fewest configurations in which every pair has a unit."""
        return max(
            (
                -(-len(pairs) // room)
                for pairs, room in zip(
                    self.members, self.capacity.tolist(), strict=True
                )
            ),
            default=0,
        )


def node_lines(
    src: IntArray, dst: IntArray, need: FloatArray, nodes: int, units: int
) -> Lines:
    """Return the lines of what each node sends, then of what each receives.

    `src`, `dst`: ends of each pair, shape (pairs,). `units`: units of a node, each way.
    """
    of_pair = np.stack([src, nodes + dst], axis=1)
    capacity = np.full(2 * nodes, units, dtype=np.int64)
    return Lines(need, of_pair, capacity, 2 * nodes)


def shared_lines(divided: DividedLines) -> Lines:
    """Return the lines of a demand, in their order; needs in picoseconds.

    `divided`: the demand and its lines, whose pairs all have a unit there at least.
    """
    lines = list(divided.lines.values())
    crossed = [np.zeros(len(divided.size_bytes), dtype=np.bool_) for _ in lines]
    for mask, line in zip(crossed, lines, strict=True):
        mask[line.pairs] = True
    of_pair = np.where(np.stack(crossed, axis=1), np.arange(len(lines)), len(lines))
    of_pair = np.sort(of_pair, axis=1)[:, : int(np.sum(crossed, axis=0).max())]
    capacity = np.array([line.room for line in lines], dtype=np.int64)
    sizes, rate = divided.size_bytes.tolist(), divided.bits_per_s
    # As integers they may not fit 64 bits, where a rate is very low.
    need = np.array([float(transmission_ps(size, rate)) for size in sizes])
    return Lines(need, of_pair, capacity, len(lines))


def routed_lines(
    lines: Lines, options: Sequence[Sequence[IntArray]], room: IntArray
) -> tuple[Lines, list[int]]:
    """Return lines with those of the places on the routes of pairs, and the routes.

    Every pair takes the route on which the cubes of what places carry for their room
    add up to least, those of most need first, and again a few times.

    `options`: places of each route that a pair may take, one route or more. `room`:
    units that a place has in a configuration, shape (places,).
    """
    load = np.zeros(len(room))
    scale = lines.need.sum() or 1.0
    chosen = [-1] * len(options)

    def cost(need: float, places: IntArray) -> float:
        before, after = load[places], load[places] + need
        return float(((after / room[places]) ** 3 - (before / room[places]) ** 3).sum())

    for _ in range(_PASSES):
        for pair in np.argsort(-lines.need, kind="stable").tolist():
            need, routes = float(lines.need[pair]) / scale, options[pair]
            if chosen[pair] >= 0:
                load[routes[chosen[pair]]] -= need
            chosen[pair] = min(
                range(len(routes)), key=lambda one: cost(need, routes[one])
            )
            load[routes[chosen[pair]]] += need
    taken = [each[one] for each, one in zip(options, chosen, strict=True)]
    return _joined(lines, taken, room), chosen


def _joined(lines: Lines, taken: Sequence[IntArray], room: IntArray) -> Lines:
    """Return lines, and those of the places that are used."""
    crossed = Ragged.from_lists([each.tolist() for each in taken])
    used, number = np.unique(crossed.values, return_inverse=True)
    others = len(lines.capacity)
    ends = lines.of_pair.shape[1]
    shape = len(taken), ends + int(crossed.lengths.max())
    of_pair = np.full(shape, others + len(used))
    of_pair[:, :ends] = lines.of_pair
    row = crossed.row_of_value
    place = np.arange(len(row)) - np.repeat(
        np.cumsum(crossed.lengths) - crossed.lengths, crossed.lengths
    )
    of_pair[row, ends + place] = others + number
    capacity = np.concatenate([lines.capacity, room[used]])
    return Lines(lines.need, of_pair, capacity, lines.exact)
