"""Gossip on a Kautz digraph: every round on the same few circuits of each rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.digraphs.balanced_walks import even_walks
from lightloom.plans.digraphs.kautz_graph import (
    kautz_arcs,
    kautz_ends,
    shortest_trees,
)
from lightloom.plans.gossip import GOSSIPS, gossip, gossip_outline
from lightloom.plans.parameters import Degree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round, RoundOutline


class FixedDigraph(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Blocks travel along the shortest paths of a digraph with few arcs per rank.

    With d ports, on a generalised Kautz digraph every rank is within ceil(log_d n)
    arcs of every other, so that many rounds do an all-gather or an all-to-all without
    any reconfiguration: circuits are held from the first round to the last.
    In an all-gather a rank receives every block once; in an all-to-all a block is
    sent as often as its path has arcs, at most twice where
    two rounds suffice.
    """

    ops: ClassVar[tuple[str, ...]] = GOSSIPS

    degree: Degree = None

    def outline(self, ranks: int, ports: int, op: str) -> tuple[RoundOutline, ...]:
        """Return what its rounds take, see `lightloom.plans.plan.Outlined`."""
        if ranks == 1:
            return ()
        degree = min(ports if self.degree is None else self.degree, ranks - 1)
        src, dst = kautz_ends(ranks, degree)
        loops = int(np.bincount(dst[src == dst]).max(initial=0))
        return gossip_outline(ranks, degree, op, loops=loops)

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; up to n^2 rows in each."""
        ranks = collective.rank_count
        degree = min(ports if self.degree is None else self.degree, ranks - 1)
        arcs = kautz_arcs(ranks, degree)
        return gossip(
            collective,
            arcs,
            forward=shortest_trees(arcs),
            backward=lambda: shortest_trees(arcs, backwards=True),
            walks=lambda: even_walks(
                *np.divmod(arcs.key, ranks), shortest_trees(arcs).distance
            ),
        )


ALGORITHM = AlgorithmEntry(
    name="fixed-digraph",
    summary="fewest rounds on one configuration: a generalised Kautz digraph",
    ops=FixedDigraph.ops,
    make=FixedDigraph,
)
