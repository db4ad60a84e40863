"""Gap against time, from the traces of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.bench.plot_curve import Curve, by_label, stairs
from lightloom.core.certificate import gap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.bench.results import Row

_WIDEST = 1.0
"""The gap of a run without an answer or a bound, and the most that any gap counts."""

_PAST_THE_LAST = 1.2
"""Where curves end, over the time of the last event."""


def gap_against_time(rows: Sequence[Row]) -> list[Curve]:
    """Return, for each solver, the mean gap of its runs as time goes on.

    A run's gap is that between its own objective and its own bound, relative to the
    bound; 1 before it has both, and 1 for good if it never has.

    Parameters
    ----------
    rows
        Of one problem.

    Returns
    -------
    Staircases over seconds, all from the first event of anybody, where the gap of a
    solver without answers is 1, to just past the last, so that every event is seen.
    """
    events = {
        label: [_gaps(row) for row in group] for label, group in by_label(rows).items()
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
    walked = stairs([*points, (end, points[-1][1])])
    return Curve(label, tuple(x for x, _ in walked), tuple(y for _, y in walked))
