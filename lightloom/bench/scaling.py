"""Scaling: seconds against the size of instances."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from lightloom.bench.plot_curve import Curve, by_label
from lightloom.bench.summary import geometric_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.bench.results import Row

_NUMBER = re.compile(r"[-=#x]?\d\S*")


def scaling(rows: Sequence[Row]) -> list[Curve]:
    """Return, for each solver, the geometric mean of its seconds at each size.

    Answered runs alone: a line that ends early tells where answers end. Instances whose
    names differ in more than numbers are no sizes of one thing: each such family has a
    curve of its own, labelled by the solver alone.

    Parameters
    ----------
    rows
        Of one problem.
    """
    curves = []
    for label, group in by_label(rows).items():
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
