"""Shortest walks on a lift whose ports change between rounds, evenly loaded."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.plans.digraphs.balanced_choice import even_choice
from lightloom.plans.digraphs.lift_flow import shortest_moves, whole_amounts
from lightloom.plans.digraphs.ports_in_turn import fewest_hops, lit_ports

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.plans.digraphs.lift import Lift
    from lightloom.plans.digraphs.lift_flow import WalkMoves

__all__ = ["LiftWalks", "even_walks_of"]

_MOST_TOGETHER = 1 << 13
"""Ranks in all rounds up to which walks are chosen together, at a second for half."""


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

    def load(self, lift: Lift) -> int:
        """Return how many walks take the busiest arc, summed over rounds.

        Parameters
        ----------
        lift
            The digraph that the walks are on.
        """
        orbit, ports = self.nodes[:-1] // lift.group.order, len(lift.heads)
        arc = np.where(self.ports < 0, -1, orbit * ports + self.ports)
        return sum(int(np.bincount(one[one >= 0]).max(initial=0)) for one in arc)


@functools.lru_cache(maxsize=8)
def even_walks_of(lift: Lift, pieces: int, rounds: tuple[int, ...] = ()) -> LiftWalks:
    """Return shortest walks that load the arcs of each round evenly.

    Evenly: in the sum over rounds of what the busiest arc carries. Walks are chosen one
    after the other, where arcs have most room; if an integer program promises less
    (`whole_amounts`), all together.

    Parameters
    ----------
    lift
        The digraph of all ports.
    pieces
        Walks to each node, 1 or more.
    rounds
        Rounds of each configuration; by default of one, as many as any walk has hops.
        All nodes must be within reach.
    """
    rounds = rounds or (int(lift.distances().max()),)
    chosen = _chosen_in_turn(lift, pieces, rounds)
    load, arcs = chosen.load(lift), lift.orbits * len(lift.heads)
    if load == -(-int((chosen.ports >= 0).sum()) // arcs):
        return chosen  # no arc is ever without a walk
    if lift.ranks * sum(rounds) > _MOST_TOGETHER:
        return chosen
    moves = shortest_moves(lift, rounds)
    assert moves is not None
    amounts = whole_amounts(moves, pieces)
    if amounts is None:
        return chosen
    together = _walks_of_amounts(lift, pieces, moves, amounts)
    return together if together.load(lift) < load else chosen


def _walks_of_amounts(
    lift: Lift, pieces: int, moves: Sequence[WalkMoves], amounts: Sequence[IntArray]
) -> LiftWalks:
    """Return walks of which so many make each move."""
    following, ranks = lift.following(), lift.ranks
    state = np.repeat(np.unique(moves[0].state), pieces)
    start = state // ranks * lift.group.order
    nodes, ports = [start], []
    for now, amount in zip(moves, amounts, strict=True):
        # Those of a state are taken as they come by the moves of that state.
        by_state = np.argsort(state, kind="stable")
        moving = by_state[np.isin(state[by_state], now.state)]
        rows = np.argsort(now.state, kind="stable")
        row = np.repeat(rows, amount[rows])
        port = np.full(len(state), -1, dtype=np.int64)
        port[moving], state = now.port[row], state.copy()
        state[moving] = now.following[row]
        at = nodes[-1]
        nodes.append(np.where(port < 0, at, following[port, at]))
        ports.append(port)
    piece = np.tile(np.arange(pieces, dtype=np.int64), len(start) // pieces)
    return LiftWalks(np.stack(nodes), np.stack(ports), piece)


def _chosen_in_turn(lift: Lift, pieces: int, rounds: tuple[int, ...]) -> LiftWalks:
    """Return walks chosen greedily; with one configuration, none waits."""
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
