"""Collectives on a ring, in which every rank passes blocks to the next one."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.plan import Partition, RoundOutline, reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round


class RingAlgorithm(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """One port, rank i to rank i + 1 in every round.

    With alpha the cost of a transfer and r the rate of a port, all-reduce of B bytes
    on n ranks takes 2 (n - 1) (alpha + B / (n r)) and the least possible data; the
    circuits never change.
    """

    ops: ClassVar[tuple[str, ...]] = ("all-gather", "all-reduce", "reduce-scatter")

    def outline(self, ranks: int, ports: int, op: str) -> tuple[RoundOutline, ...]:
        """Return what its rounds take, see `lightloom.plans.plan.Outlined`."""
        del ports
        phases = 2 if op == "all-reduce" else 1
        return (RoundOutline(1, Fraction(1, ranks)),) * (phases * (ranks - 1))

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return n - 1 rounds for each of reduce-scatter and all-gather."""
        del ports
        ranks, chunks = collective.rank_count, collective.chunk_count
        rounds: list[Round] = []
        if collective.op != "all-gather":
            # Backwards, so that its reversal sends to i + 1 too.
            rounds += reversed_rounds(_all_gather(ranks, chunks, -1), Op.REDUCE)
        if collective.op != "reduce-scatter":
            rounds += _all_gather(ranks, chunks, 1)
        return rounds


def _all_gather(ranks: int, chunks: int, step: int) -> list[Round]:
    """Return the rounds in which rank i sends to rank i + step."""
    rank = np.arange(ranks, dtype=np.int64)
    blocks = Partition(ranks, chunks)
    rounds = (
        blocks.round(
            rank, (rank + step) % ranks, rank - step * turn, 1, port=0, op=Op.COPY
        )
        for turn in range(ranks - 1)
    )
    return [one for one in rounds if one is not None]


ALGORITHM = AlgorithmEntry(
    name="ring",
    summary="neighbour to neighbour: least data, most rounds, one configuration",
    ops=RingAlgorithm.ops,
    make=RingAlgorithm,
    always=True,
)
