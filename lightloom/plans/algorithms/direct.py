"""The direct exchange, in which every block reaches its destination in one round."""

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


class Direct(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One round with a port for each of the n - 1 offsets between ranks.

    Least data for all-to-all, all-gather, reduce-scatter, scatter and gather. A
    fabric that drives k peers at once serves the round in ceil((n - 1) / k) parts.
    """

    ops: ClassVar[tuple[str, ...]] = (
        "all-gather",
        "all-to-all",
        "broadcast",
        "gather",
        "reduce",
        "reduce-scatter",
        "scatter",
    )

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
        """Return the one round.

        Parameters
        ----------
        collective
            What is to be done: one of `ops`, with its root and its chunk count
            chosen.
        ports
            Peers that a rank drives at once; has no influence: the round has n - 1
            ports.

        Raises
        ------
        InputError
            If the operation is not one of `ops`.
        """
        del ports
        require_op(self, collective)
        ranks, chunks = collective.rank_count, collective.chunk_count
        blocks = Partition(ranks, chunks)
        offset = np.arange(1, ranks, dtype=np.int64)[:, None]
        rank = np.arange(ranks, dtype=np.int64)
        if collective.op in ("broadcast", "gather", "reduce", "scatter"):
            rank = rank[[collective.root_rank]]
        dst = (rank + offset) % ranks
        port = offset - 1
        made: Round | None
        match collective.op:
            case "all-to-all":
                base = rank * chunks
                made = blocks.round(rank, dst, dst, 1, port=port, op=Op.COPY, base=base)
            case "all-gather":
                made = blocks.round(rank, dst, rank, 1, port=port, op=Op.COPY)
            case "reduce-scatter":
                made = blocks.round(rank, dst, dst, 1, port=port, op=Op.REDUCE)
            case "scatter" | "gather":
                made = blocks.round(rank, dst, dst, 1, port=port, op=Op.COPY)
            case _:
                made = blocks.round(rank, dst, 0, ranks, port=port, op=Op.COPY)
        rounds = [] if made is None else [made]
        if collective.op in ("gather", "reduce"):
            op = Op.COPY if collective.op == "gather" else Op.REDUCE
            rounds = reversed_rounds(rounds, op)
        return Plan(collective, tuple(rounds))


ALGORITHM = AlgorithmEntry(
    name="direct",
    summary="one round, straight to every peer: least data without forwarding",
    ops=Direct.ops,
    make=Direct,
)
