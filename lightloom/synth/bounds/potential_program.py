"""The linear program of potentials over steps, equal messages taken together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from lightloom.core.columns import IntArray
    from lightloom.validate.certificates.proofs.step_potentials import Lifts

    FloatArray = npt.NDArray[np.float64]

__all__ = ["PotentialProgram"]


@dataclass(frozen=True, eq=False)
class PotentialProgram:
    """The linear program: rises between two places, and messages that have them.

    Attributes
    ----------
    before, after
        The places of each rise, shape (rises,).
    message, rise, times
        Rows: how often a kind of message has a rise, shape (rows,).
    usage
        Links of each group that a kind of message uses, shape (messages, groups).
    first, last
        Places where data are at first, and must be at last, one for each datum.
    places
        Their number.
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
        """Return the rises of all messages, those of equal messages once.

        Parameters
        ----------
        lifts
            Of a collective.
        """
        ranks, width = len(lifts.relation), lifts.place_count
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
        if not lifts.flow.same:
            usage = np.repeat(usage, code.shape[1], axis=0)
            code = code.reshape(-1, 1)
        rows = np.unique(np.hstack([np.sort(code, axis=1), usage]), axis=0)
        code, usage = rows[:, : code.shape[1]], rows[:, code.shape[1] :]
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
        """How large a linear program is for each of its steps."""
        return len(self.before) + len(self.times) // 50

    def solve(
        self, steps: int, share: FloatArray
    ) -> tuple[FloatArray, FloatArray] | None:
        """Return lengths and potentials that prove most, each step's lengths one.

        Parameters
        ----------
        steps
            Two or more.
        share
            What a length of 1 takes of a step's lengths, by group, shape (groups,).
        """
        from scipy.optimize import linprog
        from scipy.sparse import coo_array

        rises, groups = len(self.before), len(share)
        # Unknowns: potentials of each time, rises and lengths of each step.
        rise_at = (steps + 1) * self.places
        length_at = rise_at + steps * rises
        unknowns = length_at + steps * groups
        entries = list(self._rows(steps, rise_at, length_at, share))
        row, column, value = map(np.concatenate, zip(*entries, strict=True))
        count = int(row.max()) + 1
        allowed = np.zeros(count)
        allowed[count - steps :] = 1.0
        gain = np.zeros(unknowns)
        np.add.at(gain, steps * self.places + self.last, -1.0)
        np.add.at(gain, self.first, 1.0)
        matrix = coo_array((value, (row, column)), shape=(count, unknowns)).tocsr()
        found = linprog(
            gain / len(self.first), A_ub=matrix, b_ub=allowed, method="highs-ipm"
        )
        if not found.success:
            return None
        potential = found.x[:rise_at].reshape(steps + 1, self.places)
        return found.x[length_at:].reshape(steps, groups), potential

    def _rows(
        self, steps: int, rise_at: int, length_at: int, share: FloatArray
    ) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """Yield rows, columns and values of the linear program, the shares last."""
        rises, groups = len(self.before), len(share)
        number, place = np.arange(rises), np.arange(self.places)
        kind, group = np.nonzero(self.usage)
        row = 0
        for step in range(steps):
            now, then = step * self.places, (step + 1) * self.places
            mine, lengths = rise_at + step * rises, length_at + step * groups
            yield row + number, then + self.after, np.ones(rises)
            yield row + number, now + self.before, -np.ones(rises)
            yield row + number, mine + number, -np.ones(rises)
            row += rises
            yield row + place, then + place, np.ones(self.places)
            yield row + place, now + place, -np.ones(self.places)
            row += self.places
            yield row + self.message, mine + self.rise, self.times / len(self.first)
            used = self.usage[kind, group].astype(np.float64)
            yield row + kind, lengths + group, -used
            row += len(self.usage)
        for step in range(steps):
            many = np.full(groups, row + step)
            yield many, length_at + step * groups + np.arange(groups), share
