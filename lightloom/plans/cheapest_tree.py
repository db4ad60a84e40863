"""Spanning trees of few steps that cost little: a local search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray


_SOME = 4
"""A part of all ranks that gain by it change their step at once, if that is better."""


@dataclass(frozen=True, eq=False)
class StepTree:
    """A spanning tree over steps.

    `heard`: the step in which each rank hears, from 1, 0 at the root; shape (n,).
    `teller`: from whom, shape (n,); the root's own is any.
    """

    heard: IntArray
    teller: IntArray


def cheapest_tree(cost: FloatArray, heard: IntArray, moves: int) -> StepTree:
    """Return a tree that no change of the step of one rank makes cheaper.

    `cost`: of a message in each step, infinite from a rank to itself, shape (steps,
    src, dst).
    """
    state = _State.of(cost, heard)
    for _ in range(moves):
        gain, step = state.gains()
        rank = int(gain.argmax())
        if gain[rank] <= state.whole * 1e-9:
            break
        better = np.flatnonzero(gain > 0)
        most = max(1, len(better) // _SOME)
        chosen = better[np.argsort(-gain[better], kind="stable")[:most]]
        following = state.moved(chosen, step[chosen])
        if following.whole > state.whole - gain[rank]:
            following = state.moved(np.array([rank]), step[[rank]])
        state = following
    return StepTree(state.heard, state.teller)


@dataclass(frozen=True, eq=False)
class _State:
    """Steps in which ranks hear, and from whom that is cheapest.

    `own`: what ranks cost in their steps, shape (src, dst). `open`: the same, infinite
    from those that hear too late. `whole`: cost of the tree, infinite for none.
    """

    cost: FloatArray
    heard: IntArray
    teller: IntArray
    own: FloatArray
    open: FloatArray
    whole: float

    @classmethod
    def of(cls, cost: FloatArray, heard: IntArray) -> _State:
        number = np.arange(len(heard))
        own: FloatArray = cost[heard - 1, :, number].T
        open_ = np.where(heard[:, None] < heard, own, np.inf)
        teller = open_.argmin(axis=0)
        least = open_[teller, number]
        whole = float(least[heard > 0].sum())
        return cls(cost, heard, teller, own, open_, whole)

    def moved(self, ranks: IntArray, steps: IntArray) -> _State:
        """Return what follows if some ranks hear in other steps."""
        heard = self.heard.copy()
        heard[ranks] = steps
        return self.of(self.cost, heard)

    def gains(self) -> tuple[FloatArray, IntArray]:
        """Return by how much each rank's best step makes the tree cheaper, and it."""
        heard, ranks = self.heard, len(self.heard)
        number, steps = np.arange(ranks), np.arange(1, len(self.cost) + 1)
        told = heard > 0
        least = np.where(told, self.open[self.teller, number], 0.0)
        second = self.open.copy()
        second[self.teller, number] = np.inf
        # What others cost where a rank tells nobody, as [rank, other].
        without = np.where(self.teller == number[:, None], second.min(axis=0), least)
        without[:, ~told] = 0.0
        without[number, number] = 0.0
        # Who has no other teller has to be told by this rank: dear, but not infinite.
        dear = 4 * self.whole + 1.0
        without = np.minimum(without, dear)
        less = np.minimum(self.own, without) - without
        less[number, number] = 0.0
        late = (heard[:, None] > steps).astype(np.float64)
        others = without.sum(axis=1)[:, None] + less @ late
        early = heard[:, None] < steps
        hears = np.where(early.T[:, :, None], self.cost, np.inf).min(axis=1)
        total = others + hears.T
        total[~told] = np.inf
        best = total.argmin(axis=1)
        gain: FloatArray = self.whole - total[number, best]
        return gain, best + 1
