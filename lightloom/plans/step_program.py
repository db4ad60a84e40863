"""What moves over arcs in steps whose links are shared, by a linear program, as rounds.

Parts of a block are heard from the beginning on; on ranks that look alike every block
goes as that of rank 0 does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.plans.plan import Partition, Round, reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.network import RankNetwork


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


_LITTLE = 1e-5
"""What an amount may fall short of the whole block by rounding."""


def prefix_parts(
    order: IntArray, src: IntArray, dst: IntArray, amount: FloatArray
) -> tuple[IntArray, IntArray, IntArray, FloatArray, FloatArray]:
    """Return what moves over some arcs, step by step, of a block that one rank has.

    A rank hears the block from its beginning on, and never more than those whom it
    hears from had a step before, whatever the last digits of the amounts. What rounding
    leaves out at the end comes as soon as one of them has it, if need be a step later
    than any amount.

    `order`: all ranks, the one that has the block first, each after those it hears
    from. `amount`: share of the block that an arc brings in each step, shape (arcs,
    steps).

    Returns columns of step, source, destination, and where the part begins and ends,
    from 0 to 1.
    """
    rows: list[tuple[float, ...]] = []
    steps = amount.shape[1]
    had = {int(order[0]): [1.0]}
    tellers_of: dict[int, list[int]] = {}
    for teller, rank in zip(src.tolist(), dst.tolist(), strict=True):
        tellers_of.setdefault(rank, []).append(teller)
    moved: dict[int, list[tuple[int, int, float]]] = {}
    arcs, when_each = np.nonzero(amount)
    sizes = amount[arcs, when_each].tolist()
    ends = zip(src[arcs].tolist(), dst[arcs].tolist(), strict=True)
    for (teller, rank), step, size in zip(ends, when_each.tolist(), sizes, strict=True):
        moved.setdefault(rank, []).append((step, teller, size))
    for rank in order[1:].tolist():
        begin, due = 0.0, 0.0
        until = [0.0] * (steps + 1)
        step = 0
        for step, teller, size in sorted(moved.get(rank, []), key=lambda one: one[0]):
            due += size
            end = 1.0 if due > 1.0 - _LITTLE else due
            end = min(end, _held(had[teller], step))
            if end > begin:
                rows.append((step, teller, rank, begin, end))
                begin = end
            until[step + 1] = begin
        for later in range(steps):
            until[later + 1] = max(until[later + 1], until[later])
        if begin < 1.0:
            # Rounding of many small amounts lost the end of the block.
            step, teller = min(
                (max(step, had[one].index(1.0)), one) for one in tellers_of[rank]
            )
            rows.append((step, teller, rank, begin, 1.0))
            until = [_held(until, early) for early in range(step + 1)] + [1.0]
        had[rank] = until
    table = np.array(rows)
    when, tellers, ranks = table[:, :3].T.astype(np.int64)
    return when, tellers, ranks, table[:, 3], table[:, 4]


def _held(until: Sequence[float], step: int) -> float:
    """Return how much of the block a rank has at the beginning of a step."""
    return until[min(step, len(until) - 1)]


@dataclass(frozen=True, eq=False)
class Sends:
    """What moves of the block of rank 0.

    `src`, `dst`: from which rank to which, shape (sends,). `lo`, `hi`: part of the
    block, from 0 to 1, shape (sends,).
    """

    step: IntArray
    src: IntArray
    dst: IntArray
    lo: FloatArray
    hi: FloatArray


def translated_rounds(
    collective: Collective,
    network: RankNetwork,
    sends_on: Callable[[RankNetwork], Sends],
) -> list[Round]:
    """Return the rounds of an all-gather, a reduce-scatter, or one after the other.

    Raises `InputError` if the network has no shape.
    """
    if not network.shape:
        what = "translated trees need ranks that look alike"
        fix = "take all nodes of the fabric, in the order of their numbers"
        raise InputError(what, where="algorithm", fix=fix)
    rounds: list[Round] = []
    if collective.op != "all-gather":
        # What turned messages gather, messages reduce in the opposite order.
        turned = network.turned()
        back = _gathered(collective, turned, sends_on(turned))
        rounds += reversed_rounds(back, Op.REDUCE)
    if collective.op != "reduce-scatter":
        rounds += _gathered(collective, network, sends_on(network))
    return rounds


def _gathered(
    collective: Collective, network: RankNetwork, sends: Sends
) -> list[Round]:
    """Return the rounds in which every block goes as that of rank 0 does."""
    ranks = network.ranks
    cut = Partition(ranks, collective.chunk_count)
    begin = cut.boundary(np.arange(ranks + 1, dtype=np.int64))
    size = np.diff(begin)
    sums = network.sums()
    between = network.differences()[sends.src, sends.dst]
    rounds = []
    for step in range(int(sends.step.max()) + 1):
        mine = np.flatnonzero(sends.step == step)
        _, number = np.unique(between[mine], return_inverse=True)
        lo, hi = (
            begin[:-1] + np.rint(part[mine, None] * size).astype(np.int64)
            for part in (sends.lo, sends.hi)
        )
        port = np.broadcast_to(number.reshape(-1, 1), lo.shape)
        some = lo < hi
        if some.any():
            src, dst = sums[sends.src[mine]][some], sums[sends.dst[mine]][some]
            code = np.full(len(src), int(Op.COPY), dtype=np.int64)
            rounds.append(Round(src, dst, lo[some], hi[some], code, port[some]))
    return rounds
