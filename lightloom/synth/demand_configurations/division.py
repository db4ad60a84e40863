"""A demand divided among configurations: durations, units, bytes, and what is lit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.schedule import FluidTransfers, Segment, StepPart
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.synth.realisation import Realisation

if TYPE_CHECKING:
    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Division:
    """A demand divided among configurations.

    `durations`: of each configuration, the longest first, shape (configurations,).
    `counts`: units of each pair in each, shape (pairs, configurations).
    """

    durations: FloatArray
    counts: IntArray


def durations_of_counts(need: FloatArray, counts: IntArray) -> FloatArray:
    """Return the durations of least sum in which counts move all data.

    `need`: how long one unit takes for each pair, shape (pairs,); above 0. `counts`:
    units of each pair in each configuration, shape (pairs, configurations); some for
    every pair.
    """
    from scipy.optimize import linprog

    distinct, where = np.unique(counts, axis=0, return_inverse=True)
    most = np.zeros(len(distinct))
    np.maximum.at(most, where.reshape(-1), need)
    scale = most.max()
    found = linprog(
        np.ones(counts.shape[1]),
        A_ub=-distinct.astype(np.float64),
        b_ub=-most / scale,
        method="highs",
    )
    durations: FloatArray = np.asarray(found.x, dtype=np.float64) * scale
    return durations


def moved_bytes(bits_per_s: int, size_bytes: IntArray, division: Division) -> IntArray:
    """Return the bytes of each pair in each configuration, shape of the counts.

    Durations become whole picoseconds, as few more as rounding asks for.
    """
    unit = BITS_PER_BYTE * PS_PER_S
    counts = division.counts.tolist()
    sizes = size_bytes.tolist()
    durations_ps = [int(np.ceil(each)) for each in division.durations.tolist()]
    more_ps = 1
    while True:
        moved = np.zeros(division.counts.shape, dtype=np.int64)
        short = False
        for pair, (size, units) in enumerate(zip(sizes, counts, strict=True)):
            left = size
            for place, (count, time_ps) in enumerate(
                zip(units, durations_ps, strict=True)
            ):
                part = min(left, count * bits_per_s * time_ps // unit)
                moved[pair, place] = part
                left -= part
            short |= left > 0
        if not short:
            return moved
        durations_ps = [each + more_ps for each in durations_ps]
        more_ps *= 2


@dataclass(frozen=True, eq=False)
class LitDivision:
    """A division of a demand with circuits for every unit of it."""

    division: Division
    circuits: tuple[Circuits, ...]

    def realised(
        self, rate: int, src: IntArray, dst: IntArray, size_bytes: IntArray
    ) -> Realisation:
        """Return a segment for each configuration that moves something, and one step.

        `rate`: bits per second of a unit.
        """
        moved = moved_bytes(rate, size_bytes, self.division)
        segments: list[Segment] = []
        parts: list[StepPart] = []
        for of_pair, circuits in zip(moved.T, self.circuits, strict=True):
            rows = np.flatnonzero(of_pair)
            if not len(rows):
                continue
            nodes = 1 + int(max(src.max(), dst.max()))
            used = np.isin(
                circuits.src * nodes + circuits.dst, src[rows] * nodes + dst[rows]
            )
            number = len(segments)
            segments.append(Segment(0, number, circuits.take(np.flatnonzero(used))))
            sent = FluidTransfers(src[rows], dst[rows], of_pair[rows])
            parts.append(StepPart(0, 0, number, sent))
        return Realisation(tuple(segments), tuple(parts))
