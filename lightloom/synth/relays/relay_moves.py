"""Bytes of pairs on the move, round by round, and their names on the circuits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lightloom.core.schedule import FluidTransfers
from lightloom.plans.edge_colouring import edge_colours
from lightloom.synth.traffic import TrafficRound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.schedule import StepPart

_ROUNDING = 1e-6
"""Of a byte; what is nearly whole counts as whole."""


@dataclass(frozen=True, eq=False)
class RelayMoves:
    """What moves from where to where in each round; columns of shape (moves,).

    `round`: round of each move, from 0 on. `origin`, `final`: where its bytes come
    from, and where they go. `bytes`: how many, 1 or more. `port`: partial permutation
    of nodes that each circuit belongs to, the same in all rounds; ``None`` where none
    is chosen.
    """

    round: IntArray
    src: IntArray
    dst: IntArray
    origin: IntArray
    final: IntArray
    bytes: IntArray
    port: IntArray | None = None

    def take(self, rows: IntArray) -> RelayMoves:
        """Return some moves."""
        taken: dict[str, Any] = {
            name: None if column is None else column[rows]
            for name, column in vars(self).items()
        }
        return RelayMoves(**taken)

    def transfers(self) -> FluidTransfers:
        """Return the moves as transfers, with names where some are relayed."""
        columns = self.src, self.dst, self.bytes
        straight = np.array_equal(self.src, self.origin)
        if straight and np.array_equal(self.dst, self.final):
            return FluidTransfers(*columns)
        return FluidTransfers(*columns, self.origin, self.final)

    @property
    def rounds(self) -> list[RelayMoves]:
        """The moves of each round in which anything moves, sorted by circuit."""
        order = np.lexsort((self.final, self.origin, self.dst, self.src, self.round))
        starts = np.flatnonzero(np.diff(self.round[order], prepend=-1))
        return [self.take(rows) for rows in np.split(order, starts[1:])]

    def pairs(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return source, destination and bytes of each circuit, sorted."""
        width = int(max(self.src.max(), self.dst.max())) + 1
        keys, where = np.unique(self.src * width + self.dst, return_inverse=True)
        size_bytes = np.zeros(len(keys), dtype=np.int64)
        np.add.at(size_bytes, where, self.bytes)
        return keys // width, keys % width, size_bytes

    def traffic(self, *, together: bool) -> list[TrafficRound]:
        """Return the rounds as traffic between nodes.

        `together`: whether a circuit has the same port in all rounds, so that it can
        stay.
        """
        if self.port is not None:
            return [
                TrafficRound(
                    FluidTransfers(one.src, one.dst, one.bytes), one.bytes, one.port
                )
                for one in self.rounds
                if one.port is not None
            ]
        src, dst, _ = self.pairs()
        width = int(max(src.max(), dst.max())) + 1
        keys, colours = src * width + dst, edge_colours(src, dst)
        made = []
        for one in self.rounds:
            src, dst, size_bytes = one.pairs()
            port = colours[np.searchsorted(keys, src * width + dst)]
            if not together:
                port = edge_colours(src, dst)
            moved = FluidTransfers(src, dst, size_bytes)
            made.append(TrafficRound(moved, size_bytes, port))
        return made


def named_parts(parts: Sequence[StepPart], moves: RelayMoves) -> tuple[StepPart, ...]:
    """Return parts of one round whose transfers say whose bytes they move.

    The moves of a circuit take its transfers one after another.
    """
    every = [part.transfers for part in parts]
    src, dst, size_bytes = (
        np.concatenate([getattr(one, name) for one in every])
        for name in ("src", "dst", "bytes")
    )
    number = np.repeat(np.arange(len(every)), [len(one) for one in every])
    order = np.lexsort((number, dst, src))
    by_circuit = np.lexsort((moves.dst, moves.src))
    ends = np.cumsum(size_bytes[order]), np.cumsum(moves.bytes[by_circuit])
    cuts = np.unique(np.concatenate(ends))
    row = order[np.searchsorted(ends[0], cuts)]
    of = by_circuit[np.searchsorted(ends[1], cuts)]
    share = np.diff(cuts, prepend=0)
    named = []
    for index, part in enumerate(parts):
        own = np.flatnonzero(number[row] == index)
        made = replace(moves.take(of[own]), bytes=share[own])
        named.append(replace(part, transfers=made.transfers()))
    return tuple(named)


def whole_bytes(
    size_bytes: IntArray,
    pair: IntArray,
    amount: FloatArray,
    relayed: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
) -> IntArray:
    """Return whole bytes for each way; what rounding leaves goes the fullest one.

    `amount`: what goes each way, in any unit. `relayed`: whether each way has a relay.
    """
    total = np.bincount(pair, weights=amount)[pair]
    # What is too little for the program to count goes straight, if it can.
    share = np.divide(amount, total, out=np.zeros_like(amount), where=total > 0)
    moved: IntArray = np.floor(share * size_bytes[pair] + _ROUNDING).astype(np.int64)
    rest = size_bytes.copy()
    np.subtract.at(rest, pair, moved)
    order = np.lexsort((relayed, -amount, pair))
    first = order[np.unique(pair[order], return_index=True)[1]]
    moved[first] += rest[pair[first]]
    return moved
