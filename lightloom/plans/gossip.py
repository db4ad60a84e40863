"""Gossip over the paths of a digraph: blocks move on by one arc a round."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.schedule import Op
from lightloom.plans.plan import Partition, Round, RoundOutline, reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.kautz import ColouredArcs, Digraph

GOSSIPS = ("all-gather", "all-reduce", "all-to-all", "reduce-scatter")
"""Collectives that gossip does."""


def gossip(
    collective: Collective,
    arcs: ColouredArcs,
    forward: Digraph,
    backward: Callable[[], Digraph],
    walks: Callable[[], IntArray],
) -> list[Round]:
    """Return the rounds of a collective: as many as paths have arcs, or twice as many.

    `walks`: returns where the walks of an all-to-all are after each hop, see
    `even_walks`.
    """
    blocks = Partition(collective.rank_count, collective.chunk_count)
    there = DigraphPaths(blocks, arcs, forward, turned=False)
    match collective.op:
        case "all-to-all":
            return there.exchange(walks())
        case "all-gather":
            return there.gather()
        case "reduce-scatter":
            return reversed_rounds(there.gather(), Op.REDUCE)
        case _:
            back = DigraphPaths(blocks, arcs, backward(), turned=True)
            return [*reversed_rounds(back.gather(), Op.REDUCE), *there.gather()]


def gossip_outline(
    ranks: int, degree: int, op: str, *, loops: int = 0
) -> tuple[RoundOutline, ...]:
    """Return what gossip takes on any digraph of so many arcs a rank.

    As a rank reaches at most d^i others by i arcs, and a block is received by every
    other rank once, or as often in an all-to-all as its path has arcs.

    `ranks`, `degree`: number of ranks, and of arcs that leave, or enter, each; none of
    one rank.
    """
    left, reached, hops, sent = ranks - 1, degree, 0, 0
    while left > 0:
        hops += 1
        new = min(left, reached)
        sent += new * (hops if op == "all-to-all" else 1)
        left, reached = left - new, reached * degree
    # Which round a block moves in is open: only the sum is known.
    shares = [sent, *[0] * (hops - 1)] if hops else []
    idle = 0 if op == "all-to-all" else loops
    rounds = [RoundOutline(1, Fraction(sent, ranks), idle=idle) for sent in shares]
    return (*rounds, *rounds) if op == "all-reduce" else tuple(rounds)


@dataclass(frozen=True, eq=False)
class DigraphPaths:
    """The chosen paths of a digraph, or of the one with all arcs turned around.

    `blocks`: the buffer, a part for each rank. `arcs`: arcs of the digraph, with their
    ports. `digraph`: distances, and the path of every block to every rank. `turned`:
    whether the paths run against the arcs.
    """

    blocks: Partition
    arcs: ColouredArcs
    digraph: Digraph
    turned: bool

    def gather(self) -> list[Round]:
        """Return the all-gather: in round t blocks reach those t arcs away."""
        distance = self.digraph.distance
        rounds = []
        for length in range(1, int(distance.max()) + 1):
            dst, block = np.nonzero((distance == length).T)
            src = self.digraph.before[block, dst]
            rounds.append(self._round(src, dst, block, 0))
        return [one for one in rounds if one is not None]

    def exchange(self, at: IntArray) -> list[Round]:
        """Return the all-to-all: in round t blocks take the t-th arc of their walk."""
        rounds = []
        for before, after in pairwise(at):
            start, end = np.nonzero(before != after)
            tail, head = before[start, end], after[start, end]
            rounds.append(self._round(tail, head, end, start))
        return [one for one in rounds if one is not None]

    def _round(
        self, src: IntArray, dst: IntArray, block: IntArray, start: IntArray | int
    ) -> Round | None:
        """Return the round that moves blocks, in an all-to-all those of `start`.

        Consecutive blocks of a pair are one row.
        """
        ranks = self.arcs.ranks
        key = ((src * ranks + dst) * ranks + start) * ranks + block
        key.sort()
        follows = key[1:] == key[:-1] + 1
        follows &= key[1:] % ranks > 0
        first = np.flatnonzero(np.concatenate([[True], ~follows]))
        length = np.diff(first, append=len(key))
        pair, block = np.divmod(key[first], ranks)
        pair, owner = np.divmod(pair, ranks)
        src, dst = np.divmod(pair, ranks)
        ends = (dst, src) if self.turned else (src, dst)
        return self.blocks.round(
            src,
            dst,
            block,
            length,
            port=self.arcs.ports_of(*ends),
            op=Op.COPY,
            base=owner * self.blocks.chunks,
        )
