"""What rows show: gaps to certified bounds, summaries, curves, and what changed.

Performance profiles are those of E. Dolan and J. More, Mathematical Programming 91
(2002).
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from lightloom.bench.results import Ending, Proof
from lightloom.core.certificate import gap
from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lightloom.bench.results import Row


Question: TypeAlias = tuple[str, str]
"""A problem and the hash of an instance."""

_MAXIMISE = "maximise"
_CLAIM_SLACK = Fraction(1, 10**6)
"""Solvers' claims hold up to their tolerances."""
_WIDEST = 1.0
"""The gap of a run without an answer or a bound, and the most that any gap counts."""
_PAST_THE_LAST = 1.2
"""Where curves end, over the time of the last event."""
_NUMBER = re.compile(r"[-=#x]?\d\S*")
_NumberT = TypeVar("_NumberT", int, float)


def certified_bounds(rows: Iterable[Row]) -> dict[Question, Fraction]:
    """Return the best bound of each question whose witness was checked."""
    best: dict[Question, Fraction] = {}
    for row in rows:
        bound = row.finding.bound_exact
        if not row.solved or row.finding.proof is not Proof.CHECKED or bound is None:
            continue
        question, value = (row.problem, row.instance_sha256), Fraction(bound)
        better = min if row.sense == _MAXIMISE else max
        best[question] = better(best.get(question, value), value)
    return best


def certified_gap(row: Row, bounds: dict[Question, Fraction]) -> float | None:
    """Return the gap of an answer, if there is one, to the best certified bound."""
    if not row.solved or row.finding.answer is None:
        return None
    return gap(
        Fraction(row.finding.answer), bounds.get((row.problem, row.instance_sha256))
    )


def contradictions(rows: Sequence[Row]) -> list[str]:
    """Return where an answer beats a bound, a sentence each: one of them is wrong.

    Certified bounds are compared exactly, solvers' claims up to 1e-6.
    """
    found = []
    best: dict[Question, Row] = {}
    for row in rows:
        if row.solved and row.finding.answer is not None:
            held = best.setdefault((row.problem, row.instance_sha256), row)
            if _beats(row, Fraction(held.finding.answer or 0)):
                best[(row.problem, row.instance_sha256)] = row
    for row in rows:
        winner = best.get((row.problem, row.instance_sha256))
        if winner is None:
            continue
        where = f"{row.problem} {row.instance}: {winner.label}"
        if row.finding.ending is Ending.INFEASIBLE:
            found.append(f"{where} has an answer, {row.label} says there is none")
        bound = row.finding.bound_exact
        if not row.solved or bound is None:
            continue
        slack = Fraction(0)
        if row.finding.proof is not Proof.CHECKED:
            slack = _CLAIM_SLACK * abs(Fraction(bound))
        if _beats(winner, Fraction(bound), slack):
            answer = winner.finding.answer
            found.append(f"{where} has {answer}, {row.label} bounds it by {bound}")
    return sorted(set(found))


def _beats(row: Row, bound: Fraction, slack: Fraction = Fraction(0)) -> bool:
    """Return whether the answer of a row is better than a bound allows."""
    value = Fraction(row.finding.answer or 0)
    if row.sense == _MAXIMISE:
        return value > bound + slack
    return value < bound - slack


@dataclass(frozen=True)
class Summary:
    """How a solver did on a problem.

    `proven` answers are those that somebody calls the best, `certified` ones those that
    meet a bound with a checked witness, whoever found it; gaps are to the best such
    bound, ``None`` where there is none. Of answered runs, `solve_s` and `cpu_s` are
    geometric means. `troubles` is how the other runs ended, with their numbers.
    """

    problem: str
    solver: str
    runs: int
    answered: int
    proven: int
    certified: int
    mean_gap: float | None
    worst_gap: float | None
    solve_s: float | None
    slowest_s: float | None
    cpu_s: float | None
    peak_bytes: int | None
    troubles: str


def summaries(rows: Sequence[Row]) -> list[Summary]:
    """Return a summary for each problem and solver, in the order of their first rows.

    Repetitions count as runs.
    """
    bounds = certified_bounds(rows)
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.problem, row.label].append(row)
    return [
        _summary(problem, solver, group, [certified_gap(row, bounds) for row in group])
        for (problem, solver), group in groups.items()
    ]


def _summary(
    problem: str, solver: str, rows: Sequence[Row], found: Sequence[float | None]
) -> Summary:
    gaps = [gap for gap in found if gap is not None]
    answered = [row for row in rows if row.solved]
    seconds = _known(row.finding.solve_s for row in answered)
    others = Counter(str(row.finding.ending) for row in rows if not row.solved)
    return Summary(
        problem=problem,
        solver=solver,
        runs=len(rows),
        answered=len(answered),
        proven=sum(row.finding.ending is Ending.OPTIMAL for row in rows),
        certified=sum(gap == 0 for gap in gaps),
        mean_gap=sum(gaps) / len(gaps) if gaps else None,
        worst_gap=max(gaps, default=None),
        solve_s=geometric_mean(seconds),
        slowest_s=max(seconds, default=None),
        cpu_s=geometric_mean(_known(row.finding.cpu_s for row in answered)),
        peak_bytes=max(_known(row.peak_bytes for row in rows), default=None),
        troubles=", ".join(f"{count} {how}" for how, count in sorted(others.items())),
    )


def geometric_mean(values: Sequence[float]) -> float | None:
    """Return the geometric mean of positive values, ``None`` of none.

    A value that a clock could not tell from 0 counts as a microsecond.
    """
    if not values:
        return None
    return math.exp(math.fsum(math.log(max(v, 1e-6)) for v in values) / len(values))


def _known(values: Iterable[_NumberT | None]) -> list[_NumberT]:
    return [value for value in values if value is not None]


@dataclass(frozen=True)
class Curve:
    """``y[i]`` at ``x[i]``; a step is two points of one x."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]


def _stairs(label: str, points: Sequence[tuple[float, float]]) -> Curve:
    """Return points as a staircase: each y holds until the next x."""
    corners = list(points[:1])
    for x, y in points[1:]:
        corners += [(x, corners[-1][1]), (x, y)]
    return Curve(label, tuple(x for x, _ in corners), tuple(y for _, y in corners))


def by_problem(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return the rows of each problem, in the order of their first rows."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.problem].append(row)
    return dict(groups)


def _by_label(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return the rows of each solver, in the order of their first rows."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.label].append(row)
    return dict(groups)


def performance_profile(rows: Sequence[Row]) -> list[Curve]:
    """Return, for each solver, the share of questions proven within a factor.

    The share ``rho(tau)`` of questions that a solver proves optimal within `tau` times
    the seconds of the fastest that does (the paper's equation after 2.1). Questions
    are pairs of instance and seed; those that nobody proves count, and so no curve
    reaches 1. Repetitions are replaced by their median.

    Returns staircases from tau = 1 to the largest ratio of anybody, solvers in the
    order of their first rows; none where nothing was proven.
    """
    questions = {(row.instance_sha256, row.seed) for row in rows}
    seconds = {label: _seconds(group) for label, group in _by_label(rows).items()}
    fastest = {
        question: min(
            times[question] for times in seconds.values() if question in times
        )
        for question in questions
        if any(question in times for times in seconds.values())
    }
    ratios = {
        label: sorted(time / fastest[question] for question, time in times.items())
        for label, times in seconds.items()
    }
    if not fastest:
        return []
    end = max(ratio for found in ratios.values() for ratio in found)
    curves = []
    for label, found in ratios.items():
        points = [(1.0, 0.0)]
        points += [(tau, (n + 1) / len(questions)) for n, tau in enumerate(found)]
        points.append((end, points[-1][1]))
        curves.append(_stairs(label, points))
    return curves


def _seconds(rows: Sequence[Row]) -> dict[tuple[str, int], float]:
    """Return the median seconds of each question that was proven."""
    times: dict[tuple[str, int], list[float]] = defaultdict(list)
    for row in rows:
        if row.finding.ending is Ending.OPTIMAL and row.finding.proof_s is not None:
            times[row.instance_sha256, row.seed].append(max(row.finding.proof_s, 1e-6))
    return {question: statistics.median(found) for question, found in times.items()}


def gap_against_time(rows: Sequence[Row]) -> list[Curve]:
    """Return, for each solver, the mean gap of its runs as time goes on.

    A run's gap is that between its own objective and its own bound, relative to the
    bound; 1 before it has both, and 1 for good if it never has.

    Returns staircases over seconds, all from the first event of anybody, where the gap
    of a solver without answers is 1, to just past the last, so that every event is
    seen.
    """
    events = {
        label: [_gaps(row) for row in group] for label, group in _by_label(rows).items()
    }
    times = [at for runs in events.values() for run in runs for at, _ in run]
    if not times:
        return []
    begin, end = min(times), max(times) * _PAST_THE_LAST
    return [_mean(label, runs, begin, end) for label, runs in events.items()]


def _gaps(row: Row) -> list[tuple[float, float]]:
    """Return when the gap of a run became what."""
    found = []
    for at, objective, bound in row.finding.trace:
        share = gap(objective, bound)
        share = _WIDEST if share is None else min(_WIDEST, share)
        found.append((max(at, 1e-6), share))
    return found


def _mean(
    label: str, runs: list[list[tuple[float, float]]], begin: float, end: float
) -> Curve:
    changes = sorted(
        (at, place, share) for place, run in enumerate(runs) for at, share in run
    )
    gaps = [_WIDEST] * len(runs)
    points: list[tuple[float, float]] = [(begin, _WIDEST)]
    for at, place, share in changes:
        gaps[place] = share
        points.append((at, sum(gaps) / len(gaps)))
    return _stairs(label, [*points, (end, points[-1][1])])


def scaling(rows: Sequence[Row]) -> list[Curve]:
    """Return, for each solver, the geometric mean of its seconds at each size.

    Answered runs alone: a line that ends early tells where answers end. Instances whose
    names differ in more than numbers are no sizes of one thing: each such family has a
    curve of its own, labelled by the solver alone.
    """
    curves = []
    for label, group in _by_label(rows).items():
        families: dict[str, dict[int, list[float]]] = {}
        for row in group:
            if row.solved and row.finding.solve_s is not None:
                family = " ".join(_NUMBER.sub("", row.instance).split())
                seconds = families.setdefault(family, defaultdict(list))
                seconds[row.size].append(row.finding.solve_s)
        for seconds in families.values():
            means = {size: geometric_mean(found) for size, found in seconds.items()}
            points = sorted(
                (size, mean) for size, mean in means.items() if mean is not None
            )
            sizes, times = zip(*points, strict=True)
            curves.append(Curve(label, tuple(map(float, sizes)), times))
    return curves


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
    logs = [statistics.fmean(end) - statistics.fmean(start) for start, end in timed]
    mean = statistics.fmean(logs)
    if count > 1:
        reach = _reach(logs, count - 1, confidence) / math.sqrt(count)
        low, high = math.exp(mean - reach), math.exp(mean + reach)
    runs = [side for pair in timed for side in pair]
    if repeated := sum(len(side) - 1 for side in runs):
        off = [log - statistics.fmean(side) for side in runs for log in side]
        reach = _reach(off, repeated, confidence)
        spread = math.sqrt(sum(1 / len(side) for side in runs)) / count
        noise = math.exp(reach * spread)
    return Speed(problem, solver, count, math.exp(mean), low, high, noise)


def _reach(logs: Sequence[float], freedom: int, confidence: float) -> float:
    """Return Student's t times the standard deviation of one value."""
    from scipy.stats import t

    mean = statistics.fmean(logs)
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
