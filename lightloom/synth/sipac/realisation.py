"""The realisation of rounds on SiPAC, by segments of one-hop circuits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.schedule import Segment, StepPart
from lightloom.synth.realisation import Realisation
from lightloom.synth.shared_configurations import best_configurations
from lightloom.synth.sipac.segment_pairs import pairs_of
from lightloom.synth.sipac.wavelengths import best_circuits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.circuit import Circuits
    from lightloom.instances.fabrics.sipac import Sipac
    from lightloom.synth.traffic import TrafficRound


@dataclass(frozen=True, eq=False)
class _Served:
    """Rounds ``first .. last`` (inclusive) on circuits that stay throughout."""

    first: int
    last: int
    circuits: Circuits
    duration_ps: int


def realise_sipac(fabric: Sipac, rounds: Sequence[TrafficRound]) -> Realisation:
    """Return segments and steps that carry rounds, one step for each round.

    All pairs of the fabric can be lit at once by the shuffle, so one segment is always
    enough. Where switches can be tuned, rounds may instead be cut into several
    segments, each with the circuits that are best for it (`best_circuits`), such that
    they end soonest (`best_configurations`). Transfers must go one hop.

    Deterministic. Consecutive rounds with the same pairs are never cut apart; where all
    cuts together would not save a reconfiguration, none is tried.

    `rounds`: traffic in order, between nodes that share a switch.
    """
    if not rounds:
        return Realisation((), ())
    runs = _runs(rounds)
    whole = _serve(fabric, rounds, 0, len(rounds) - 1)
    served = [whole]
    least_ps = len(rounds) * fabric.alpha_ps
    worth = whole.duration_ps - least_ps > fabric.reconfiguration_ps
    if fabric.switching == "tunable" and len(runs) > 1 and worth:

        def serve(start: int, end: int) -> _Served:
            """Return the best circuits for some runs."""
            if end - start == len(runs) - 1:
                return whole
            return _serve(fabric, rounds, runs[start][0], runs[end][1])

        served = best_configurations(len(runs), serve, fabric.reconfiguration_ps)
    segments = tuple(
        Segment(0, index, one.circuits) for index, one in enumerate(served)
    )
    parts = tuple(
        StepPart(step, 0, index, rounds[step].transfers)
        for index, one in enumerate(served)
        for step in range(one.first, one.last + 1)
    )
    return Realisation(segments, parts)


def _serve(
    fabric: Sipac, rounds: Sequence[TrafficRound], first: int, last: int
) -> _Served:
    """Return the best circuits for some rounds."""
    pairs = pairs_of(fabric, rounds[first : last + 1])
    duration_ps, circuits = best_circuits(fabric, pairs)
    return _Served(first, last, circuits, duration_ps)


def _runs(rounds: Sequence[TrafficRound]) -> list[tuple[int, int]]:
    """Return (first, last) of the runs of rounds that use the same pairs."""
    runs: list[tuple[int, int]] = []
    before = b""
    for number, one in enumerate(rounds):
        ends = np.stack([one.transfers.src, one.transfers.dst])
        now = np.unique(ends, axis=1).tobytes()
        if runs and now == before:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
        before = now
    return runs
