"""Demands whose bytes may take two circuits, on optical switches, port by port."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.schedule import Segment, StepPart
from lightloom.synth.realisation import Realisation

if TYPE_CHECKING:
    from lightloom.synth.relays.relay_moves import RelayMoves
    from lightloom.synth.relays.stages import RelayStages


def relays_on_switches(stages: RelayStages, moves: RelayMoves) -> Realisation:
    """Return segments and steps in which each switch is a port."""
    assert moves.port is not None
    held = stages.configuration[moves.round]
    step = np.unique(moves.round, return_inverse=True)[1]
    segments: list[Segment] = []
    parts: list[StepPart] = []
    for plane in range(stages.heads.shape[1]):
        here = moves.port == plane
        for index, one in enumerate(np.unique(held[here]).tolist()):
            rows = np.flatnonzero(here & (held == one))
            lit = rows[np.unique(moves.src[rows], return_index=True)[1]]
            circuits = Circuits(moves.src[lit], moves.dst[lit])
            segments.append(Segment(plane, index, circuits))
            for now in np.unique(step[rows]).tolist():
                own = moves.take(rows[step[rows] == now])
                parts.append(StepPart(now, plane, index, own.transfers()))
    parts.sort(key=lambda part: part.index)
    return Realisation(tuple(segments), tuple(parts))
