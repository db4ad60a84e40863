"""Broadcast, reduce, scatter and gather on one tree: few rounds, levels or far arcs.

The (k + 1)-nomial tree, a k-ary one on one configuration, and chains of every s-th
rank.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.core.units import transmission_ps
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.parameters import Count, Ports
from lightloom.plans.plan import Partition, reversed_rounds
from lightloom.plans.setting import FROM_ONE_ROOT
from lightloom.plans.trees import CHUNKS_OF_A_PIECE, timed_rounds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round
    from lightloom.plans.setting import FibreSpans, Setting


class NomialTree(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """A (k + 1)-nomial tree over consecutive ranks from the root on.

    In every round each holder cuts the ranks it is responsible for into k + 1
    nearly equal spans, keeps the first and hands the others to their first ranks.
    Holders multiply by k + 1, so ceil(log_{k+1} n) rounds, the fewest there can be.
    """

    ops: ClassVar[tuple[str, ...]] = ("broadcast", "gather", "reduce", "scatter")

    ports: Ports = None

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; those towards the root mirror those away from it."""
        rounds = tree_rounds(
            collective,
            ports if self.ports is None else self.ports,
            scatters=collective.op in ("scatter", "gather"),
        )
        if collective.op == "reduce":
            rounds = reversed_rounds(rounds, Op.REDUCE)
        if collective.op == "gather":
            rounds = reversed_rounds(rounds, Op.COPY)
        return rounds


def tree_rounds(collective: Collective, ports: int, *, scatters: bool) -> list[Round]:
    """Return the rounds of a scatter (of possibly uneven blocks), or a broadcast.

    `ports`: peers a rank drives at once, at least 1. `scatters`: whether ranks get a
    block each; else all get the whole buffer.
    """
    ranks, root = collective.rank_count, collective.root_rank
    blocks = Partition(ranks, collective.chunk_count)
    rounds: list[Round] = []
    lo, hi = np.zeros(1, dtype=np.int64), np.full(1, ranks, dtype=np.int64)
    while (hi - lo).max() > 1:
        cut = _cuts(lo, hi, ports)
        branch = np.broadcast_to(np.arange(cut.shape[1] - 2), cut[:, 1:-1].shape)
        begin, end = cut[:, 1:-1], cut[:, 2:]
        real = end > begin
        holder = np.broadcast_to(lo[:, None], begin.shape)[real]
        made = blocks.round(
            (holder + root) % ranks,
            (begin[real] + root) % ranks,
            begin[real] + root if scatters else 0,
            (end - begin)[real] if scatters else ranks,
            port=branch[real],
            op=Op.COPY,
        )
        rounds += [] if made is None else [made]
        whole = cut[:, 1:] > cut[:, :-1]
        lo, hi = cut[:, :-1][whole], cut[:, 1:][whole]
    return rounds


def _cuts(lo: IntArray, hi: IntArray, ports: int) -> IntArray:
    """Return the boundaries of each span's parts, shape (spans, parts + 1).

    The first part is never empty: it has the holder. FibreSpans shorter than the number
    of parts end with empty ones.
    """
    size = hi - lo
    parts = np.minimum(size, ports + 1)[:, None]
    number = np.minimum(np.arange(int(parts.max()) + 1, dtype=np.int64), parts)
    cut: IntArray = lo[:, None] - (-number * size[:, None] // parts)
    return cut


class SpanningTree(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """A k-ary tree whose ranks send to their children and then fall silent.

    A holder cuts the ranks below it into k nearly equal spans and hands each to its
    first rank. It takes as many rounds as 1 + k + k^2 + ... must have terms to count
    the ranks, sometimes one more than the (k + 1)-nomial `tree`, whose holders go on
    sending to new peers; but the circuits are the same in all rounds, k a rank.
    """

    ops: ClassVar[tuple[str, ...]] = ("broadcast", "gather", "reduce", "scatter")

    ports: Annotated[
        Count | None,
        msgspec.Meta(
            description="Children of a rank, k; as many as the fabric allows."
        ),
    ] = None
    pieces: Annotated[
        Count,
        msgspec.Meta(
            description="Pieces of the buffer in broadcast and reduce, which follow one"
            " another a round apart."
        ),
    ] = 1

    far_first: Annotated[
        bool,
        msgspec.Meta(
            description="Scatter and gather: the root sends the blocks of the farthest"
            " ranks first, and others while these are passed on; all blocks arrive in"
            " the last round."
        ),
    ] = False

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return one chunk per block, and one per piece."""
        del ports
        return ranks if self.pieces == 1 else self.pieces

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; those towards the root mirror those away from it."""
        ranks = collective.rank_count
        ports = ports if self.ports is None else self.ports
        arcs = _arcs(ranks, ports)
        if collective.op in ("scatter", "gather"):
            rounds = _scatter(collective, arcs, far_first=self.far_first)
        else:
            rounds = _broadcast(collective, arcs, self.pieces)
        if collective.op == "reduce":
            rounds = reversed_rounds(rounds, Op.REDUCE)
        if collective.op == "gather":
            rounds = reversed_rounds(rounds, Op.COPY)
        return rounds


@dataclass(frozen=True, eq=False)
class _Arcs:
    """Arcs of the tree on positions counted from the root, by depth of the child.

    `below` counts the positions from the child on that it hands out or keeps.
    """

    parent: IntArray
    child: IntArray
    below: IntArray
    depth: IntArray
    port: IntArray


def _arcs(ranks: int, ports: int) -> _Arcs:
    """Return the arcs, the last child's span no longer than the first one's."""
    found: list[tuple[IntArray, ...]] = []
    lo, hi = np.zeros(1, dtype=np.int64), np.full(1, ranks, dtype=np.int64)
    depth = 0
    while (hi - lo).max() > 1:
        depth += 1
        size = (hi - lo - 1)[:, None]
        number = np.arange(min(ports, int(size.max())) + 1, dtype=np.int64)
        children = np.minimum(np.maximum(size, 1), ports)
        cut = lo[:, None] + 1 - (-np.minimum(number, children) * size // children)
        begin, end = cut[:, :-1], cut[:, 1:]
        real = end > begin
        port = np.broadcast_to(number[:-1], begin.shape)[real]
        parent = np.broadcast_to(lo[:, None], begin.shape)[real]
        lo, hi = begin[real], end[real]
        found.append((parent, lo, hi - lo, np.full_like(lo, depth), port))
    return _Arcs(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _scatter(collective: Collective, arcs: _Arcs, *, far_first: bool) -> list[Round]:
    """Return the rounds of a scatter; with `far_first` each block in time for the last.

    A holder hands all blocks of a span to its first rank at once; else those of one
    depth a round, so that a block that has h arcs to go leaves h rounds before the end.
    """
    ranks, root = collective.rank_count, collective.root_rank
    blocks = Partition(ranks, collective.chunk_count)
    last = int(arcs.depth[-1])
    row, first, length = np.arange(len(arcs.child)), arcs.child, arcs.below
    turn = arcs.depth
    if far_first:
        depth = np.zeros(ranks, dtype=np.int64)
        depth[arcs.child] = arcs.depth
        row = np.repeat(row, arcs.below)
        within = np.arange(len(row)) - np.repeat(
            np.cumsum(arcs.below) - arcs.below, arcs.below
        )
        block = arcs.child[row] + within
        turn = last - depth[block] + arcs.depth[row]
        order = np.lexsort((block, row, turn))
        row, block, turn = row[order], block[order], turn[order]
        follows = (np.diff(row) == 0) & (np.diff(turn) == 0) & (np.diff(block) == 1)
        start = np.flatnonzero(np.concatenate([[True], ~follows]))
        length = np.diff(start, append=len(row))
        row, first, turn = row[start], block[start], turn[start]
    made = []
    for now in range(1, last + 1):
        mine = np.flatnonzero(turn == now)
        made.append(
            blocks.round(
                (arcs.parent[row[mine]] + root) % ranks,
                (arcs.child[row[mine]] + root) % ranks,
                (first[mine] + root) % ranks,
                length[mine],
                port=arcs.port[row[mine]],
                op=Op.COPY,
            )
        )
    return [one for one in made if one is not None]


def _broadcast(collective: Collective, arcs: _Arcs, pieces: int) -> list[Round]:
    ranks, root = collective.rank_count, collective.root_rank
    parts = Partition(pieces, collective.chunk_count)
    made = []
    for turn in range(1, int(arcs.depth[-1]) + pieces):
        piece = turn - arcs.depth
        row = np.flatnonzero((piece >= 0) & (piece < pieces))
        made.append(
            parts.round(
                (arcs.parent[row] + root) % ranks,
                (arcs.child[row] + root) % ranks,
                piece[row],
                1,
                port=arcs.port[row],
                op=Op.COPY,
            )
        )
    return [one for one in made if one is not None]


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


_STRIDE_DEPTHS = (1, 2, 3, 4, 6, 8, 11, 16)
"""Rounds of chains side by side that are compared: each some 1.4 times the last."""
_MOST_ROWS = 2**17
_MOST_HUBS = 3
"""Distances of hubs in one tree: each takes an arc of every span."""
_ALL_NEAR = 12
_OCTAVES = tuple(part << octave for octave in range(5) for part in (4, 5, 6, 7))
"""Distances of hubs that are compared: all near ones, then four to an octave."""
_MOST_WAVES = 6
"""Trees for broadcasts that are compared by their plans."""


def _trees(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose any number of peers."""
    for peers in setting.peer_counts():
        yield {"ports": peers}


def _spanning_trees(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose trees of few levels: pipelines of a whole buffer, or for blocks.

    On a ring there is no light for the pipelines.
    """
    for degree in setting.depth_degrees(most_rounds=4):
        if setting.op in FROM_ONE_ROOT:
            for count in setting.pipeline_pieces((1, 2, 3, 4)):
                if setting.spans is None or count == 1:
                    yield {"ports": degree, "pieces": count}
        else:
            yield {"ports": degree}
            if degree + 1 < setting.ranks:
                yield {"ports": degree, "far_first": True}


def _stride_trees(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose trees of few wavelengths a span, of few rounds, and between."""
    spans, others = setting.spans, setting.ranks - 1
    if spans is None or not others:
        return
    both_ways = spans.directions > 1
    side = -(-others // 2) if both_ways else others
    most = min(spans.reach, spans.wavelengths)
    strides = sorted({-(-side // depth) for depth in _STRIDE_DEPTHS} | {1})
    strides = [stride for stride in strides if 1 <= stride <= most]
    if setting.op in FROM_ONE_ROOT:
        yield from _waves(setting, spans, strides)
        return
    for stride in strides:
        # Or the farthest rank is alone in its round.
        alone = both_ways and others % 2 and (side - 1) % stride == 0
        for pieces in (1, 2) if alone else (1,):
            yield {"stride": stride, "both_ways": both_ways, "pieces": pieces}


def _waves(
    setting: Setting, spans: FibreSpans, strides: list[int]
) -> Iterator[Mapping[str, object]]:
    """Propose the trees with hubs and without that promise to end soonest.

    Each span has as many arcs as chains and distances of hubs together.
    """
    ranks, both_ways = setting.ranks, spans.directions > 1
    most = min(spans.reach, (ranks - 1) // spans.directions)
    distances = sorted({*range(2, _ALL_NEAR + 1), *_OCTAVES}, reverse=True)
    distances = [apart for apart in distances if apart <= most]
    ways: list[tuple[tuple[int, ...], int]] = [((), stride) for stride in strides]
    for count in range(1, _MOST_HUBS + 1):
        for hubs in itertools.combinations(distances, count):
            ways += [(hubs, stride) for stride in (1, 2, 3) if stride < hubs[-1]]
    pieces = np.arange(1, max(1, _MOST_ROWS // ranks) + 1)
    promised = []
    for hubs, stride in ways:
        lit = spans.wavelengths // (stride + len(hubs))
        if not lit:
            continue
        tree = StrideTrees(stride=stride, both_ways=both_ways, hubs=hubs)
        whole_ps = transmission_ps(setting.buffer_bytes, lit * spans.bits_per_s)
        step_ps = setting.round_ps + whole_ps / pieces
        total_ps = tree.broadcast_rounds(ranks, pieces) * step_ps
        best = int(total_ps.argmin())
        keys = {"stride": stride, "both_ways": both_ways, "hubs": [*hubs]}
        promised.append((float(total_ps[best]), {**keys, "pieces": best + 1}))
    promised.sort(key=lambda promise: promise[0])
    for _, keys in promised[:_MOST_WAVES]:
        yield keys


ALGORITHM = (
    AlgorithmEntry(
        name="tree",
        summary="(k+1)-nomial tree: fewest rounds from or to a root",
        ops=NomialTree.ops,
        make=NomialTree,
        proposals=_trees,
    ),
    AlgorithmEntry(
        name="spanning-tree",
        summary="k-ary tree on one configuration, in pieces: small buffers",
        ops=SpanningTree.ops,
        make=SpanningTree,
        proposals=_spanning_trees,
    ),
    AlgorithmEntry(
        name="stride-trees",
        summary="chains of every s-th rank both ways: rooted operations on rings",
        ops=_OPS,
        make=StrideTrees,
        proposals=_stride_trees,
        always=True,
    ),
)
