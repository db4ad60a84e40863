"""All-gathers and reductions on multiport circulants; broadcasts that end with them.

The k-port all-gather of Bruck, Ho, Kipnis, Upfal and Weathersby (1997), its
reversal, and both one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np

from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.algorithms.tree import tree_rounds
from lightloom.plans.parameters import Ports
from lightloom.plans.plan import Partition, reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round
    from lightloom.plans.setting import Setting


class Multiport(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """All-gather in ceil(log_{k+1} n) rounds and (n - 1) / k blocks per port.

    Every rank holds a window of h consecutive blocks around the circle of ranks and
    in each round fetches the windows of k peers, so that h grows to (k + 1) h. In
    the last round the n - h missing blocks are cut into k equal pieces, each from
    a peer whose window covers it.

    All-reduce is the reversal of an all-gather followed by the mirror image of that
    all-gather, so that its sequence of circuits reads the same both ways and the
    two rounds in the middle share theirs.
    """

    ops: ClassVar[tuple[str, ...]] = ("all-gather", "all-reduce", "reduce-scatter")

    ports: Ports = None
    signed: Annotated[
        bool,
        msgspec.Meta(
            description="Windows grow to both sides, so that peers of the earlier"
            " rounds are half as far away; else to one side."
        ),
    ] = False

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return k chunks per block, or one where every peer is a neighbour."""
        ports = ports if self.ports is None else self.ports
        return ranks if ranks <= ports + 1 else ranks * ports

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds of reduce-scatter, of all-gather, or of both."""
        gather = Circulant(
            collective.rank_count,
            collective.chunk_count,
            ports if self.ports is None else self.ports,
            signed=self.signed,
        )
        rounds: list[Round] = []
        if collective.op != "all-gather":
            rounds += reversed_rounds(gather.rounds(mirrored=False), Op.REDUCE)
        if collective.op != "reduce-scatter":
            rounds += gather.rounds(mirrored=True)
        return rounds


@dataclass(frozen=True)
class Circulant:
    """The all-gather rounds of `Multiport` for a number of ranks, chunks and ports."""

    ranks: int
    chunks: int
    ports: int
    signed: bool = False

    @property
    def peers(self) -> int:
        """Number of peers: no rank has more than all others."""
        return max(1, min(self.ports, self.ranks - 1))

    def rounds(self, *, mirrored: bool) -> list[Round]:
        """Return the all-gather rounds, with ranks and blocks counted backwards or not.

        Positions are counted in units of 1/k block.
        """
        made = (
            self._round(np.array(fetches, dtype=np.int64).T, mirrored=mirrored)
            for fetches in self._fetches()
        )
        return [one for one in made if one is not None]

    def _round(self, fetches: IntArray, *, mirrored: bool) -> Round | None:
        """Return the round in which every rank makes the same fetches."""
        offset, start, length = fetches[:, :, None]
        units = Partition(self.ranks * self.peers, self.chunks)
        rank = np.arange(self.ranks, dtype=np.int64)
        begin = rank * self.peers + start
        peer, dst = rank + offset, rank
        if mirrored:
            peer, dst = -peer % self.ranks, -dst % self.ranks
            begin = self.peers - begin - length
        port = np.arange(len(offset), dtype=np.int64)[:, None]
        return units.round(peer % self.ranks, dst, begin, length, port=port, op=Op.COPY)

    def _fetches(self) -> Iterator[list[tuple[int, int, int]]]:
        """Yield per round (offset of the peer, first unit, units), from a rank's own.

        The window of rank i is the blocks ``i - behind .. i - behind + held``.
        """
        n, k = self.ranks, self.peers
        held, behind = 1, 0
        below = k // 2 if self.signed else 0
        while held * (k + 1) < n:
            steps = [o for o in range(-below, k - below + 1) if o]
            yield [(o * held, (o * held - behind) * k, held * k) for o in steps]
            behind += below * held
            held *= k + 1
        if held < n:
            # From positions in the window to positions from the rank's own block.
            yield [
                (peer, begin - behind * k, length)
                for peer, begin, length in _last_pieces(n, k, held)
            ]


def _last_pieces(ranks: int, ports: int, held: int) -> list[tuple[int, int, int]]:
    """Return (offset, first unit, units) that cover the window's missing blocks.

    The largest piece is as small as can be: `ranks - held` units if all are equal.
    Pieces cut between blocks always have peers, so the search ends.
    """
    size = ranks - held
    while not (pieces := _pieces(ranks, ports, held, size)):
        size += 1
    return pieces


def _pieces(ranks: int, ports: int, held: int, size: int) -> list[tuple[int, int, int]]:
    """Return pieces of at most `size` units from different peers; [] if too few.

    The peer at offset o has positions o to o + held; the peer that reaches farthest
    starts in the block that a piece starts in.
    """
    found: list[tuple[int, int, int]] = []
    begin, before = held * ports, 0
    while begin < ranks * ports:
        last = begin // ports
        end = min(begin + size, (last + held) * ports, ranks * ports)
        peer = max(before + 1, -(-end // ports) - held)
        if peer > last or len(found) == ports:
            return []
        found.append((peer, begin, end - begin))
        begin, before = end, peer
    return found


def _circulant_proposals(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose any number of peers, near ranks first or not."""
    for peers in setting.peer_counts():
        yield {"ports": peers}
        if peers > 1:
            yield {"ports": peers, "signed": True}


class ScatterGather(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """A tree scatters blocks from the root, a circulant all-gathers them; or back.

    Twice the rounds of a tree, and about 2 B bytes through each rank's ports however
    many ranks there are, where a tree sends k B for k ports in every round. Blocks
    may be uneven.
    """

    ops: ClassVar[tuple[str, ...]] = ("broadcast", "reduce")

    ports: Ports = None

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return what the all-gather would like."""
        return Multiport(ports=self.ports).granularity(ranks, ports)

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; reduce is the reversal of broadcast."""
        ports = ports if self.ports is None else self.ports
        ranks, chunks = collective.rank_count, collective.chunk_count
        scatter = tree_rounds(collective, ports, scatters=True)
        gather = Circulant(ranks, chunks, ports).rounds(mirrored=False)
        if collective.op == "reduce":
            back = reversed_rounds(scatter, Op.COPY)
            return [*reversed_rounds(gather, Op.REDUCE), *back]
        return [*scatter, *gather]


def _peer_proposals(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose any number of peers."""
    for peers in setting.peer_counts():
        yield {"ports": peers}


ALGORITHM = (
    AlgorithmEntry(
        name="multiport",
        summary="k-port circulant: fewest rounds and least data together, any n",
        ops=Multiport.ops,
        make=Multiport,
        proposals=_circulant_proposals,
        always=True,
    ),
    AlgorithmEntry(
        name="scatter-gather",
        summary="broadcast and reduce of large buffers by blocks",
        ops=ScatterGather.ops,
        make=ScatterGather,
        proposals=_peer_proposals,
    ),
)
