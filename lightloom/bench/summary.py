"""Summaries: one line for each problem and solver."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from lightloom.bench.certified_gaps import certified_bounds, certified_gap
from lightloom.bench.results import Ending

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lightloom.bench.results import Row

_NumberT = TypeVar("_NumberT", int, float)


@dataclass(frozen=True)
class Summary:
    """How a solver did on a problem.

    Attributes
    ----------
    problem, solver
        Who, with parameters, on what.
    runs, answered, proven, certified
        Runs in all; those with an answer; those whose answer somebody calls the best;
        those whose answer meets a bound with a checked witness, whoever found it.
    mean_gap, worst_gap
        Gap of the answers to the best certified bound; ``None`` where there is none.
    solve_s, slowest_s
        Geometric mean and maximum of the seconds of answered runs.
    cpu_s
        Geometric mean of their processor seconds.
    peak_bytes
        Most memory of any run.
    troubles
        How the other runs ended, with their numbers.
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
