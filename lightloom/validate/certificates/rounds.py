"""Rounds: steps of a schedule in which a circuit carries one chunk at most."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.schedule import FluidTransfers
from lightloom.core.task import Collective
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.validate.certificates.objective import (
    InapplicableError,
    Objective,
)
from lightloom.validate.certificates.proofs.round_counts import KINDS, prove_rounds
from lightloom.validate.certificates.witness import require

if TYPE_CHECKING:
    from lightloom.core.certificate import Number, Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule, Segment
    from lightloom.instances.instance import AnyFabric


@dataclass(frozen=True)
class RoundsQuestion:
    """Fewest rounds of a collective, its chunk count chosen, on a grid."""

    fabric: Lightpath
    collective: Collective

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of `lightloom.validate.certificates.proofs.round_counts`."""
        return tuple(sorted(KINDS))

    def prove(self, kind: str, witness: Witness, bound: Number) -> None:
        """See `Question.prove`."""
        proof = prove_rounds(self.fabric, self.collective, kind, witness)
        require(bound, proof.rounds)


def measure(fabric: AnyFabric, schedule: Schedule) -> tuple[RoundsQuestion, int]:
    """Return the question, and the steps of a schedule that is in rounds.

    Raises `InapplicableError` if it is of no collective on a grid, a step uses several
    segments, or a circuit carries more than one chunk in a step.
    """
    task = schedule.task
    if not isinstance(fabric, Lightpath) or not isinstance(task, Collective):
        message = "rounds are those of a collective on light paths"
        raise InapplicableError(message)
    for one, other in pairwise(schedule.parts):
        if one.index == other.index:
            message = f"step {one.index} uses several segments, so it is not a round"
            raise InapplicableError(message)
    nodes = fabric.node_count
    lit = {
        (segment.plane, segment.index): _circuits(segment, nodes)
        for segment in schedule.segments
    }
    for part in schedule.parts:
        assert part.plane is not None
        assert part.segment is not None
        transfers = part.transfers
        assert not isinstance(transfers, FluidTransfers)
        moved = _by_pair(
            transfers.src * nodes + transfers.dst,
            transfers.chunk_hi - transfers.chunk_lo,
        )
        pairs, circuits = lit[part.plane, part.segment]
        there = circuits[np.searchsorted(pairs, moved[0])]
        for row in np.flatnonzero(moved[1] > there)[:1].tolist():
            src, dst = divmod(int(moved[0][row]), nodes)
            message = (
                f"step {part.index} moves {moved[1][row]} chunks from {src} to {dst}"
                f" on {there[row]} circuits, so it is not a round"
            )
            raise InapplicableError(message)
    return RoundsQuestion(fabric, task), schedule.step_count


def _circuits(segment: Segment, nodes: int) -> tuple[IntArray, IntArray]:
    """Return the pairs of a segment, sorted, and the wavelengths of each."""
    circuits = segment.circuits
    pair = circuits.src * nodes + circuits.dst
    return _by_pair(pair, circuits.lists("wavelengths").lengths)


def _by_pair(pair: IntArray, amount: IntArray) -> tuple[IntArray, IntArray]:
    """Return distinct pairs, sorted, and the sum of each."""
    distinct, place = np.unique(pair, return_inverse=True)
    total = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(total, place, amount)
    return distinct, total


OBJECTIVE = Objective("rounds", largest=False, measure=measure)
