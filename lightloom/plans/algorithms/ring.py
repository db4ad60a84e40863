"""Collectives on a ring, in which every rank passes blocks to the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import msgspec
import numpy as np

from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, require_op
from lightloom.plans.partition import Partition
from lightloom.plans.plan import Plan, Round
from lightloom.plans.reversal import reversed_rounds

if TYPE_CHECKING:
    from lightloom.core.task import Collective


class RingAlgorithm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One port, rank i to rank i + 1 in every round.

    With alpha the cost of a transfer and r the rate of a port, all-reduce of B bytes
    on n ranks takes 2 (n - 1) (alpha + B / (n r)) and the least possible data; the
    circuits never change.
    """

    ops: ClassVar[tuple[str, ...]] = ("all-gather", "all-reduce", "reduce-scatter")

    def granularity(self, ranks: int, ports: int) -> int:
        """Return one chunk per block.

        Parameters
        ----------
        ranks
            Number of ranks, at least 1.
        ports
            Peers that a rank drives at once; has no influence.
        """
        del ports
        return ranks

    def plan(self, collective: Collective, ports: int) -> Plan:
        """Return n - 1 rounds for each of reduce-scatter and all-gather.

        Parameters
        ----------
        collective
            What is to be done: one of `ops`, with its chunk count chosen.
        ports
            Peers that a rank drives at once; has no influence: a rank sends to one.

        Raises
        ------
        InputError
            If the operation is not one of `ops`.
        """
        del ports
        require_op(self, collective)
        ranks, chunks = collective.rank_count, collective.chunk_count
        rounds: list[Round] = []
        if collective.op != "all-gather":
            # Backwards, so that its reversal sends to i + 1 too.
            rounds += reversed_rounds(_all_gather(ranks, chunks, -1), Op.REDUCE)
        if collective.op != "reduce-scatter":
            rounds += _all_gather(ranks, chunks, 1)
        return Plan(collective, tuple(rounds))


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
)
