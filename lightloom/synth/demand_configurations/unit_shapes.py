"""Durations that serve pairs cut to units no longer than the longest configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray
    from lightloom.synth.demand_configurations.lines import Lines

_CUTS = 48


@dataclass(frozen=True, eq=False)
class UnitShape:
    """Durations for units of one length and what is left of each pair.

    `durations`: of each configuration, the longest first, shape (configurations,).
    """

    durations: FloatArray
    cut: float


def unit_shapes(lines: Lines) -> dict[int, UnitShape]:
    """Return durations at which each line can be served, by their number.

    Every pair is cut to units of one length and a rest. Sorted, the longest are those
    of the first configuration, as many as a line has in it, and so on; a configuration
    lasts as long as the longest unit of it on any line.

    Returns for each number of configurations that some length needs, the shape of least
    sum.
    """
    best: dict[int, UnitShape] = {}
    least, most = lines.least_total * 1e-3, float(lines.need.max())
    for cut in np.geomspace(max(least, most / 64), most, _CUTS).tolist():
        durations = _durations(lines, cut)
        count = len(durations)
        if count not in best or durations.sum() < best[count].durations.sum():
            best[count] = UnitShape(durations, cut)
    return best


def _durations(lines: Lines, cut: float) -> FloatArray:
    """Return the durations for units of one length."""
    whole = np.floor(lines.need / cut * (1 + 1e-12)).astype(np.int64)
    rest = np.maximum(lines.need - whole * cut, 0.0)
    found = np.zeros(0)
    for line, pairs in enumerate(lines.members):
        room, full = int(lines.capacity[line]), int(whole[pairs].sum())
        rests = np.sort(rest[pairs])[::-1]
        units = np.concatenate([np.full(full, cut), rests[rests > 0]])[::room]
        longer, shorter = sorted((found, units), key=len, reverse=True)
        found = longer.copy()
        found[: len(shorter)] = np.maximum(found[: len(shorter)], shorter)
    return found
