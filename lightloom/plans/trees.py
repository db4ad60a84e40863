"""Rounds that send a buffer down several trees at once, a piece behind another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.schedule import Op
from lightloom.plans.plan import Partition, merged, reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round

CHUNKS_OF_A_PIECE = 16
"""So many that pieces which are uneven by a chunk hardly differ: all rounds of a
pipeline last as long as the longest piece."""


def timed_rounds(
    collective: Collective,
    src: IntArray,
    dst: IntArray,
    turn: IntArray,
    part: IntArray,
    port: IntArray,
    parts: int,
    length: IntArray | None = None,
) -> list[Round]:
    """Return the rounds of a broadcast, or their reversal, from when each copy goes.

    `turn`: the round of each copy, by any numbers. `part`: the first part of the buffer
    that is copied, from 0. `length`: how many parts, by default one.
    """
    cut = Partition(parts, collective.chunk_count)
    count = np.ones_like(part) if length is None else length
    order = np.argsort(turn, kind="stable")
    bounds = np.flatnonzero(np.diff(turn[order])) + 1
    rounds = [
        cut.round(src[row], dst[row], part[row], count[row], port=port[row], op=Op.COPY)
        for row in np.split(order, bounds)
    ]
    made = [one for one in rounds if one is not None]
    return reversed_rounds(made, Op.REDUCE) if collective.op == "reduce" else made


def staggered(pieces: Sequence[Sequence[Round]]) -> list[Round]:
    """Return the rounds of pieces, each of which begins a round after the last one."""
    count = max((start + len(rounds) for start, rounds in enumerate(pieces)), default=0)
    at_once: list[list[Round | None]] = [[] for _ in range(count)]
    for start, rounds in enumerate(pieces):
        for turn, one in enumerate(rounds, start):
            at_once[turn].append(one)
    return [one for one in map(merged, at_once) if one is not None]


@dataclass(frozen=True, eq=False)
class TreeRows:
    """A row for each rank but the root of each tree, the trees one after another.

    `src`, `dst`: who feeds whom, shape (rows,). `depth`: of `dst`: 1 where the root
    feeds it.
    """

    src: IntArray
    dst: IntArray
    depth: IntArray
    port: IntArray
    trees: int

    def rounds(
        self, collective: Collective, pieces: int, last: TreeRows | None = None
    ) -> list[Round]:
        """Return broadcast, or its reversal, each tree with its part of the buffer.

        `pieces`: of each part, which follow one another a round apart. `last`: the
        trees of the last pieces, whose depths count from the round in which the root
        sends them first; by default the same.
        """
        sent = [self] * (pieces - 1) + [last or self]
        size = len(self.src) // self.trees
        tree = np.repeat(np.arange(self.trees), size)
        part = np.concatenate([tree * pieces + step for step in range(pieces)])
        turn = np.concatenate([one.depth + step for step, one in enumerate(sent)])
        src, dst, port = (
            np.concatenate([getattr(one, name) for one in sent])
            for name in ("src", "dst", "port")
        )
        return timed_rounds(collective, src, dst, turn, part, port, self.trees * pieces)
