"""Performance profiles: E. Dolan and J. More, Mathematical Programming 91 (2002)."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import TYPE_CHECKING

from lightloom.bench.plot_curve import Curve, by_label, stairs
from lightloom.bench.results import Ending

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.bench.results import Row


def performance_profile(rows: Sequence[Row]) -> list[Curve]:
    """Return, for each solver, the share of questions proven within a factor.

    The share ``rho(tau)`` of questions that a solver proves optimal within `tau` times
    the seconds of the fastest that does (the paper's equation after 2.1). Questions
    are pairs of instance and seed; those that nobody proves count, and so no curve
    reaches 1. Repetitions are replaced by their median.

    Parameters
    ----------
    rows
        Of one problem.

    Returns
    -------
    Staircases from tau = 1 to the largest ratio of anybody, solvers in the order of
    their first rows; none where nothing was proven.
    """
    questions = {(row.instance_sha256, row.seed) for row in rows}
    seconds = {label: _seconds(group) for label, group in by_label(rows).items()}
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
        walked = stairs(points)
        curves.append(
            Curve(label, tuple(x for x, _ in walked), tuple(y for _, y in walked))
        )
    return curves


def _seconds(rows: Sequence[Row]) -> dict[tuple[str, int], float]:
    """Return the median seconds of each question that was proven."""
    times: dict[tuple[str, int], list[float]] = defaultdict(list)
    for row in rows:
        if row.finding.ending is Ending.OPTIMAL and row.finding.proof_s is not None:
            times[row.instance_sha256, row.seed].append(max(row.finding.proof_s, 1e-6))
    return {question: statistics.median(found) for question, found in times.items()}
