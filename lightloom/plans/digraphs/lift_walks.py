"""Shortest walks on a lift whose ports change between rounds, evenly loaded.

Ports come in as many groups as there are configurations in turn, and a walk takes in
every round one port of the group that is lit then, or stays where it is.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.plans.digraphs.balanced_choice import even_choice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.plans.digraphs.lift import Lift

__all__ = ["LiftWalks", "even_walks_of", "expected_hop_sum", "fewest_hops"]


@dataclass(frozen=True, eq=False)
class LiftWalks:
    """Walks from the first node of every orbit to all nodes, a few to each.

    Attributes
    ----------
    nodes
        Where each walk is after each round, shape (rounds + 1, walks).
    ports
        The port it takes in each round, -1 where it stays; shape (rounds, walks).
    piece
        Which piece of the block takes the walk, shape (walks,).
    """

    nodes: IntArray
    ports: IntArray
    piece: IntArray

    def load(self, ports: int) -> int:
        """Return how many walks take the busiest of so many ports, summed over rounds.

        Of a lift with one orbit.
        """
        return sum(
            int(np.bincount(taken[taken >= 0], minlength=ports).max(initial=0))
            for taken in self.ports
        )


def lit_ports(ports: int, rounds: Sequence[int]) -> list[slice]:
    """Return the ports that are lit in each round.

    Parameters
    ----------
    ports
        Ports of all configurations together.
    rounds
        Rounds of each configuration, which has an equal share of the ports.
    """
    each = ports // len(rounds)
    return [
        slice(index * each, (index + 1) * each)
        for index, count in enumerate(rounds)
        for _ in range(count)
    ]


def fewest_hops(preceding: IntArray, rounds: Sequence[int], start: int) -> IntArray:
    """Return the fewest hops to each node by the end of each round.

    Parameters
    ----------
    preceding
        Where each port comes from to each node, shape (ports, n).
    rounds
        Rounds of each configuration.
    start
        Where walks begin.

    Returns
    -------
    Hops, shape (rounds + 1, n); n where a node is not reached.
    """
    ports, count = preceding.shape
    hops = np.full((sum(rounds) + 1, count), count, dtype=np.int64)
    hops[0, start] = 0
    for index, lit in enumerate(lit_ports(ports, rounds)):
        moved = hops[index][preceding[lit]].min(axis=0) + 1
        hops[index + 1] = np.minimum(hops[index], np.minimum(moved, count))
    return hops


def expected_hop_sum(ranks: int, degree: int, rounds: Sequence[int]) -> int | None:
    """Return about the sum of hops to all ranks, or ``None`` if some are out of reach.

    There are degree**h ways of h hops within a configuration, and ways through several
    follow one another. w ways to u ranks that are no nearer reach a share of them of
    1 - (u / (u + w))**2, as measured on the digraphs that `nearest_in_turn` finds, and
    never more than w.

    Parameters
    ----------
    ranks
        Number of ranks.
    degree
        Ports of each configuration.
    rounds
        Rounds of each configuration.
    """
    ways = [1]
    for count in rounds:
        longer = [0] * (len(ways) + count)
        for hops, number in enumerate(ways):
            for more in range(count + 1):
                longer[hops + more] += number * degree**more
        ways = longer
    left = ranks - 1 - min(ranks - 1, ways[1])
    total = ranks - 1 - left
    for hops, number in enumerate(ways[2:], 2):
        missed = left**3 // (left + number) ** 2
        reached = min(number, left - missed)
        left, total = left - reached, total + hops * reached
    return None if left else total


@functools.lru_cache(maxsize=8)
def even_walks_of(lift: Lift, pieces: int, rounds: tuple[int, ...] = ()) -> LiftWalks:
    """Return shortest walks that load the arcs of each round evenly.

    Parameters
    ----------
    lift
        The digraph of all ports.
    pieces
        Walks to each node, 1 or more.
    rounds
        Rounds of each configuration; by default of one, as many as any walk has hops.
        All nodes must be within reach. With one, walks do not stay before they arrive.
    """
    rounds = rounds or (int(lift.distances().max()),)
    nodes, ports = _shortest(lift, rounds)
    key = (ports >= 0).sum(axis=1) * lift.ranks**2
    key += nodes[:, 0] * lift.ranks + nodes[:, -1]
    by_end = np.argsort(key, kind="stable")
    _, first = np.unique(key[by_end], return_index=True)
    degree = len(lift.heads)
    step = np.arange(ports.shape[1])
    counter = (step * lift.orbits + nodes[:, :-1] // lift.group.order) * degree + ports
    options: list[IntArray] = []
    ways: list[IntArray] = []
    for rows in np.split(by_end, first[1:]):
        taken = counter[rows][ports[rows] >= 0].reshape(len(rows), -1)
        if taken.shape[1]:
            options += [taken] * pieces
            ways += [rows] * pieces
    chosen, _ = even_choice(options, ports.shape[1] * lift.orbits * degree)
    row = np.array(
        [way[choice] for way, choice in zip(ways, chosen.tolist(), strict=True)],
        dtype=np.int64,
    )
    piece = np.tile(np.arange(pieces, dtype=np.int64), len(ways) // pieces)
    return LiftWalks(nodes[row].T, ports[row].T, piece)


def _shortest(lift: Lift, rounds: tuple[int, ...]) -> tuple[IntArray, IntArray]:
    """Return the nodes and ports of all shortest walks from each first node.

    Walks that stay where they began are among them. A walk that is to be shortest has
    taken the fewest hops to wherever it is.
    """
    following, order = lift.following(), lift.group.order
    preceding = np.argsort(following, axis=1)
    start = np.arange(lift.orbits, dtype=np.int64) * order
    fewest = np.stack([fewest_hops(preceding, rounds, one) for one in start.tolist()])
    nodes = start[:, None]
    ports = np.zeros((lift.orbits, 0), dtype=np.int64)
    for index, lit in enumerate(lit_ports(len(following), rounds), 1):
        hops = (ports >= 0).sum(axis=1)
        # With one configuration, a walk that stays has arrived.
        going = np.flatnonzero((hops == index - 1) | (len(rounds) > 1))
        orbit = nodes[:, 0] // order
        here = following[lit, nodes[going, -1]].T
        least = fewest[orbit[going][:, None], index, here]
        row, port = np.nonzero(least == hops[going][:, None] + 1)
        stays = np.flatnonzero(fewest[orbit, index, nodes[:, -1]] == hops)
        origin = np.concatenate([going[row], stays])
        reached = np.concatenate([here[row, port], nodes[stays, -1]])
        port = np.concatenate([port + lit.start, np.full(len(stays), -1)])
        nodes = np.concatenate([nodes[origin], reached[:, None]], axis=1)
        ports = np.concatenate([ports[origin], port[:, None]], axis=1)
    return nodes, ports
