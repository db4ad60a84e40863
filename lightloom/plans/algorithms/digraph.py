"""Gossip on digraphs whose circuits are kept: lifts, and generalised Kautz digraphs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import isqrt
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.even_lifts import (
    balanced_lifts,
    enough_pieces,
    even_steps,
    nearest_lift,
)
from lightloom.plans.kautz import even_walks, kautz_arcs, kautz_ends, shortest_trees
from lightloom.plans.lifts import Lift, Metacyclic, even_walks_of, shortest_moves
from lightloom.plans.parameters import MOST, Count, Degree
from lightloom.plans.plan import Partition, Round, RoundOutline, reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.kautz import ColouredArcs, Digraph
    from lightloom.plans.lifts import LiftWalks
    from lightloom.plans.setting import FibreSpans, Setting


GOSSIPS = ("all-gather", "all-reduce", "all-to-all", "reduce-scatter")
"""Collectives that gossip does."""


def gossip(
    collective: Collective,
    arcs: ColouredArcs,
    forward: Digraph,
    backward: Callable[[], Digraph],
    walks: Callable[[], IntArray],
) -> list[Round]:
    """Return the rounds of a collective: as many as paths have arcs, or twice as many.

    `walks`: returns where the walks of an all-to-all are after each hop, see
    `even_walks`.
    """
    blocks = Partition(collective.rank_count, collective.chunk_count)
    there = DigraphPaths(blocks, arcs, forward, turned=False)
    match collective.op:
        case "all-to-all":
            return there.exchange(walks())
        case "all-gather":
            return there.gather()
        case "reduce-scatter":
            return reversed_rounds(there.gather(), Op.REDUCE)
        case _:
            back = DigraphPaths(blocks, arcs, backward(), turned=True)
            return [*reversed_rounds(back.gather(), Op.REDUCE), *there.gather()]


def gossip_outline(
    ranks: int, degree: int, op: str, *, loops: int = 0
) -> tuple[RoundOutline, ...]:
    """Return what gossip takes on any digraph of so many arcs a rank.

    As a rank reaches at most d^i others by i arcs, and a block is received by every
    other rank once, or as often in an all-to-all as its path has arcs.

    `ranks`, `degree`: number of ranks, and of arcs that leave, or enter, each; none of
    one rank.
    """
    left, reached, hops, sent = ranks - 1, degree, 0, 0
    while left > 0:
        hops += 1
        new = min(left, reached)
        sent += new * (hops if op == "all-to-all" else 1)
        left, reached = left - new, reached * degree
    # Which round a block moves in is open: only the sum is known.
    shares = [sent, *[0] * (hops - 1)] if hops else []
    idle = 0 if op == "all-to-all" else loops
    rounds = [RoundOutline(1, Fraction(sent, ranks), idle=idle) for sent in shares]
    return (*rounds, *rounds) if op == "all-reduce" else tuple(rounds)


@dataclass(frozen=True, eq=False)
class DigraphPaths:
    """The chosen paths of a digraph, or of the one with all arcs turned around.

    `blocks`: the buffer, a part for each rank. `arcs`: arcs of the digraph, with their
    ports. `digraph`: distances, and the path of every block to every rank. `turned`:
    whether the paths run against the arcs.
    """

    blocks: Partition
    arcs: ColouredArcs
    digraph: Digraph
    turned: bool

    def gather(self) -> list[Round]:
        """Return the all-gather: in round t blocks reach those t arcs away."""
        distance = self.digraph.distance
        rounds = []
        for length in range(1, int(distance.max()) + 1):
            dst, block = np.nonzero((distance == length).T)
            src = self.digraph.before[block, dst]
            rounds.append(self._round(src, dst, block, 0))
        return [one for one in rounds if one is not None]

    def exchange(self, at: IntArray) -> list[Round]:
        """Return the all-to-all: in round t blocks take the t-th arc of their walk."""
        rounds = []
        for before, after in pairwise(at):
            start, end = np.nonzero(before != after)
            tail, head = before[start, end], after[start, end]
            rounds.append(self._round(tail, head, end, start))
        return [one for one in rounds if one is not None]

    def _round(
        self, src: IntArray, dst: IntArray, block: IntArray, start: IntArray | int
    ) -> Round | None:
        """Return the round that moves blocks, in an all-to-all those of `start`.

        Consecutive blocks of a pair are one row.
        """
        ranks = self.arcs.ranks
        key = ((src * ranks + dst) * ranks + start) * ranks + block
        key.sort()
        follows = key[1:] == key[:-1] + 1
        follows &= key[1:] % ranks > 0
        first = np.flatnonzero(np.concatenate([[True], ~follows]))
        length = np.diff(first, append=len(key))
        pair, block = np.divmod(key[first], ranks)
        pair, owner = np.divmod(pair, ranks)
        src, dst = np.divmod(pair, ranks)
        ends = (dst, src) if self.turned else (src, dst)
        return self.blocks.round(
            src,
            dst,
            block,
            length,
            port=self.arcs.ports_of(*ends),
            op=Op.COPY,
            base=owner * self.blocks.chunks,
        )


class BalancedDigraph(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Blocks travel in pieces along shortest paths of a digraph with few orbits.

    A rank has the blocks of those t arcs away after t rounds. Where several arcs
    bring a block, each brings some of its pieces: a maximum flow decides which, so that
    all arcs carry equally much. The digraph looks the same from all ranks of an orbit,
    so one such flow serves them all.
    """

    heads: Annotated[
        tuple[Annotated[int, msgspec.Meta(ge=0, le=MOST)], ...] | None,
        msgspec.Meta(
            description="Where each port leads from the first rank of each orbit, port"
            " by port. By default those of the best digraph that is known, or found."
        ),
    ] = None
    group: Annotated[
        tuple[Count, Count, Count] | None,
        msgspec.Meta(
            description="The group of an orbit: rotations m, turns q and twist r of"
            " the pairs (a, b)(c, d) = (a + r^b c mod m, b + d mod q). By default the"
            " cyclic one of all ranks."
        ),
    ] = None
    pieces: Annotated[Count, msgspec.Meta(description="Pieces of a block.")] = 1
    rounds: Annotated[
        tuple[Count, ...] | None,
        msgspec.Meta(
            description="For all-to-all, rounds of each configuration where ports take"
            " several in turn: `heads` are then those of all configurations, one after"
            " the other. By default one configuration is kept."
        ),
    ] = None

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return one chunk per piece of a block."""
        del ports
        return ranks * self.pieces

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; up to n (n + d) rows in each where a rank has d ports."""
        ranks = collective.rank_count
        lift = self._lift(ranks, ports)
        blocks = Partition(ranks * self.pieces, collective.chunk_count)
        match collective.op:
            case "all-to-all":
                in_turn = self.rounds or ()
                walks = even_walks_of(lift, self.pieces, in_turn)
                rounds = _exchange(lift, blocks, self.pieces, walks)
            case "all-gather":
                rounds = _gather(lift, blocks, self.pieces)
            case "reduce-scatter":
                back = _gather(lift.turned(), blocks, self.pieces)
                rounds = reversed_rounds(back, Op.REDUCE)
            case _:
                back = _gather(lift.turned(), blocks, self.pieces)
                rounds = reversed_rounds(back, Op.REDUCE)
                rounds += _gather(lift, blocks, self.pieces)
        return rounds

    @property
    def ops(self) -> tuple[str, ...]:
        """Collectives it can do: with several configurations, only all-to-all."""
        return ("all-to-all",) if self.rounds else GOSSIPS

    def _lift(self, ranks: int, ports: int) -> Lift:
        in_turn = self.rounds or ()
        if self.heads is None and not in_turn:
            return balanced_lifts(ranks, min(ports, ranks - 1))[0]
        lift: Lift | None = None
        if self.heads is not None:
            group = Metacyclic(*(self.group or (ranks, 1, 1)))
            lift = _read(group, ranks // max(1, group.order), self.heads)
        elif len(in_turn) < ranks:
            most = (ranks - 1) // len(in_turn)
            lift = nearest_lift(ranks, min(ports, most), in_turn)
        if lift is None or lift.ranks != ranks or not _leads(lift, in_turn):
            if self.heads is None:
                raise InputError(
                    f"invalid rounds for {ranks} ranks",
                    where="algorithm.rounds",
                    found=list(in_turn),
                    allowed="enough of them to reach all ranks, of fewer configurations"
                    " than there are ranks",
                )
            raise InputError(
                f"invalid digraph for {ranks} ranks",
                where="algorithm.heads",
                found=list(self.heads),
                allowed="for each port a rank of every orbit, so that ports are"
                " permutations, all different, and lead everywhere in the rounds"
                " of all configurations",
            )
        return lift


def _leads(lift: Lift, in_turn: tuple[int, ...]) -> bool:
    """Return whether all ranks are reached, in so many rounds of each configuration."""
    if not in_turn:
        return int(lift.distances().min()) >= 0
    if len(lift.heads) % len(in_turn):
        return False
    return shortest_moves(lift, in_turn) is not None


def _read(group: Metacyclic, orbits: int, heads: tuple[int, ...]) -> Lift | None:
    """Return the lift of heads that are listed port by port, if it is sound."""
    if not heads or not orbits or len(heads) % orbits:
        return None
    if max(heads) >= orbits * group.order or orbits * group.order < 1:
        return None
    rows = (heads[first : first + orbits] for first in range(0, len(heads), orbits))
    lift = Lift(group, tuple(rows))
    return lift if lift.is_sound else None


def _gather(lift: Lift, blocks: Partition, pieces: int) -> list[Round]:
    """Return the all-gather: in round t blocks reach those t arcs away."""
    order = lift.group.order
    rounds = []
    for level in lift.levels(pieces):
        columns = []
        for one in level:
            dst = lift.moved(np.array([one.orbit * order], dtype=np.int64))
            src, source = lift.moved(one.before), lift.moved(one.source)
            shape = src.shape
            rows = (
                np.broadcast_to(dst, shape),
                source * pieces + one.first,
                np.broadcast_to(one.count, shape),
                np.broadcast_to(one.port, shape),
            )
            columns.append([src.reshape(-1), *(row.reshape(-1) for row in rows)])
        rounds.append(_round(blocks, *map(np.concatenate, zip(*columns, strict=True))))
    return [one for one in rounds if one is not None]


def _round(
    blocks: Partition,
    src: IntArray,
    dst: IntArray,
    part: IntArray,
    count: IntArray,
    port: IntArray,
    base: IntArray | None = None,
) -> Round | None:
    """Return moves as a round, parts that follow one another for a pair in one row."""
    base = np.zeros_like(src) if base is None else base
    order = np.lexsort((part, base, dst, src))
    src, dst, part, count, port, base = (
        column[order] for column in (src, dst, part, count, port, base)
    )
    follows = part[1:] == part[:-1] + count[:-1]
    for column in (src, dst, base):
        follows &= column[1:] == column[:-1]
    first = np.flatnonzero(np.concatenate([[True], ~follows])[: len(src)])
    length = np.add.reduceat(count, first) if len(first) else count
    return blocks.round(
        src[first],
        dst[first],
        part[first],
        length,
        port=port[first],
        op=Op.COPY,
        base=base[first],
    )


def _exchange(
    lift: Lift, blocks: Partition, pieces: int, walks: LiftWalks
) -> list[Round]:
    """Return the all-to-all: pieces take the arcs of their walk, one a round."""
    start, end = lift.moved(walks.nodes[0]), lift.moved(walks.nodes[-1])
    part = end * pieces + walks.piece
    rounds = []
    for step, port in enumerate(walks.ports):
        going = np.flatnonzero(port >= 0)
        src, dst = (
            lift.moved(nodes[going]).reshape(-1)
            for nodes in walks.nodes[step : step + 2]
        )
        shape = (lift.group.order, len(going))
        rounds.append(
            _round(
                blocks,
                src,
                dst,
                part[:, going].reshape(-1),
                np.ones(len(src), dtype=np.int64),
                np.broadcast_to(port[going], shape).reshape(-1),
                start[:, going].reshape(-1) * blocks.chunks,
            )
        )
    return [one for one in rounds if one is not None]


class FixedDigraph(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Blocks travel along the shortest paths of a digraph with few arcs per rank.

    With d ports, on a generalised Kautz digraph every rank is within ceil(log_d n)
    arcs of every other, so that many rounds do an all-gather or an all-to-all without
    any reconfiguration: circuits are held from the first round to the last.
    In an all-gather a rank receives every block once; in an all-to-all a block is
    sent as often as its path has arcs, at most twice where
    two rounds suffice.
    """

    ops: ClassVar[tuple[str, ...]] = GOSSIPS

    degree: Degree = None

    def outline(self, ranks: int, ports: int, op: str) -> tuple[RoundOutline, ...]:
        """Return what its rounds take, see `lightloom.plans.plan.Outlined`."""
        if ranks == 1:
            return ()
        degree = min(ports if self.degree is None else self.degree, ranks - 1)
        src, dst = kautz_ends(ranks, degree)
        loops = int(np.bincount(dst[src == dst]).max(initial=0))
        return gossip_outline(ranks, degree, op, loops=loops)

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; up to n^2 rows in each."""
        ranks = collective.rank_count
        degree = min(ports if self.degree is None else self.degree, ranks - 1)
        arcs = kautz_arcs(ranks, degree)
        return gossip(
            collective,
            arcs,
            forward=shortest_trees(arcs),
            backward=lambda: shortest_trees(arcs, backwards=True),
            walks=lambda: even_walks(
                *np.divmod(arcs.key, ranks), shortest_trees(arcs).distance
            ),
        )


_MOST_NEAR = 8
"""Next ranks on a ring that are peers."""
_MOST_IN_SIXTEEN_PIECES = 256
"""Ranks up to which blocks of an all-to-all go in sixteen pieces, else in two."""


_MOST_ROWS = 2**23
"""Rows of a plan up to which gossip is proposed: of some 50 bytes, and copied twice."""


def _fits(setting: Setting) -> bool:
    """Return whether plans of a row for each block and rank fit the memory."""
    phases = 2 if setting.op == "all-reduce" else 1
    return setting.circuits and phases * setting.ranks**2 <= _MOST_ROWS


def _digraphs(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose digraphs that load ports evenly where circuits are kept for long."""
    if not _fits(setting):
        return
    steps = even_steps(setting.ranks, setting.ports)
    if steps is not None:
        yield _told(steps)
    if setting.spans is not None:
        yield from _near_digraphs(setting, setting.spans)
    if setting.switched and 1 < setting.ports < setting.ranks - 1:
        yield from _lifts(setting)


def _told(lift: Lift) -> dict[str, object]:
    """Return a lift as parameters."""
    group = lift.group
    return {
        "heads": [end for head in lift.heads for end in head],
        "group": [group.rotations, group.turns, group.twist],
    }


def _lifts(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose the digraphs whose arcs can be loaded most evenly, and by turns."""
    ranks, ports = setting.ranks, setting.ports
    exchanges = setting.op == "all-to-all"
    few = 16 if ranks <= _MOST_IN_SIXTEEN_PIECES else 2
    lifts = [*balanced_lifts(ranks, ports)]
    if exchanges:
        lifts.append(nearest_lift(ranks, ports))
    for lift in lifts:
        enough = few if exchanges else enough_pieces(lift)
        for pieces in sorted({1, enough}):
            yield {**_told(lift), "pieces": pieces}
    if exchanges:
        for rounds in setting.in_turn:
            told = _told(nearest_lift(ranks, ports, rounds))
            yield {**told, "rounds": [*rounds], "pieces": few}


def _near_digraphs(
    setting: Setting, spans: FibreSpans
) -> Iterator[Mapping[str, object]]:
    """Propose near ranks, and some far ones, whose circuits fit the spans of a ring.

    Circuits from every rank to those some steps on need as many wavelengths as the
    steps sum to. What all ranks need goes to the next k, and with few bytes 3 k + 1
    steps on; what one needs takes few hops by steps that are powers.
    """
    ranks = setting.ranks
    most = min(spans.reach, (ranks - 1) // spans.directions)
    root, third = isqrt(ranks), max(2, round(ranks ** (1 / 3)))
    far = [[1, root - 1], [1, root], [1, third, third**2]]
    if setting.op != "all-to-all":
        far = [[*range(1, near + 1), 3 * near + 1] for near in (1, 2, 3, 4, 5)]
    near = [[*range(1, count + 1)] for count in range(1, _MOST_NEAR + 1)]
    for ahead in (*near, *far):
        fits = ahead[-1] <= most and sum(ahead) <= spans.wavelengths
        if ahead != [1] and not (fits and ahead == sorted({*ahead})):
            continue
        back = {ranks - step for step in ahead} if spans.directions > 1 else set()
        heads = sorted({*ahead} | back)
        yield {"heads": heads}
        next_only, all_near = len(ahead) == 1, ahead[-1] == len(ahead)
        if len(heads) > 1 and (next_only or not all_near or setting.op != "all-to-all"):
            # Blocks that are equally far both ways go in halves.
            yield {"heads": heads, "pieces": 2}


def _fixed_digraphs(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose the fewest ports for each number of rounds.

    All ports only where there are no even steps; for an all-to-all nothing else.
    """
    if not _fits(setting):
        return
    even = even_steps(setting.ranks, setting.ports) is not None
    if even and setting.op == "all-to-all":
        return
    for degree in setting.depth_degrees(most_rounds=3):
        if not even or degree < setting.most_peers:
            yield {"degree": degree}


ALGORITHM = (
    AlgorithmEntry(
        name="balanced-digraph",
        summary="gossip on one configuration, blocks split so that all ports are full",
        ops=GOSSIPS,
        make=BalancedDigraph,
        proposals=_digraphs,
        always=True,
    ),
    AlgorithmEntry(
        name="fixed-digraph",
        summary="fewest rounds on one configuration: a generalised Kautz digraph",
        ops=FixedDigraph.ops,
        make=FixedDigraph,
        proposals=_fixed_digraphs,
    ),
)
