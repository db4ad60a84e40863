"""The direct exchange, in which every block reaches its destination in one round."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.plan import Partition, reversed_rounds
from lightloom.plans.setting import FROM_ONE_ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round
    from lightloom.plans.setting import Setting


class Direct(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
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

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the one round."""
        del ports
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
        return rounds


def _proposals(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose it where blocks go: a whole buffer goes farther by trees."""
    if setting.op not in FROM_ONE_ROOT:
        yield {}


ALGORITHM = AlgorithmEntry(
    name="direct",
    summary="one round, straight to every peer: least data without forwarding",
    ops=Direct.ops,
    make=Direct,
    proposals=_proposals,
)
