"""Trees with as many branches as ports: broadcast, reduce, scatter, gather."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.parameters import Ports
from lightloom.plans.partition import Partition
from lightloom.plans.reversal import reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round


class NomialTree(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """A (k + 1)-nomial tree over consecutive ranks from the root on.

    In every round each holder cuts the ranks it is responsible for into k + 1
    nearly equal spans, keeps the first and hands the others to their first ranks.
    Holders multiply by k + 1, so ceil(log_{k+1} n) rounds, the fewest there can be.
    """

    ops: ClassVar[tuple[str, ...]] = ("broadcast", "gather", "reduce", "scatter")

    ports: Ports = None

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; those towards the root mirror those away from it."""
        rounds = tree_rounds(
            collective,
            ports if self.ports is None else self.ports,
            scatters=collective.op in ("scatter", "gather"),
        )
        if collective.op == "reduce":
            rounds = reversed_rounds(rounds, Op.REDUCE)
        if collective.op == "gather":
            rounds = reversed_rounds(rounds, Op.COPY)
        return rounds


def tree_rounds(collective: Collective, ports: int, *, scatters: bool) -> list[Round]:
    """Return the rounds of a scatter (of possibly uneven blocks), or a broadcast.

    `ports`: peers a rank drives at once, at least 1. `scatters`: whether ranks get a
    block each; else all get the whole buffer.
    """
    ranks, root = collective.rank_count, collective.root_rank
    blocks = Partition(ranks, collective.chunk_count)
    rounds: list[Round] = []
    lo, hi = np.zeros(1, dtype=np.int64), np.full(1, ranks, dtype=np.int64)
    while (hi - lo).max() > 1:
        cut = _cuts(lo, hi, ports)
        branch = np.broadcast_to(np.arange(cut.shape[1] - 2), cut[:, 1:-1].shape)
        begin, end = cut[:, 1:-1], cut[:, 2:]
        real = end > begin
        holder = np.broadcast_to(lo[:, None], begin.shape)[real]
        made = blocks.round(
            (holder + root) % ranks,
            (begin[real] + root) % ranks,
            begin[real] + root if scatters else 0,
            (end - begin)[real] if scatters else ranks,
            port=branch[real],
            op=Op.COPY,
        )
        rounds += [] if made is None else [made]
        whole = cut[:, 1:] > cut[:, :-1]
        lo, hi = cut[:, :-1][whole], cut[:, 1:][whole]
    return rounds


def _cuts(lo: IntArray, hi: IntArray, ports: int) -> IntArray:
    """Return the boundaries of each span's parts, shape (spans, parts + 1).

    The first part is never empty: it has the holder. Spans shorter than the number
    of parts end with empty ones.
    """
    size = hi - lo
    parts = np.minimum(size, ports + 1)[:, None]
    number = np.minimum(np.arange(int(parts.max()) + 1, dtype=np.int64), parts)
    cut: IntArray = lo[:, None] - (-number * size[:, None] // parts)
    return cut


ALGORITHM = AlgorithmEntry(
    name="tree",
    summary="(k+1)-nomial tree: fewest rounds from or to a root",
    ops=NomialTree.ops,
    make=NomialTree,
)
