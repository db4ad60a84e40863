"""Chains of every s-th rank from the root on: trees whose arcs are short."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.parameters import Count
from lightloom.plans.partition import Partition
from lightloom.plans.pipelined_trees import CHUNKS_OF_A_PIECE, timed_rounds
from lightloom.plans.reversal import reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round


_OPS = ("broadcast", "gather", "reduce", "scatter")


class StrideTrees(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """The root feeds the next s ranks, on both sides, and each the rank s further on.

    Every place between neighbours is crossed by s arcs, none longer than s: on a ring
    of fibre that takes s wavelengths. With the next rank only it is a chain; with all
    ranks of a side the root sends straight to each. A scatter sends what goes farthest
    first, so that all blocks arrive in the last round and no arc ever idles; a gather
    is the reverse.

    With hubs, the root feeds the L-th rank, this the 2 L-th, and so on, and each of
    them the ranks up to the next: by hubs that are less far apart, then by s chains.
    So a place is crossed by an arc for each distance of hubs, and by s others, and the
    rank x places on hears in round t(x): the sum of the digits of x in these distances.

    A piece of a broadcast goes on one side of the root, from rank to rank, as long as
    rounds are left to go all the way round. Later pieces go on both sides: what leaves
    on one side with r rounds left leaves on the other with D - r, and ranks pass on
    what reaches them first. All hear it where t(x) + t(n - x) <= D + 1 for all x of n
    ranks: if x hears too late on one side, t(x) > r, then t(n - x) <= D - r. So on both
    sides all arcs are in use once they are reached, and k pieces take (k + D - 1) / 2
    rounds. D is n - 1 for chains of every rank, and L + n / L - 2 with hubs L apart.
    """

    stride: Annotated[
        Count, msgspec.Meta(description="Ranks that the root feeds on a side, s.")
    ] = 1
    both_ways: Annotated[
        bool,
        msgspec.Meta(description="The root feeds ranks on both sides of it."),
    ] = True
    pieces: Annotated[
        Count,
        msgspec.Meta(
            description="Pieces of the buffer, which follow one another a round apart."
            " Scatter and gather, both ways: with 2, a rank that is as far on either"
            " side has half of its block from each."
        ),
    ] = 1
    hubs: Annotated[
        tuple[Count, ...],
        msgspec.Meta(
            description="Broadcast and reduce: how many ranks hubs are apart, the"
            " farthest first, each above the next and above the stride. Of half of the"
            " ranks or more: none."
        ),
    ] = ()

    def __post_init__(self) -> None:
        if any(near >= far for far, near in pairwise((*self.hubs, self.stride))):
            raise InputError(
                "hubs are not in order",
                where="algorithm.hubs",
                found=list(self.hubs),
                allowed=f"each less than the one before, and more than {self.stride}",
            )

    @property
    def ops(self) -> tuple[str, ...]:
        """Collectives it can do: with hubs, those that send the same to all."""
        return ("broadcast", "reduce") if self.hubs else _OPS

    def broadcast_rounds(self, ranks: int, pieces: IntArray) -> IntArray:
        """Return how many rounds a broadcast of so many pieces takes.

        `ranks`: number of ranks, 2 or more. `pieces`: numbers of pieces, of any shape;
        those of the algorithm do not count.
        """
        depth, _, _ = self._wave(ranks)
        if not self.both_ways:
            return pieces + int(depth.max()) - 1
        if not self._around(ranks):
            return pieces + int(np.minimum(depth, depth[::-1]).max()) - 1
        return (pieces + _all_way(depth)) // 2

    def _around(self, ranks: int) -> bool:
        """Tell whether pieces go round from both sides: no pair is joined twice."""
        return self.both_ways and 2 * self.stride < ranks

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return one chunk per block or half of one, or some for each piece."""
        del ports
        if self.pieces <= 2:
            return ranks * self.pieces
        return self.pieces * CHUNKS_OF_A_PIECE

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; those towards the root mirror those away from it."""
        del ports
        if collective.op in ("scatter", "gather"):
            rounds = self._scatter(collective)
            back = collective.op == "gather"
            return reversed_rounds(rounds, Op.COPY) if back else rounds
        return self._broadcast(collective)

    def _broadcast(self, collective: Collective) -> list[Round]:
        """Return the rounds of pieces that go all the way, then of those that meet."""
        ranks = collective.rank_count
        depth, feeder, port = self._wave(ranks)
        start = self._starts(depth)
        both = np.stack([depth, depth[::-1]])
        turn = start[:, :, None] + both[:, None, :]
        place = np.arange(1, ranks)
        nearer = 2 * place > ranks
        behind = (turn[1] < turn[0]) | (turn[1] == turn[0]) & nearer
        piece = np.repeat(np.arange(self.pieces), ranks - 1)
        side = behind.astype(np.int64).ravel()
        place = np.where(behind, ranks - place, place).ravel()
        # Reversed, what runs one way only has to have run the other way.
        way = side ^ int(collective.op == "reduce" and not self.both_ways)
        src, dst = (
            self._rank(collective, at, way) for at in (feeder[place - 1], place)
        )
        turns, ports = turn.min(axis=0).ravel(), port[place - 1] * 2 + side
        return timed_rounds(collective, src, dst, turns, piece, ports, self.pieces)

    def _wave(self, ranks: int) -> tuple[IntArray, IntArray, IntArray]:
        """Return in which round each place on a side hears, from 1, where from, a port.

        Shape (ranks - 1,); the ports are of one side.
        """
        rest = np.arange(1, ranks)
        depth, feeder, port = 0 * rest, 0 * rest, 0 * rest
        base = 0 * rest
        for level, apart in enumerate(self.hubs):
            if apart * (1 + self.both_ways) >= ranks:
                continue
            hops, rest = np.divmod(rest, apart)
            depth, base = depth + hops, base + hops * apart
            told = hops > 0
            feeder = np.where(told, base - apart, feeder)
            port = np.where(told, self.stride + level, port)
        told = rest > 0
        last = base + np.maximum(rest - self.stride, 0)
        depth = depth - (-rest // self.stride)
        feeder = np.where(told, last, feeder)
        return depth, feeder, np.where(told, (rest - 1) % self.stride, port)

    def _starts(self, depth: IntArray) -> IntArray:
        """Return the round before each piece leaves on either side; shape (2, pieces).

        Those that do not, leave after all is over.
        """
        start = np.tile(np.arange(self.pieces), (2, 1))
        never = 4 * (self.pieces + len(depth))
        if not self.both_ways:
            start[1] = never
        elif self._around(1 + len(depth)):
            deep = _all_way(depth)
            rounds = (self.pieces + deep) // 2
            alone = min(self.pieces, 2 * max(0, rounds - deep + 1))
            start[:, :alone] = np.where(
                start[:, :alone] % 2 == [[0], [1]], start[:, :alone] // 2, never
            )
            left = deep - 1 - np.arange(self.pieces - alone) - max(0, deep - 1 - rounds)
            start[:, alone:] = rounds - left, rounds - deep + left
        return start

    def _scatter(self, collective: Collective) -> list[Round]:
        """Return the rounds of a scatter, a block an arc in each."""
        ranks = collective.rank_count
        blocks = Partition(2 * ranks, collective.chunk_count)
        place, side = self._places(collective)
        half = np.zeros(len(place), dtype=np.int64)
        # Unless the root feeds that rank itself, on one circuit.
        if self.pieces == 2 and self.both_ways and 2 * self.stride < ranks:
            half = (2 * place == ranks).astype(np.int64)
            opposite = np.flatnonzero(half)
            place = np.concatenate([place, place[opposite]])
            side = np.concatenate([side, 1 - side[opposite]])
            half = np.concatenate([half, half[opposite]])
        depth = -(-place // self.stride)
        made = []
        for turn in range(int(depth.max())):
            # Where the block of each place is before and after this round.
            left = int(depth.max()) - 1 - turn
            row = np.flatnonzero(left < depth)
            after = place[row] - left * self.stride
            before = np.maximum(after - self.stride, 0)
            dst = self._rank(collective, place[row], side[row])
            one = blocks.round(
                self._rank(collective, before, side[row]),
                self._rank(collective, after, side[row]),
                2 * dst + half[row] * side[row],
                2 - half[row],
                port=self._port(after, side[row]),
                op=Op.COPY,
            )
            made.append(one)
        return [one for one in made if one is not None]

    def _places(self, collective: Collective) -> tuple[IntArray, IntArray]:
        """Return how far each rank is from the root, from 1 on, and on which side."""
        others = collective.rank_count - 1
        ahead = -(-others // 2) if self.both_ways else others
        place = np.arange(others, dtype=np.int64)
        behind = place >= ahead
        # Reversed, what runs one way only has to have run the other way.
        other = collective.op == "reduce" and not self.both_ways
        side = behind.astype(np.int64) ^ int(other)
        return np.where(behind, place - ahead, place) + 1, side

    def _rank(
        self, collective: Collective, place: IntArray, side: IntArray
    ) -> IntArray:
        """Return the ranks at places of either side."""
        away = np.where(side == 0, place, -place)
        found: IntArray = (collective.root_rank + away) % collective.rank_count
        return found

    def _port(self, place: IntArray, side: IntArray) -> IntArray:
        """Return the port of the arc that leads to each place."""
        port: IntArray = (place - 1) % self.stride * 2 + side
        return port


def _all_way(depth: IntArray) -> int:
    """Return D: in r rounds one side tells all whom D - r leave out on the other."""
    return int((depth + depth[::-1]).max()) - 1


ALGORITHM = AlgorithmEntry(
    name="stride-trees",
    summary="chains of every s-th rank both ways: rooted operations on rings",
    ops=_OPS,
    make=StrideTrees,
)
