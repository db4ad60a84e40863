"""All-reduce on one configuration in four rounds, on digraphs of diameter three."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.digraphs.de_bruijn import DeBruijn
from lightloom.plans.parameters import DeBruijnDegree
from lightloom.plans.part_moves import PartMoves, round_of
from lightloom.plans.partition import Partition
from lightloom.plans.plan import RoundOutline

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round

_ROUNDS = 4
_LEAST_PARTS = 512
_COMPARED = 4


class HubRelays(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Roots sum what is one arc away, relays sum roots, hubs sum relays and spread it.

    On a De Bruijn digraph of d ports with n = q d^2 ranks, a divisor q of d and
    1 < q < d / 2: one round up, two across and one down, where `HubSums` takes five.

    Of the n / d groups in which d ranks have arcs to the same d ranks, q *base* groups
    have a tail in every block of d ranks with the same in-neighbours: these tails are
    the roots of a part, and sum up all ranks. Of the d heads of a base group, which
    hear from all its roots, q are relays; and each of n / d hubs hears from a relay of
    every group, if the groups are all the same modulo q. Hubs have arcs to all ranks.

    Relays and hubs have sent their own values up, and must forget them before they add.
    A relay gets a copy of one *idle* tail of its group in the first round, which sums
    nothing. The block of that tail is summed by the only root of an *extra* group,
    which has relays and an idle tail as well. Hubs copy the value of one more rank, the
    *source*, in the second round, from heads of its group that have copied it in the
    first.
    """

    ops: ClassVar[tuple[str, ...]] = ("all-reduce",)

    degree: DeBruijnDegree = None

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return one chunk per part."""
        return 1 if ranks == 1 else len(relay_parts(self._graph(ranks, ports)))

    def outline(self, ranks: int, ports: int, op: str) -> tuple[RoundOutline, ...]:
        """Return what its rounds take, see `lightloom.plans.plan.Outlined`."""
        if ranks == 1:
            return ()
        del op
        # Ranks send equally much over all parts, and parts differ in nothing but who.
        moves = [0] * _ROUNDS
        for turn, src, _, _ in _part(self._graph(ranks, ports), 0, 0, 0, 0, 0).moves():
            moves[turn] += len(src)
        return tuple(RoundOutline(1, Fraction(sent, ranks)) for sent in moves)

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the four rounds: some 3 n rows for each of a few hundred parts."""
        graph = self._graph(collective.rank_count, ports)
        parts = relay_parts(graph)
        moves: list[list[PartMoves]] = [[] for _ in range(_ROUNDS)]
        for number, part in enumerate(parts):
            for turn, src, dst, op in part.moves():
                moves[turn].append(PartMoves.of(src, dst, number, op))
        cut = Partition(len(parts), collective.chunk_count)
        rounds = [round_of(graph, of_round, cut) for of_round in moves]
        return [one for one in rounds if one is not None]

    def _graph(self, ranks: int, ports: int) -> DeBruijn:
        """Return the digraph.

        Raises `InputError` if there are no relays on it.
        """
        degree = min(max(2, ports if self.degree is None else self.degree), ranks)
        if not relays_fit(ranks, degree):
            raise InputError(
                f"{ranks} ranks of {degree} ports have no relays",
                where="algorithm.degree",
                found=degree,
                allowed="d with n = q d^2, a divisor q of d, and 1 < q < d / 2",
            )
        return DeBruijn(degree, ranks // degree)


def relays_fit(ranks: int, degree: int) -> bool:
    """Return whether hub relays work for so many ranks, of so many ports each.

    `ranks`, `degree`: there must be n = q d^2 ranks for a divisor q of d, 1 < q < d /
    2.
    """
    folds, rest = divmod(ranks, degree**2)
    return not rest and folds > 1 and 2 * folds < degree and degree % folds == 0


@dataclass(frozen=True, eq=False)
class RelayPart:
    """How one part of the buffer is summed and spread.

    `groups`: its groups that have roots, then the one whose tails are sources. `idle`:
    the tail of each group that its relays copy, shape (groups,). `roots`, `of_root`:
    the tails that sum blocks, shape (roots,), and the place of the group of each.
    `window`: the places among the heads of every group that are relays, shape (q,).
    `hubs`: the ranks that sum relays, shape (hubs,).
    """

    graph: DeBruijn
    groups: IntArray
    idle: IntArray
    roots: IntArray
    of_root: IntArray
    window: IntArray
    hubs: IntArray

    def moves(self) -> Iterator[tuple[int, IntArray, IntArray, Op]]:
        """Yield round, sources, destinations and what they do."""
        graph, degree, hubs = self.graph, self.graph.degree, self.hubs
        rank = np.arange(graph.ranks, dtype=np.int64)
        root_of_block = np.full(graph.groups, -1, dtype=np.int64)
        root_of_block[self.roots // degree] = self.roots
        silent = np.zeros(graph.ranks, dtype=np.bool_)
        silent[self.roots] = silent[self.idle] = True
        rising = rank[~silent]
        yield 0, rising, root_of_block[rising % graph.groups], Op.REDUCE
        relays = self.groups[:, None] * degree + self.window
        group_of = np.full(graph.ranks, -1, dtype=np.int64)
        group_of[relays] = self.groups[:, None]
        each = len(self.window)
        yield 0, np.repeat(self.idle, each), relays.reshape(-1), Op.COPY
        summed = relays[self.of_root].reshape(-1)
        yield 1, np.repeat(self.roots, each), summed, Op.REDUCE
        mine, place = group_of[hubs], hubs // degree % degree
        source = int(self.groups[-1])
        yield 1, (source * degree + place)[mine < 0], hubs[mine < 0], Op.COPY
        # A hub that is a relay has the sum of its own group, and no source yet.
        lacks = mine != self.groups[:, None]
        lacks[-1] &= mine >= 0
        heads = self.groups[:, None] * degree + place
        yield 2, heads[lacks], np.broadcast_to(hubs, lacks.shape)[lacks], Op.REDUCE
        hub_of_block = np.zeros(graph.groups, dtype=np.int64)
        hub_of_block[hubs % graph.groups] = hubs
        waits = np.ones(graph.ranks, dtype=np.bool_)
        waits[hubs] = False
        others = rank[waits]
        yield 3, hub_of_block[others // degree], others, Op.COPY


@functools.lru_cache(maxsize=4)
def relay_parts(graph: DeBruijn) -> tuple[RelayPart, ...]:
    """Return parts in which every rank is a hub, and every group a base, in turn.

    Which tails are idle is chosen part after part so that arcs are loaded evenly, by
    the squares of what they carry in each round.
    """
    degree, folds = graph.degree, graph.groups // graph.degree
    windows = degree // folds
    turns = windows * -(-_LEAST_PARTS // (folds * windows**2))
    load = np.zeros((_ROUNDS, graph.ranks, degree), dtype=np.int64)
    parts: list[RelayPart] = []

    def cost(part: RelayPart) -> int:
        return sum(
            int((load[turn, src, dst % degree] ** 2).sum())
            for turn, src, dst, _ in part.moves()
        )

    for residue, window, turn in np.ndindex(folds, windows, turns):
        make = functools.partial(_part, graph, residue, window, turn)
        spared = range(len(parts), len(parts) + degree, -(-degree // _COMPARED))
        idle = min(spared, key=lambda idle: cost(make(idle, 0)))
        sources = range(degree - 2 * folds - 1)
        part = min((make(idle, source) for source in sources), key=cost)
        parts.append(part)
        for at, src, dst, _ in part.moves():
            np.add.at(load[at], (src, dst % degree), 1)
    return tuple(parts)


def _part(
    graph: DeBruijn, residue: int, window: int, turn: int, idle: int, source: int
) -> RelayPart:
    """Return a part whose groups are `residue` modulo q.

    Its relays are in a `window` of q places among the heads of groups. Groups take
    `turn`s as base and extra, and their tails as the `idle` one; of all that are
    neither, `source` says which is that of the source.
    """
    degree, groups = graph.degree, graph.groups
    folds = groups // degree
    chosen: list[int] = []
    idles: list[int] = []
    roots: list[IntArray] = []
    unused: list[int] = []
    for place in range(folds):
        # Relays are tails of groups themselves: these have no roots.
        free = [
            degree * place + folds * step + residue
            for step in range(degree // folds)
            if not (place == residue and step == window)
        ]
        shift = (turn + window) % len(free)
        base, extra, *rest = free[shift:] + free[:shift]
        spared, other = (idle + place) % degree, (idle + place + 1) % degree
        tails = graph.tails(base)
        chosen += [base, extra]
        idles += [base + groups * spared, extra + groups * other]
        roots += [tails[np.arange(degree) != spared], tails[spared : spared + 1]]
        roots[-1] = roots[-1] - base + extra
        unused += rest
    last = unused[source]
    lengths = [len(of_group) for of_group in roots]
    return RelayPart(
        graph,
        groups=np.array([*chosen, last], dtype=np.int64),
        idle=np.array([*idles, last + groups * (idle % degree)], dtype=np.int64),
        roots=np.concatenate(roots),
        of_root=np.repeat(np.arange(len(chosen)), lengths),
        window=window * folds + np.arange(folds, dtype=np.int64),
        hubs=np.arange(groups) + degree * degree * residue + groups * window,
    )


ALGORITHM = AlgorithmEntry(
    name="hub-relays",
    summary="all-reduce in 4 rounds on one configuration of diameter 3",
    ops=HubRelays.ops,
    make=HubRelays,
)
