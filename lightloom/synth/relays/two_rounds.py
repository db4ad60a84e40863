"""Bytes of a demand over one circuit or two, in few rounds, by a linear program.

In two rounds, a byte that goes straight does so in either; one that is relayed reaches
its relay in the first and its destination in the second. A round lasts as long as its
fullest line: what a node sends or receives, or what else pairs share on a fabric. The
program divides the bytes of each pair among its ways so that both last least.

In a pipeline bytes are cut into k pieces, and relays send a piece on while they receive
the next: k + 1 rounds, each with a k-th of what lines carry in all. The program then
makes the fullest line carry least in all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.synth.relays.pair_lines import PairLines
from lightloom.synth.relays.relay_moves import RelayMoves, whole_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from lightloom.core.columns import FloatArray, IntArray

_MOST_WAYS = 2**15
"""Of the linear program; where there are more, bytes are divided evenly among few."""
_MOST_PAIRS = 2**17
_MOST_PIECES = 16
_LONGER = 1e-4
"""What lines count that are not the fullest, so that no byte goes a longer way."""

_LESS = 0.999
"""What relays have to save on the fullest line where all pairs may go straight."""
_EVEN = 1e-2
"""What the fullest circuit of a round counts, so that bytes spread over ways."""


@dataclass(frozen=True, eq=False)
class _Ways:
    """Ways of pairs; `relay` is -1 where one is straight, in round `late`."""

    pair: IntArray
    relay: IntArray
    late: IntArray


class TwoRounds:
    """The ways of the pairs of a demand.

    `columns`: source, destination and bytes of each pair, shape (pairs,) each.
    `joined`: whether a circuit may lead from each node to each, shape (nodes, nodes).
    `lines`: returns the lines of pairs by their ends.
    """

    def __init__(
        self,
        columns: tuple[IntArray, IntArray, IntArray],
        joined: npt.NDArray[np.bool_],
        lines: Callable[[IntArray, IntArray], Sequence[PairLines]],
    ) -> None:
        self._src, self._dst, self._bytes = columns
        self._joined, self._lines = joined, lines
        self.straight: npt.NDArray[np.bool_] = joined[self._src, self._dst]

    @cached_property
    def _straight_ps(self) -> float:
        """How long data move on the fullest line where all pairs go straight."""
        return max(
            float(np.bincount(one.line, weights=one.amount * self._bytes).max())
            * (BITS_PER_BYTE * PS_PER_S / one.bits_per_s)
            for one in self._lines(self._src, self._dst)
        )

    def out_of_reach(self) -> IntArray:
        """Return the pairs between which no two circuits lead."""
        joined = self._joined.astype(np.float32)
        over = (joined @ joined)[self._src, self._dst] > 0
        return np.flatnonzero(~self.straight & ~over)

    def moves(
        self, *, every: bool, piped: bool, round_ps: int, limit_ps: float = math.inf
    ) -> RelayMoves | None:
        """Return what moves in the rounds.

        `piped`: whether bytes are cut into pieces that follow one another.

        Returns ``None`` where ways are too many, nothing is relayed, or lines alone
        take as long as the limit; or where none is fuller if all goes straight.
        """
        ways = self._ways(every=every)
        if ways is None or not (ways.relay >= 0).any():
            return None
        amount, data_ps = self._amounts(ways, piped=piped)
        if self.straight.all() and data_ps >= self._straight_ps * _LESS:
            return None
        pieces = 1
        if piped:
            pieces = min(max(isqrt(data_ps // max(round_ps, 1)), 2), _MOST_PIECES)
            data_ps += data_ps // pieces
        if (pieces + 1) * round_ps + data_ps >= limit_ps:
            return None
        relayed = ways.relay >= 0
        moved = whole_bytes(self._bytes, ways.pair, amount, relayed)
        if not (moved * relayed).any():
            return None
        if not piped:
            return self._moves(ways, [(ways.late, moved)])
        # What goes straight has as many pieces as there are rounds.
        count = np.where(relayed, pieces, pieces + 1)
        each, more = np.divmod(moved, count)
        cut = [
            (np.full_like(moved, index), (each + (index < more)) * (index < count))
            for index in range(pieces + 1)
        ]
        return self._moves(ways, cut)

    def _moves(self, ways: _Ways, cut: list[tuple[IntArray, IntArray]]) -> RelayMoves:
        """Return moves of ways: the round of the first circuit, and bytes, by piece."""
        way = np.tile(np.arange(len(ways.pair)), len(cut))
        number, moved = (np.concatenate(each) for each in zip(*cut, strict=True))
        way, number, moved = (each[moved > 0] for each in (way, number, moved))
        relay, pair = ways.relay[way], ways.pair[way]
        src, dst, over = self._src[pair], self._dst[pair], relay >= 0
        return RelayMoves(
            np.concatenate([number, number[over] + 1]),
            np.concatenate([src, relay[over]]),
            np.concatenate([np.where(over, relay, dst), dst[over]]),
            np.concatenate([src, src[over]]),
            np.concatenate([dst, dst[over]]),
            np.concatenate([moved, moved[over]]),
        )

    def _ways(self, *, every: bool) -> _Ways | None:
        """Return the ways of all pairs, the shortest of each where there are many."""
        pairs, count = np.arange(len(self._src)), len(self._joined)
        straight = pairs[self.straight]
        relayed = pairs if every else pairs[~self.straight]
        if len(pairs) > _MOST_PAIRS:
            return None
        most = max(2, (_MOST_WAYS - 2 * len(straight)) // max(1, len(relayed)))
        cost = self._costs()
        found_pair, found_relay = [], []
        for pair in relayed.tolist():
            src, dst = int(self._src[pair]), int(self._dst[pair])
            open_ = self._joined[src] & self._joined[:, dst]
            relay = np.flatnonzero(open_)
            order = np.lexsort(
                ((relay - src) % count, cost[src, relay] + cost[relay, dst])
            )
            relay = relay[order[:most]]
            found_pair.append(np.full(len(relay), pair))
            found_relay.append(relay)
        none = np.full(len(straight), -1)
        over = np.concatenate([*found_relay, np.zeros(0, dtype=np.int64)])
        zeros = np.zeros(len(straight) + len(over), dtype=np.int64)
        return _Ways(
            np.concatenate([straight, *found_pair, straight]),
            np.concatenate([none, over, none]),
            np.concatenate([zeros, np.ones(len(straight), dtype=np.int64)]),
        )

    def _costs(self) -> FloatArray:
        """Return what lines a byte takes from each node to each, in seconds."""
        cost = np.zeros(self._joined.shape)
        src, dst = np.nonzero(self._joined)
        for one in self._lines(src, dst):
            cost[src, dst] += one.amount / one.bits_per_s
        return cost

    def _amounts(self, ways: _Ways, *, piped: bool) -> tuple[FloatArray, int]:
        """Return what goes each way, in some unit, and how long data move in all.

        Where ways are too many for the program, all are alike.
        """
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

        if len(ways.pair) > _MOST_WAYS:
            return np.ones(len(ways.pair)), 0
        src, dst = self._src[ways.pair], self._dst[ways.pair]
        way, over = np.arange(len(ways.pair)), np.flatnonzero(ways.relay >= 0)
        column = np.concatenate([way, over])
        tail = np.concatenate([src, ways.relay[over]])
        head = np.concatenate([np.where(ways.relay >= 0, ways.relay, dst), dst[over]])
        late = np.concatenate([ways.late, np.ones(len(over), dtype=np.int64)])
        late *= not piped
        most = float(self._bytes.max())
        rows, values, columns, count = [], [], [], 0
        shared = self._lines(tail, head)
        circuit = tail * len(self._joined) + head
        alone = PairLines(circuit, np.ones_like(circuit), shared[0].bits_per_s)
        for first, one in [*((0, each) for each in shared), (2, alone)]:
            line, where = np.unique(one.line * 2 + late, return_inverse=True)
            rows += [count + where, count + np.arange(len(line))]
            taken_s = one.amount * (BITS_PER_BYTE * most / one.bits_per_s)
            values += [taken_s, np.full(len(line), -1.0)]
            columns += [column, len(way) + first + line % 2]
            count += len(line)
        value, place = np.concatenate(values), np.concatenate(columns)
        scale = float(np.abs(value[place < len(way)]).max())
        value = np.where(place < len(way), value / scale, value)
        width = len(way) + 4
        loads = csr_array((value, (np.concatenate(rows), place)), shape=(count, width))
        shares = csr_array(
            (np.ones(len(way)), (ways.pair, way)), shape=(len(self._src), width)
        )
        taken = np.zeros(width)
        np.add.at(taken, place, np.maximum(value, 0.0))
        found = linprog(
            np.append(
                _LONGER / len(self._joined) * taken[: len(way)], (1, 1, _EVEN, _EVEN)
            ),
            A_ub=loads,
            b_ub=np.zeros(count),
            A_eq=shares,
            b_eq=self._bytes / most,
            method="highs-ipm",
        )
        if found.x is None:  # each pair takes its first way
            return np.zeros(len(way)), 0
        seconds = float(found.x[len(way) : len(way) + 2].sum()) * scale
        return np.maximum(found.x[: len(way)], 0.0), int(seconds * PS_PER_S)
