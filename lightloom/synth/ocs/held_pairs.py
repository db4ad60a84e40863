"""Which pairs the slots of switches hold, and moves that serve more of what is asked.

Every slot lasts some time, a pair is served as long as its slots last together, and no
two pairs of a slot share an end. What all pairs lack together is made less; those that
lack something for long weigh more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import FloatArray, IntArray

_TINY = 1e-12
_LEAST = 1e-9
"""Pairs are served as long as this at least, so that each is in some slot."""


class HeldPairs:
    """Pairs that slots hold, and moves among them.

    `src`, `dst`: lines of the pairs, 0 to `lines` - 1, no pair twice; shape (pairs,).
    `size`: how long each pair has to be served, above 0. `held`: pairs of each slot, no
    two of them with the same end.

    `at`: pair that a slot holds at a row, -1 for none; shape (slots, lines). `weight`:
    how much of each pair's lack counts, shape (pairs + 1,); the last is of no pair.
    """

    def __init__(
        self,
        src: IntArray,
        dst: IntArray,
        size: FloatArray,
        lines: int,
        held: Sequence[IntArray],
    ) -> None:
        self.size, self._src, self._pairs = size, src, len(src)
        # A pair that is none has no column, and needs nothing.
        self._dst = np.append(dst, -1)
        self._need = np.append(np.maximum(size, _LEAST), 0.0)
        self.weight = np.ones(len(src) + 1)
        self.at = np.full((len(held), lines), -1, dtype=np.int64)
        for slot, pairs in enumerate(held):
            self.at[slot, src[pairs]] = pairs

    def held(self) -> list[IntArray]:
        """Return the pairs of each slot."""
        return [pairs[pairs >= 0] for pairs in self.at]

    def complete(self) -> bool:
        """Return whether every pair is in some slot."""
        return bool(np.bincount(self.at[self.at >= 0], minlength=self._pairs).all())

    def busiest_line(self) -> float:
        """Return how long the pairs of a line need together, at the most."""
        ends = self._src, self._dst[:-1]
        return max(float(np.bincount(end, self.size).max()) for end in ends)

    def lack(self, lasts: FloatArray) -> FloatArray:
        """Return how much longer pairs need service; negative if they have more.

        Returns shape (pairs + 1,); the last is of no pair, and not positive.
        """
        count = self._pairs + 1
        weights = np.repeat(lasts, self.at.shape[1])
        served = np.bincount(
            (self.at % count).ravel(), weights=weights, minlength=count
        )
        lack: FloatArray = self._need - served
        return lack

    def weigh(self, lasts: FloatArray) -> None:
        """Let pairs that lack something weigh more, so that others give way to them."""
        self.weight += self.lack(lasts) > _TINY

    def lacking(self, lasts: FloatArray) -> float:
        """Return how much all pairs lack together."""
        return float(np.maximum(self.lack(lasts), 0.0).sum())

    def exchange(self, lasts: FloatArray, random: np.random.Generator) -> None:
        """Exchange chains of pairs between any two slots, where no more is lacking."""
        slot = np.arange(len(self.at))
        for apart in range(1, 2 ** (len(slot) - 1).bit_length()):
            one = slot[(slot < slot ^ apart) & (slot ^ apart < len(slot))]
            other = one ^ apart
            chain, more = self._chains(one, other, self.lack(lasts), lasts)
            coin = random.random(len(more)) < 0.5
            swap = ((more < -_TINY) | ((more <= _TINY) & coin))[chain]
            mine, theirs = self.at[one], self.at[other]
            self.at[one] = np.where(swap, theirs, mine)
            self.at[other] = np.where(swap, mine, theirs)

    def _chains(
        self, one: IntArray, other: IntArray, lack: FloatArray, lasts: FloatArray
    ) -> tuple[IntArray, FloatArray]:
        """Return the chain of each row, and how much more its exchange leaves lacking.

        The pairs of two slots form paths and cycles: from a row to its column in the
        first slot, and from there to the row of that column in the second.

        Returns chains of shape (pairs of slots, lines), numbered over all of them; what
        is lacking of each, shape (pairs of slots * lines,).
        """
        mine, theirs = self.at[one], self.at[other]
        shape = mine.shape
        row = np.arange(mine.size).reshape(shape)
        which = np.arange(len(one))[:, None]
        row_of = np.full((shape[0], shape[1] + 1), -1, dtype=np.int64)
        row_of[which, self._dst[theirs]] = row
        row_of[:, -1] = -1
        after = row_of[which, self._dst[mine]]
        after = np.where(after < 0, row, after).ravel()
        # A path is named by its end, where it stays, and a cycle by its least row.
        chain, following = row.ravel(), after
        for _ in range(1 + shape[1].bit_length()):
            chain = np.minimum(chain, chain[following])
            following = following[following]
        ends = after[following] == following
        chain = np.where(ends, following, chain).astype(np.int64)
        longer = (lasts[one] - lasts[other])[:, None]
        moves = mine != theirs
        more = np.zeros(shape)
        for pairs, change in ((mine, longer), (theirs, -longer)):
            before = lack[pairs]
            rise = np.maximum(before + change, 0.0) - np.maximum(before, 0.0)
            rise *= self.weight[pairs]
            more += np.where(moves & (pairs >= 0), rise, 0.0)
        left = np.bincount(chain, weights=more.ravel(), minlength=mine.size)
        return chain.reshape(mine.shape).astype(np.int64), left.astype(np.float64)

    def drop_needless(self, lasts: FloatArray) -> None:
        """Drop pairs from slots without which they are served, shortest slots first."""
        lack = self.lack(lasts)
        for slot in np.argsort(lasts, kind="stable").tolist():
            pairs = self.at[slot]
            needless = (pairs >= 0) & (lack[pairs] + lasts[slot] <= _TINY)
            lack[pairs[needless]] += lasts[slot]
            pairs[needless] = -1

    def insert(self, lasts: FloatArray) -> None:
        """Give pairs that lack something one more slot, where less is lacking then.

        Its row may be free in one slot and its column in another: then the chain
        between them is exchanged before.
        """
        lack = self.lack(lasts)
        for pair in np.argsort(-lack, kind="stable").tolist():
            if lack[pair] <= _TINY:
                continue
            row = self._src[pair]
            in_column = self._dst[self.at] == self._dst[pair]
            taken = in_column.any(axis=1)
            free = np.flatnonzero(self.at[:, row] < 0), np.flatnonzero(~taken)
            one, other = (each.ravel() for each in np.meshgrid(*free))
            if not len(one):
                continue
            chain, more = self._chains(one, other, lack, lasts)
            start = chain[np.arange(len(one)), in_column.argmax(axis=1)[one]]
            left = np.maximum(lack[pair] - lasts[one], 0.0) - lack[pair]
            cost = left * self.weight[pair] + np.where(taken[one], more[start], 0.0)
            best = int(cost.argmin())
            if cost[best] >= -_TINY:
                continue
            slot = int(one[best])
            if taken[slot]:
                swap = chain[best] == start[best]
                ends = [slot, int(other[best])]
                self.at[ends] = np.where(swap, self.at[ends[::-1]], self.at[ends])
            self.at[slot, row] = pair
            lack = self.lack(lasts)

    def rematch(self, lasts: FloatArray) -> None:
        """Match each slot anew, the longest first, given what the others hold."""
        from scipy.optimize import linear_sum_assignment

        src, dst = self._src, self._dst[:-1]
        lack = self.lack(lasts)
        shape = (self.at.shape[1],) * 2
        for slot in np.argsort(-lasts, kind="stable").tolist():
            before = self.at[slot][self.at[slot] >= 0]
            lack[before] += lasts[slot]
            gain = np.minimum(np.maximum(lack[:-1], 0.0), lasts[slot])
            matrix, pair = np.zeros(shape), np.full(shape, -1, dtype=np.int64)
            matrix[src, dst] = gain * self.weight[:-1]
            pair[src, dst] = np.where(gain > _TINY, np.arange(self._pairs), -1)
            self.at[slot] = pair[linear_sum_assignment(matrix, maximize=True)]
            now = self.at[slot][self.at[slot] >= 0]
            lack[now] -= lasts[slot]
