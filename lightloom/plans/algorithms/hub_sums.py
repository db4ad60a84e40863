"""All-reduce on one configuration in 2 D - 1 rounds, on digraphs of diameter D."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.digraphs.de_bruijn import DeBruijn
from lightloom.plans.hub_trees import HubForest, HubTrees
from lightloom.plans.parameters import DeBruijnDegree
from lightloom.plans.part_moves import PartMoves, round_of
from lightloom.plans.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round

_MOST_TURNS = 64


class HubSums(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Trees sum into d roots, all d roots send to the same hubs, hubs spread totals.

    On a De Bruijn digraph of d ports with n = q d^(D - 1) ranks, q <= d, that takes
    D - 1 rounds up, one across and D - 1 down, all on one configuration:
    2 D - 1, where a reduce-scatter and an all-gather take 2 D. The
    roots and hubs of a part of the buffer are one of the n / d groups in which d
    ranks have arcs to the same d ranks; every group has a part, so arcs are loaded
    evenly.

    A hub has sent its own values to the trees, so what the roots send contains them
    and would count twice. It therefore forgets: in the last round up it takes a copy
    of what one root holds, and later hears from the other roots only. That *idle* root
    must be complete by then, so its own tree is lower; mostly it has none.

    Ranks beyond the largest such n first add their buffers to another's, and
    get the total last: two rounds more.
    """

    ops: ClassVar[tuple[str, ...]] = ("all-reduce",)

    degree: DeBruijnDegree = None

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return one chunk per group and turn."""
        graph = self._graph(ranks, ports)
        return graph.groups * _turns(graph)

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; up to 3 n rows for each of n / d groups and its turns."""
        ranks = collective.rank_count
        graph = self._graph(ranks, ports)
        turns = _turns(graph)
        forest = HubForest(graph)
        found = [
            forest.trees(group, turn)
            for group in range(graph.groups)
            for turn in range(turns)
        ]
        trees = [one for one in found if one is not None]
        assert trees, "all that has an arc to rank 0 is a root of group 0: it can idle"
        cut = Partition(len(trees), collective.chunk_count)
        rounds = _rounds(graph, trees, cut)
        if graph.ranks < ranks:
            other = np.arange(graph.ranks, ranks, dtype=np.int64)
            kept, port = other - graph.ranks, graph.degree
            whole, length = np.zeros_like(other), len(trees)
            first = cut.round(other, kept, whole, length, port=port, op=Op.REDUCE)
            last = cut.round(kept, other, whole, length, port=port, op=Op.COPY)
            rounds = [first, *rounds, last]
        return [one for one in rounds if one is not None]

    def _graph(self, ranks: int, ports: int) -> DeBruijn:
        """Return the largest digraph of its kind on no more than these ranks."""
        degree = min(max(2, ports if self.degree is None else self.degree), ranks)
        if degree == ranks:
            return DeBruijn(ranks, 1)
        tail = 1
        while tail * degree * degree <= ranks:
            tail *= degree
        return DeBruijn(degree, ranks // (tail * degree) * tail)


def _turns(graph: DeBruijn) -> int:
    """Return how many parts of the buffer a group has in turn.

    As many as there are equally short ways, so that all are used; where groups are
    fewer than ports, times as many idle roots to copy from as a power of two allows.
    """
    twins = graph.degree // graph.groups
    if not twins:
        return 1
    spare = graph.degree - graph.groups
    copies = 1 << (spare.bit_length() - 1) if spare else 1
    return max(twins, min(twins * copies, _MOST_TURNS // graph.groups))


def _rounds(
    graph: DeBruijn, trees: list[HubTrees], cut: Partition
) -> list[Round | None]:
    """Return the rounds of all parts together."""
    up = max(int(one.height.max()) for one in trees)
    if all(one.idle is None for one in trees):
        copied_in = None
    else:
        up = max(up, 1)
        copied_in = up - 1
    down = max(int(one.depth.max()) for one in trees)
    moves: list[list[PartMoves]] = [[] for _ in range(up + 1 + down)]
    for part, one in enumerate(trees):
        rising = one.up != np.arange(graph.ranks)
        for height in range(1, up + 1):
            src = np.flatnonzero(rising & (one.height == height))
            moves[up - height].append(PartMoves.of(src, one.up[src], part, Op.REDUCE))
        if one.idle is not None and copied_in is not None:
            forgetful = np.setdiff1d(one.hubs, one.roots)
            src = np.full(len(forgetful), one.idle, dtype=np.int64)
            moves[copied_in].append(PartMoves.of(src, forgetful, part, Op.COPY))
        src, dst = (c.reshape(-1) for c in np.meshgrid(one.roots, one.hubs))
        heard = src != dst
        if one.idle is not None:
            heard &= (src != one.idle) | np.isin(dst, one.roots)
        moves[up].append(PartMoves.of(src[heard], dst[heard], part, Op.REDUCE))
        for depth in range(1, down + 1):
            dst = np.flatnonzero(one.depth == depth)
            moves[up + depth].append(PartMoves.of(one.down[dst], dst, part, Op.COPY))
    return [round_of(graph, of_round, cut) for of_round in moves]


ALGORITHM = AlgorithmEntry(
    name="hub-sums",
    summary="all-reduce in 2 D - 1 rounds on one configuration of diameter D",
    ops=HubSums.ops,
    make=HubSums,
)
