"""The linear program of potentials over steps, equal messages taken together."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.validate.certificates.proofs.step_potentials import Lifts


__all__ = ["FEWEST_ENDS", "PotentialProgram"]

FEWEST_ENDS, _MOST_ENDS = 4, 16
_MOST_WORK = 9_000
"""Largest linear program: a second or two of a processor."""
_NEAR_ENOUGH = 1e-5


@dataclass(frozen=True, eq=False)
class PotentialProgram:
    """The linear program: rises between two places, and messages that have them.

    `before`, `after`: the places of each rise, shape (rises,). `message`, `rise`,
    `times`: rows: how often a kind of message has a rise, shape (rows,). `usage`: links
    of each group that a kind of message uses, shape (messages, groups). `first`,
    `last`: places where data are at first, and must be at last, one for each datum.
    """

    before: IntArray
    after: IntArray
    message: IntArray
    rise: IntArray
    times: FloatArray
    usage: IntArray
    first: IntArray
    last: IntArray
    places: int

    @classmethod
    def of(cls, lifts: Lifts) -> PotentialProgram:
        """Return the rises of all messages, those of equal messages once."""
        ranks, width = len(lifts.joined), lifts.place_count
        src, dst = np.nonzero(lifts.joined)
        each = []
        for source, place in zip(lifts.sources, lifts.places, strict=True):
            away = np.delete(place, source, axis=0)
            each.append((away[:, src] * width + away[:, dst]).T)
        if lifts.flow.summed:
            code, usage = cls._of_sums(lifts, src, dst, np.hstack(each))
        else:
            code = np.vstack(each)
            usage = np.vstack([lifts.usage[src, dst]] * len(each))
        usages, kind = np.unique(usage, axis=0, return_inverse=True)
        kind = kind.reshape(-1, 1)
        if lifts.flow.same:
            rows = np.unique(np.hstack([np.sort(code, axis=1), kind]), axis=0)
            code, usage = rows[:, :-1], usages[rows[:, -1]]
        else:
            both = np.unique(code * len(usages) + kind)
            code, usage = both[:, None] // len(usages), usages[both % len(usages)]
        both, rise = np.unique(code, return_inverse=True)
        pair = np.repeat(np.arange(len(code)), code.shape[1]) * len(both)
        pair, times = np.unique(pair + rise.reshape(-1), return_counts=True)
        ends = [
            (place[others, source], place[others, others])
            for source, place in zip(lifts.sources, lifts.places, strict=True)
            for others in [np.delete(np.arange(ranks), source)]
        ]
        return cls(
            both // width,
            both % width,
            pair // len(both),
            pair % len(both),
            times.astype(np.float64),
            usage,
            np.concatenate([first for first, _ in ends]),
            np.concatenate([last for _, last in ends]),
            width,
        )

    @staticmethod
    def _of_sums(
        lifts: Lifts, src: IntArray, dst: IntArray, code: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Return all that messages between ranks equally far apart lift, in a row."""
        if not len(lifts.sums):
            return code, lifts.usage[src, dst]
        back = np.argsort(lifts.sums, axis=1)
        apart = back[src, dst]
        order = np.argsort(apart, kind="stable")
        far = np.flatnonzero(lifts.joined[0])
        return code[order].reshape(len(far), -1), lifts.usage[0, far]

    @property
    def work(self) -> int:
        """How large a linear program is for each end of a span."""
        return len(self.before) + len(self.times) // 50

    @property
    def most_ends(self) -> int:
        """First and last steps of spans that it may have."""
        return min(_MOST_ENDS, _MOST_WORK // max(1, self.work))

    def times_of(self, steps: int) -> list[int]:
        """Return times at which potentials are chosen, dense at both ends."""
        near, most = [0, 1], self.most_ends
        while len(near) <= most // 4 and most > FEWEST_ENDS + 1:
            near.append(2 * near[-1] - near[-2] // 2)
        if steps <= most:
            return list(range(steps + 1))
        some = {one for one in near if 2 * one < steps}
        return sorted(some | {steps - one for one in some})

    def solve(
        self, times: Sequence[int], share: FloatArray
    ) -> tuple[FloatArray, FloatArray] | None:
        """Return lengths and potentials that prove most, each step's lengths one.

        Parameters
        ----------
        times
            After how many steps potentials are chosen, ascending from 0; between two
            times they, and lengths, lie on straight lines.
        share
            What a length of 1 takes of a step's lengths, by group, shape (groups,).

        Returns
        -------
        Lengths of the first and the last step of each span, in spans of one step once,
        and potentials of each time; ``None`` where the solver fails.
        """
        from scipy.optimize import linprog
        from scipy.sparse import coo_array

        rises, groups, high = len(self.before), len(share), len(times) * self.places
        ends = list(_ends(times))
        # Unknowns: potentials of each time, rises and lengths of each end of a span.
        length_at = high + len(ends) * rises
        unknowns = length_at + len(ends) * groups
        entries = list(self._rows(ends, len(times) - 1, length_at, share))
        row, column, value = map(np.concatenate, zip(*entries, strict=True))
        count = int(row.max()) + 1
        allowed = np.zeros(count)
        allowed[count - len(ends) :] = 1.0
        gain = np.zeros(unknowns)
        np.add.at(gain, high - self.places + self.last, -1.0)
        np.add.at(gain, self.first, 1.0)
        matrix = coo_array((value, (row, column)), shape=(count, unknowns)).tocsr()
        found = linprog(
            gain / len(self.first),
            A_ub=matrix,
            b_ub=allowed,
            method="highs-ipm",
            options={"ipm_optimality_tolerance": _NEAR_ENOUGH},
        )
        if not found.success:
            return None
        potential = found.x[:high].reshape(len(times), self.places)
        return found.x[length_at:].reshape(len(ends), groups), potential

    def _rows(
        self,
        ends: Sequence[tuple[int, float, float]],
        spans: int,
        length_at: int,
        share: FloatArray,
    ) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """Yield rows, columns and values of the linear program, the shares last."""
        rises, groups = len(self.before), len(share)
        number, place = np.arange(rises), np.arange(self.places)
        kind, group = np.nonzero(self.usage)
        used = self.usage[kind, group].astype(np.float64)
        once, row = np.ones(rises), 0
        for span in range(spans):
            now, then = span * self.places, (span + 1) * self.places
            yield row + place, then + place, np.ones(self.places)
            yield row + place, now + place, -np.ones(self.places)
            row += self.places
        for end, (span, before, after) in enumerate(ends):
            now, then = span * self.places, (span + 1) * self.places
            mine = (spans + 1) * self.places + end * rises
            lengths = length_at + end * groups
            yield row + number, then + self.after, after * once
            yield row + number, now + self.after, (1 - after) * once
            yield row + number, then + self.before, -before * once
            yield row + number, now + self.before, (before - 1) * once
            yield row + number, mine + number, -once
            row += rises
            yield row + self.message, mine + self.rise, self.times / len(self.first)
            yield row + kind, lengths + group, -used
            row += len(self.usage)
        for end in range(len(ends)):
            many = np.full(groups, row + end)
            yield many, length_at + end * groups + np.arange(groups), share


def _ends(times: Sequence[int]) -> Iterator[tuple[int, float, float]]:
    """Yield the first and the last step of each span, one step once.

    As the span, and how far through it time is before and after the step.
    """
    for span, (start, end) in enumerate(itertools.pairwise(times)):
        steps = end - start
        for step in sorted({0, steps - 1}):
            yield span, step / steps, (step + 1) / steps
