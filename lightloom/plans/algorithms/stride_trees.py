"""Chains of every s-th rank from the root on: trees whose arcs are short."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np

from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.parameters import Count
from lightloom.plans.partition import Partition
from lightloom.plans.pipelined_trees import CHUNKS_OF_A_PIECE, TreeRows, timed_rounds
from lightloom.plans.reversal import reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

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

    A piece of a broadcast goes on one side of the root, from rank to rank, as long as
    rounds are left to go all the way to the last of the others. Later pieces go on both
    sides, each in a round in which one still gets as far as the other does not: what
    leaves on one side with r rounds left leaves on the other with D - r, where D rounds
    lead all the way. So on both sides all arcs are in use once they are reached, and k
    pieces take (k + D - 1) / 2 rounds.

    With leaps of h, chains of a broadcast reach every h-th of their ranks first, and
    each of these passes data on to the ranks before it. On n ranks that takes about
    n / (2 h s) + h rounds instead of n / (2 s), on fibres that lead back and are idle
    otherwise.
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
    leap: Annotated[
        Count,
        msgspec.Meta(
            description="Broadcast and reduce, both ways: which ranks of a chain are"
            " fed first, and feed those before them, h."
        ),
    ] = 1

    @property
    def ops(self) -> tuple[str, ...]:
        """Collectives it can do: with leaps, those that send the same to all."""
        if self.leap > 1:
            return ("broadcast", "reduce") if self.both_ways else ()
        return _OPS

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
        # Unless two ranks are joined both ways.
        if (
            self.both_ways
            and self.leap == 1
            and 2 * self.stride < collective.rank_count
        ):
            return self._around(collective)
        place, side = self._places(collective)
        step, before, depth, hub = self._leaps(place, side)
        first = place - (step - 1) * self.stride
        feeder = np.where(before, first + (before - 1) * self.stride, 0)
        src, dst = (self._rank(collective, at, side) for at in (feeder, place))
        port = self._port(place, side) * 2 + ~hub
        return TreeRows(src, dst, depth, port, 1).rounds(collective, self.pieces)

    def _leaps(
        self, place: IntArray, side: IntArray
    ) -> tuple[IntArray, IntArray, IntArray, npt.NDArray[np.bool_]]:
        """Return each rank's step in its chain, that of its feeder, its depth.

        And whether it is fed by a leap, or behind the last one: away from the root.
        """
        step, leap = -(-place // self.stride), self.leap
        hub = -(-step // leap) * leap
        last = np.bincount(side)[side]
        beyond = place + (hub - step) * self.stride > last
        behind = step - leap * (step // leap)
        depth = np.where(beyond, step // leap + behind, hub // leap + hub - step)
        leaps = (hub == step) & ~beyond
        before = np.where(leaps, step - leap, np.where(beyond, step - 1, step + 1))
        return step, before, depth, leaps | beyond

    def _around(self, collective: Collective) -> list[Round]:
        """Return the rounds of pieces that go all the way, then of those that meet."""
        others = collective.rank_count - 1
        deep = -(-others // self.stride)
        rounds = (self.pieces + deep) // 2
        whole = max(0, rounds - deep + 1)
        # Pieces, the sides they leave on, and in which round: as far as time is left.
        alone = np.arange(min(self.pieces, 2 * whole))
        left = (
            deep - 1 - np.arange(self.pieces - len(alone)) - max(0, deep - 1 - rounds)
        )
        pair = len(alone) + np.arange(len(left))
        piece = np.concatenate([alone, pair, pair])
        side = np.concatenate([alone % 2, 0 * pair, 0 * pair + 1])
        start = np.concatenate([alone // 2, rounds - left, rounds - deep + left])
        most = np.minimum((rounds - start) * self.stride, others)
        most[len(most) - len(pair) :] = (
            others - most[len(alone) : len(alone) + len(pair)]
        )
        row = np.repeat(np.arange(len(piece)), most)
        place = np.arange(len(row)) - np.repeat(np.cumsum(most) - most, most) + 1
        feeder = np.maximum(place - self.stride, 0)
        src, dst = (self._rank(collective, at, side[row]) for at in (feeder, place))
        turn, port = start[row] - (-place // self.stride), self._port(place, side[row])
        return timed_rounds(collective, src, dst, turn, piece[row], port, self.pieces)

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


ALGORITHM = AlgorithmEntry(
    name="stride-trees",
    summary="chains of every s-th rank both ways: rooted operations on rings",
    ops=_OPS,
    make=StrideTrees,
)
