"""All-reduce on one configuration in four rounds, on digraphs of diameter three."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, require_op
from lightloom.plans.digraphs.de_bruijn import DeBruijn
from lightloom.plans.parameters import DeBruijnDegree
from lightloom.plans.part_moves import PartMoves, round_of
from lightloom.plans.partition import Partition
from lightloom.plans.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective

_ROUNDS = 4
_LEAST_PARTS = 512
_COMPARED = 4


class HubRelays(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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

    def granularity(self, ranks: int, ports: int) -> int:
        """Return one chunk per part.

        Parameters
        ----------
        ranks
            Number of ranks, at least 1.
        ports
            Peers that a rank drives at once, at least 1: the degree of the digraph,
            then at least 2, where none is given.

        Raises
        ------
        InputError
            If there are no relays on the digraph of so many ranks and ports.
        """
        return 1 if ranks == 1 else len(relay_parts(self._graph(ranks, ports)))

    def plan(self, collective: Collective, ports: int) -> Plan:
        """Return the four rounds: some 3 n rows for each of a few hundred parts.

        Parameters
        ----------
        collective
            What is to be done: one of `ops`, with its chunk count chosen.
        ports
            Peers that a rank drives at once, at least 1, as for `granularity`.

        Raises
        ------
        InputError
            If the operation is not one of `ops`, or there are no relays on the
            digraph.
        """
        require_op(self, collective)
        if collective.rank_count == 1:
            return Plan(collective, ())
        graph = self._graph(collective.rank_count, ports)
        parts = relay_parts(graph)
        moves: list[list[PartMoves]] = [[] for _ in range(_ROUNDS)]
        for number, part in enumerate(parts):
            for turn, src, dst, op in part.moves():
                moves[turn].append(PartMoves.of(src, dst, number, op))
        cut = Partition(len(parts), collective.chunk_count)
        rounds = [round_of(graph, of_round, cut) for of_round in moves]
        return Plan(collective, tuple(one for one in rounds if one is not None))

    def _graph(self, ranks: int, ports: int) -> DeBruijn:
        """Return the digraph.

        Raises
        ------
        InputError
            If there are no relays on it.
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

    Parameters
    ----------
    ranks, degree
        There must be n = q d^2 ranks for a divisor q of d, 1 < q < d / 2.
    """
    folds, rest = divmod(ranks, degree**2)
    return not rest and folds > 1 and 2 * folds < degree and degree % folds == 0


@dataclass(frozen=True, eq=False)
class _Group:
    """A group as a part uses it.

    `number` is that of the digraph, `idle` the tail that its relays copy, and `roots`
    are the tails that sum blocks.
    """

    number: int
    idle: int
    roots: IntArray


@dataclass(frozen=True, eq=False)
class RelayPart:
    """How one part of the buffer is summed and spread.

    `window` are the places among the heads of every group that are relays.
    """

    graph: DeBruijn
    groups: tuple[_Group, ...]
    sources: _Group
    window: IntArray
    hubs: IntArray

    def moves(self) -> Iterator[tuple[int, IntArray, IntArray, Op]]:
        """Yield round, sources, destinations and what they do."""
        graph, degree = self.graph, self.graph.degree
        rank = np.arange(graph.ranks, dtype=np.int64)
        root_of_block = np.full(graph.groups, -1, dtype=np.int64)
        silent = np.zeros(graph.ranks, dtype=np.bool_)
        for group in self.groups:
            root_of_block[group.roots // degree] = group.roots
            silent[group.roots] = silent[group.idle] = True
        silent[self.sources.idle] = True
        rising = rank[~silent]
        yield 0, rising, root_of_block[rising % graph.groups], Op.REDUCE
        relay = np.full(graph.ranks, -1, dtype=np.int64)
        for group in (*self.groups, self.sources):
            relays = self._relays(group)
            relay[relays] = group.number
            yield 0, np.full_like(relays, group.idle), relays, Op.COPY
            src, dst = (c.reshape(-1) for c in np.meshgrid(group.roots, relays))
            yield 1, src, dst, Op.REDUCE
        place = self.hubs // degree % degree
        source = self.sources.number * degree + place
        empty = relay[self.hubs] < 0
        yield 1, source[empty], self.hubs[empty], Op.COPY
        summing = (relay[self.hubs] >= 0) & (relay[self.hubs] != self.sources.number)
        yield 2, source[summing], self.hubs[summing], Op.REDUCE
        for group in self.groups:
            lacks = relay[self.hubs] != group.number
            src = group.number * degree + place
            yield 2, src[lacks], self.hubs[lacks], Op.REDUCE
        hub_of_block = np.zeros(graph.groups, dtype=np.int64)
        hub_of_block[self.hubs % graph.groups] = self.hubs
        others = np.setdiff1d(rank, self.hubs)
        yield 3, hub_of_block[others // degree], others, Op.COPY

    def _relays(self, group: _Group) -> IntArray:
        relays: IntArray = group.number * self.graph.degree + self.window
        return relays


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
    found: list[_Group] = []
    unused: list[int] = []
    for place in range(folds):
        # Relays are tails of groups themselves: these have no roots.
        free = [
            degree * place + folds * step + residue
            for step in range(degree // folds)
            if not (place == residue and step == window)
        ]
        base, extra, *rest = np.roll(free, -turn - window).tolist()
        spared, other = (idle + place) % degree, (idle + place + 1) % degree
        roots = np.delete(graph.tails(base), spared)
        found.append(_Group(base, base + groups * spared, roots))
        root = np.array([extra + groups * spared], dtype=np.int64)
        found.append(_Group(extra, extra + groups * other, root))
        unused += rest
    places = window * folds + np.arange(folds, dtype=np.int64)
    first = degree * degree * residue + groups * window
    hubs = first + np.arange(groups, dtype=np.int64)
    last = unused[source]
    sources = _Group(last, last + groups * (idle % degree), roots[:0])
    return RelayPart(graph, tuple(found), sources, places, hubs)


ALGORITHM = AlgorithmEntry(
    name="hub-relays",
    summary="all-reduce in 4 rounds on one configuration of diameter 3",
    ops=HubRelays.ops,
    make=HubRelays,
)
