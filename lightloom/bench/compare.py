"""Comparing two results files: what changed, and what is noise."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lightloom.bench.results import Row

_NO_CHANGE = "no change shown"
Measure: TypeAlias = Literal["cpu", "wall"]
_Pair: TypeAlias = tuple[str, ...]
_Timed: TypeAlias = tuple[list[float], list[float]]
"""Logarithms of the seconds of one question, in the first and in the second file."""


@dataclass(frozen=True)
class Speed:
    """How the time of a solver on a problem changed.

    `pairs`: questions that both files have timed answers to. `ratio`: geometric mean of
    the second file's seconds over the first's. `low`, `high`: its confidence interval
    over questions; ``None`` with fewer than two pairs. `noise`: the factor by which
    repetitions of the same questions let the ratio differ from 1, at the same
    confidence; ``None`` where nothing was repeated.
    """

    problem: str
    solver: str
    pairs: int
    ratio: float
    low: float | None
    high: float | None
    noise: float | None

    @property
    def verdict(self) -> str:
        """``faster``, ``slower``, ``no change shown`` or ``not repeated``.

        A change is one beyond the noise of repetition, and beyond what questions
        differ in among themselves.
        """
        if self.noise is None:
            return "not repeated"
        low, high = self.low or self.ratio, self.high or self.ratio
        if low > 1 and self.ratio > self.noise:
            return "slower"
        return "faster" if high < 1 and self.ratio * self.noise < 1 else _NO_CHANGE


@dataclass(frozen=True)
class Change:
    """Something that a repetition would not change by itself.

    `before`, `after`: in the first and in the second file.
    """

    problem: str
    instance: str
    solver: str
    seed: int
    what: str
    before: str
    after: str


@dataclass(frozen=True)
class ResultsComparison:
    """Two results files beside each other.

    `speeds`, `changes`: in the order of the first file. `only_before`, `only_after`:
    questions that the other file lacks.
    """

    speeds: tuple[Speed, ...]
    changes: tuple[Change, ...]
    only_before: int
    only_after: int


def compare(
    before: Sequence[Row],
    after: Sequence[Row],
    *,
    measure: Measure = "cpu",
    confidence: float = 0.95,
) -> ResultsComparison:
    """Return how the second set of rows differs from the first.

    Rows are paired by problem, instance, solver, parameters, limits and seed; versions
    may differ, they are what is compared. Times are compared by their logarithms:
    repetitions of a question are averaged, and the mean over questions gets the
    interval of Student's t. Repetitions of a question, of equal variance, say how far
    noise alone moves that mean. A change is one beyond both; without repetitions none
    is shown. Intervals are about questions like these; a machine that was busier
    throughout the second sweep looks like a change.

    `measure`: ``cpu``: processor seconds, which other programs disturb least; or
    ``wall``. `confidence`: of each interval, between 0 and 1.

    Raises `InputError`: the confidence is out of its domain, or no question is in both.
    """
    if not 0 < confidence < 1:
        what, allowed = "invalid confidence", "between 0 and 1, for example 0.95"
        where = "confidence"
        raise InputError(what, where=where, found=confidence, allowed=allowed)
    first, second = _paired(before), _paired(after)
    both = [pair for pair in first if pair in second]
    if not both:
        raise InputError("the two files have no question in common")
    logs: dict[tuple[str, str], list[_Timed]] = defaultdict(list)
    changes: list[Change] = []
    for pair in both:
        changes += _changes(first[pair], second[pair])
        start, end = (_log_seconds(side[pair], measure) for side in (first, second))
        if start and end:
            row = first[pair][0]
            logs[row.problem, row.label].append((start, end))
    return ResultsComparison(
        tuple(_speed(*who, found, confidence) for who, found in logs.items()),
        tuple(changes),
        len(first) - len(both),
        len(second) - len(both),
    )


def _paired(rows: Iterable[Row]) -> dict[_Pair, list[Row]]:
    """Return the repetitions of each question."""
    pairs: dict[_Pair, list[Row]] = defaultdict(list)
    for row in rows:
        asked = [row.parameters, row.time_limit_s, row.memory_limit_bytes, row.seed]
        told = json.dumps(asked, sort_keys=True)
        pairs[row.problem, row.instance_sha256, row.solver, told].append(row)
    return pairs


def _log_seconds(rows: Sequence[Row], measure: Measure) -> list[float]:
    """Return the logarithms of the seconds of answered runs."""
    found = [
        row.finding.cpu_s if measure == "cpu" else row.finding.solve_s
        for row in rows
        if row.solved
    ]
    return [math.log(max(seconds, 1e-6)) for seconds in found if seconds is not None]


def _speed(
    problem: str, solver: str, timed: Sequence[_Timed], confidence: float
) -> Speed:
    count, low, high, noise = len(timed), None, None, None
    logs = [_mean(end) - _mean(start) for start, end in timed]
    mean = _mean(logs)
    if count > 1:
        reach = _reach(logs, count - 1, confidence) / math.sqrt(count)
        low, high = math.exp(mean - reach), math.exp(mean + reach)
    runs = [side for pair in timed for side in pair]
    if repeated := sum(len(side) - 1 for side in runs):
        off = [log - _mean(side) for side in runs for log in side]
        reach = _reach(off, repeated, confidence)
        spread = math.sqrt(sum(1 / len(side) for side in runs)) / count
        noise = math.exp(reach * spread)
    return Speed(problem, solver, count, math.exp(mean), low, high, noise)


def _mean(logs: Sequence[float]) -> float:
    return math.fsum(logs) / len(logs)


def _reach(logs: Sequence[float], freedom: int, confidence: float) -> float:
    """Return Student's t times the standard deviation of one value."""
    from scipy.stats import t

    mean = _mean(logs)
    variance = math.fsum((log - mean) ** 2 for log in logs) / freedom
    return float(t.ppf((1 + confidence) / 2, freedom)) * math.sqrt(variance)


def _changes(before: Sequence[Row], after: Sequence[Row]) -> list[Change]:
    """Return what differs between the last repetitions of a question."""
    old, new = before[-1], after[-1]
    told = {
        "ending": (str(old.finding.ending), str(new.finding.ending)),
        "answer": (old.finding.answer, new.finding.answer),
        "bound": (old.finding.bound_exact, new.finding.bound_exact),
    }
    return [
        Change(old.problem, old.instance, old.label, old.seed, what, a or "-", b or "-")
        for what, (a, b) in told.items()
        if a != b
    ]
