"""Shortest walks on a lift whose ports change between rounds, evenly loaded."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.plans.digraphs.balanced_choice import even_choice
from lightloom.plans.digraphs.lift_flow import shortest_moves, whole_amounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.plans.digraphs.lift import Lift
    from lightloom.plans.digraphs.lift_flow import WalkMoves

_MOST_WAITING = 1 << 10
"""Ranks in all rounds of one configuration up to which walks may wait for a later one.

Ports then carry up to 14 % less in all, on 16 nodes, and .4 % on 256; on 1024 the
program takes four times as long for .3 %.
"""
_MOST_TOGETHER = 1 << 13
"""Ranks in all rounds up to which walks are chosen together, at a second for half."""


@dataclass(frozen=True, eq=False)
class LiftWalks:
    """Walks from the first node of every orbit to all nodes, a few to each.

    `nodes`: where each walk is after each round, shape (rounds + 1, walks). `ports`:
    the port it takes in each round, -1 where it stays; shape (rounds, walks). `piece`:
    which piece of the block takes the walk, shape (walks,).
    """

    nodes: IntArray
    ports: IntArray
    piece: IntArray

    def load(self, lift: Lift) -> int:
        """Return how many walks take the busiest arc, summed over rounds."""
        orbit, ports = self.nodes[:-1] // lift.group.order, len(lift.heads)
        arc = np.where(self.ports < 0, -1, orbit * ports + self.ports)
        return sum(int(np.bincount(one[one >= 0]).max(initial=0)) for one in arc)


@functools.lru_cache(maxsize=8)
def even_walks_of(lift: Lift, pieces: int, rounds: tuple[int, ...] = ()) -> LiftWalks:
    """Return shortest walks that load the arcs of each round evenly.

    Evenly: in the sum over rounds of what the busiest arc carries. Walks are chosen one
    after the other, where arcs have most room; if an integer program promises less
    (`whole_amounts`), all together.

    `pieces`: walks to each node, 1 or more. `rounds`: rounds of each configuration; by
    default of one, as many as any walk has hops. All nodes must be within reach.
    """
    rounds = rounds or (int(lift.distances().max()),)
    chosen = walks_in_turn(lift, pieces, rounds)
    load, arcs = chosen.load(lift), lift.orbits * len(lift.heads)
    if load == -(-int((chosen.ports >= 0).sum()) // arcs):
        return chosen  # no arc is ever without a walk
    if lift.ranks * sum(rounds) > _MOST_TOGETHER:
        return chosen
    waits = len(rounds) > 1 or lift.ranks * sum(rounds) <= _MOST_WAITING
    moves = shortest_moves(lift, rounds, waits=waits)
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


def walks_in_turn(lift: Lift, pieces: int, rounds: tuple[int, ...]) -> LiftWalks:
    """Return walks chosen one after the other; with one configuration, none waits."""
    nodes, ports = _every_walk(lift, rounds)
    key = (ports >= 0).sum(axis=1) * lift.ranks**2
    key += nodes[:, 0] * lift.ranks + nodes[:, -1]
    by_end = np.argsort(key, kind="stable")
    _, first = np.unique(key[by_end], return_index=True)
    degree = len(lift.heads)
    step = np.arange(ports.shape[1])
    counter = (step * lift.orbits + nodes[:, :-1] // lift.group.order) * degree + ports
    ways = [way for way in np.split(by_end, first[1:]) for _ in range(pieces)]
    options = [counter[way][ports[way] >= 0].reshape(len(way), -1) for way in ways]
    chosen, _ = even_choice(options, ports.shape[1] * lift.orbits * degree)
    row = np.array(
        [way[choice] for way, choice in zip(ways, chosen.tolist(), strict=True)],
        dtype=np.int64,
    )
    piece = np.tile(np.arange(pieces, dtype=np.int64), len(ways) // pieces)
    return LiftWalks(nodes[row].T, ports[row].T, piece)


def _every_walk(lift: Lift, rounds: tuple[int, ...]) -> tuple[IntArray, IntArray]:
    """Return the nodes and ports of all shortest walks, one row each."""
    moves = shortest_moves(lift, rounds, waits=len(rounds) > 1)
    assert moves is not None
    following = lift.following()
    state = np.unique(moves[0].state)
    nodes = state[:, None] // lift.ranks * lift.group.order
    ports = np.zeros((len(state), 0), dtype=np.int64)
    for now in moves:
        by_state = np.argsort(now.state, kind="stable")
        begin = np.searchsorted(now.state, state, sorter=by_state)
        ways = np.searchsorted(now.state, state, side="right", sorter=by_state) - begin
        # Those that have arrived stay.
        row = np.repeat(np.arange(len(state)), np.maximum(ways, 1))
        place = np.arange(len(row)) - np.searchsorted(row, row)
        goes = ways[row] > 0
        move = by_state[(begin[row] + place)[goes]]
        port = np.full(len(row), -1)
        port[goes], state = now.port[move], state[row]
        state[goes] = now.following[move]
        at = nodes[row, -1]
        after = np.where(port < 0, at, following[port, at])
        nodes = np.concatenate([nodes[row], after[:, None]], axis=1)
        ports = np.concatenate([ports[row], port[:, None]], axis=1)
    return nodes, ports
