"""The linear program of transfers over steps whose links are shared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lightloom.core.columns import FloatArray


_GRID = 2**20
"""Answers are rounded to multiples of 1 / 2**20, whatever the solver's last digits."""


@dataclass(eq=False)
class StepProgram:
    """Shares of streams in each of some steps, such that the steps are short.

    A stream is what one arc, or many that are alike, carries; it puts a given time on
    each link per unit, and a step lasts as long as its most loaded link. The steps are
    P and their lengths add up to the objective.

    `loads`: of each stream, its time on each link that it loads, by link.
    """

    steps: int
    loads: list[Mapping[int, float]] = field(default_factory=list)
    _first: list[int] = field(default_factory=list)
    _last: list[int] = field(default_factory=list)
    _equal: list[tuple[dict[int, float], float]] = field(default_factory=list)
    _most: list[dict[int, float]] = field(default_factory=list)

    def stream(self, load: Mapping[int, float], first: int, last: int) -> int:
        """Add a stream that may carry something in some steps, and return its number.

        `load`: its time on each link per unit, by link.
        """
        self.loads.append(load)
        self._first.append(first)
        self._last.append(last)
        return len(self.loads) - 1

    def _column(self, stream: int, step: int) -> int:
        return self.steps + stream * self.steps + step

    def _until(self, streams: Iterable[int], step: int) -> dict[int, float]:
        """Return the sum of streams up to a step, as coefficients by column."""
        return {
            self._column(one, early): 1.0
            for one in streams
            for early in range(self._first[one], min(step, self._last[one]) + 1)
        }

    def require(self, streams: Iterable[int], amount: float = 1.0) -> None:
        """Ask that streams carry so much together in all steps."""
        self._equal.append((self._until(streams, self.steps - 1), amount))

    def balance(self, some: Iterable[int], others: Iterable[int]) -> None:
        """Ask that streams carry as much in all steps as others do."""
        row = self._until(some, self.steps - 1)
        for column in self._until(others, self.steps - 1):
            row[column] = row.get(column, 0.0) - 1.0
        self._equal.append((row, 0.0))

    def follow(self, after: Iterable[int], before: Iterable[int]) -> None:
        """Ask that streams have never carried more than others had a step before."""
        after, before = list(after), list(before)
        for step in range(self.steps):
            row = self._until(after, step)
            if row:
                for column, one in self._until(before, step - 1).items():
                    row[column] = row.get(column, 0.0) - one
                self._most.append(row)

    def solve(self) -> tuple[FloatArray, float] | None:
        """Return what each stream carries in each step, and how long steps last in all.

        Shape (streams, steps), rounded to multiples of 1 / 2**20; in the unit of the
        loads. ``None`` if nothing does.
        """
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

        count = len(self.loads)
        columns = self.steps * (1 + count)
        most = self._most + self._shared()
        upper = np.full(columns, np.inf)
        allowed = np.zeros((count, self.steps), dtype=np.bool_)
        for one in range(count):
            allowed[one, self._first[one] : self._last[one] + 1] = True
        upper[self.steps :][~allowed.reshape(-1)] = 0.0
        cost = np.zeros(columns)
        cost[: self.steps] = 1.0

        def matrix(rows: list[dict[int, float]]) -> csr_array:
            where = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
            column = [place for row in rows for place in row]
            value = [factor for row in rows for factor in row.values()]
            return csr_array((value, (where, column)), shape=(len(rows), columns))

        found = linprog(
            cost,
            A_ub=matrix(most),
            b_ub=np.zeros(len(most)),
            A_eq=matrix([row for row, _ in self._equal]),
            b_eq=[amount for _, amount in self._equal],
            bounds=np.stack([np.zeros(columns), upper], axis=1),
            method="highs-ds",
        )
        if not found.success:
            return None
        shares = found.x[self.steps :].reshape(count, self.steps)
        rounded: FloatArray = np.rint(np.maximum(shares, 0.0) * _GRID) / _GRID
        return rounded, float(found.fun)

    def _shared(self) -> list[dict[int, float]]:
        """Return that what each link carries in a step is no longer than the step.

        Links that all streams load alike are one.
        """
        by_link: dict[int, dict[int, float]] = {}
        for one, load in enumerate(self.loads):
            for link, time in load.items():
                by_link.setdefault(link, {})[one] = time
        alike = {tuple(sorted(loads.items())) for loads in by_link.values()}
        rows = []
        for loads in sorted(alike):
            for step in range(self.steps):
                row = {
                    self._column(one, step): time
                    for one, time in loads
                    if self._first[one] <= step <= self._last[one]
                }
                if row:
                    rows.append({step: -1.0, **row})
        return rows
