"""Curves: what a plot shows of one solver."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lightloom.bench.results import Row


@dataclass(frozen=True)
class Curve:
    """``y[i]`` at ``x[i]``; a step is two points of one x."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]


def stairs(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return points as a staircase: each y holds until the next x."""
    walked: list[tuple[float, float]] = []
    for x, y in points:
        if walked:
            walked.append((x, walked[-1][1]))
        walked.append((x, y))
    return walked


def by_problem(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return the rows of each problem, in the order of their first rows."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.problem].append(row)
    return dict(groups)


def by_label(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return the rows of each solver, in the order of their first rows."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.label].append(row)
    return dict(groups)
