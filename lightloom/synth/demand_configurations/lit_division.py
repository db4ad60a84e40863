"""A division of a demand with the circuits of each configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.schedule import FluidTransfers, Segment, StepPart
from lightloom.synth.demand_configurations.least_durations import moved_bytes
from lightloom.synth.realisation import Realisation

if TYPE_CHECKING:
    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.synth.demand_configurations.search import Division


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
