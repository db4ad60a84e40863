"""Broadcast in pieces: ranks ask for the rarest first, as swarms of peers do."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry
from lightloom.plans.network import NetworkAlgorithm
from lightloom.plans.parameters import Pieces
from lightloom.plans.plan import Partition, reversed_rounds
from lightloom.plans.setting import MOST_PIECES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.network import RankNetwork
    from lightloom.plans.plan import Round
    from lightloom.plans.setting import Setting

    Mask = npt.NDArray[np.bool_]

_ALIKE = 1e-9
_FINENESS = 1024
_FEW_STEPS = 16


class RarestFirst(NetworkAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Pieces spread between neighbours, a few over each link in a step.

    The root sends each piece once, as many in a step as its links carry. Rank after
    rank takes pieces that it lacks from neighbours that have them, those first that
    fewest ranks have, as long as the links to it are free: the slowest link carries
    one in a step, others as many as their rate allows. (BitTorrent's choice of pieces,
    Cohen 2003, in steps.) A reduce is the reversal on the links turned around.
    """

    ops: ClassVar[tuple[str, ...]] = ("broadcast", "reduce")

    pieces: Pieces = 1

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return many chunks a piece, so that pieces are nearly equal."""
        del ranks, ports
        return self.pieces * _FINENESS

    def _fitted(self, collective: Collective, network: RankNetwork) -> Sequence[Round]:
        reduces, root = collective.op == "reduce", collective.root_rank
        cut = Partition(self.pieces, collective.chunk_count)
        mirror = np.arange(network.ranks, dtype=np.int64)
        if reduces and network.shape:
            # Where all ranks look alike, u -> v leads as far as -v -> -u.
            mirror = network.differences()[:, network.sums()[root, root]]
        elif reduces:
            network = network.turned()
        rounds = []
        for columns in _swarm(network, root, self.pieces):
            src, dst, piece = mirror[columns[0]], mirror[columns[1]], columns[2]
            port = (dst - src) % network.ranks - 1
            one = cut.round(src, dst, piece, 1, port=port, op=Op.COPY)
            if one is not None:
                rounds.append(one)
        if reduces:
            rounds = reversed_rounds(rounds, Op.REDUCE)
        return rounds


def pieces_a_step(network: RankNetwork, root: int) -> tuple[int, int]:
    """Return how many pieces leave the root in a step, and the steps after the last."""
    links = _links_of(network)
    first = {some[0] for (src, _), some in links.arcs.items() if src == root}
    at_once = sum(int(links.most[link]) for link in sorted(first))
    steps = len(_swarm(network, root, _FEW_STEPS * at_once))
    return at_once, max(1, steps - _FEW_STEPS)


@dataclass(frozen=True, eq=False)
class _Links:
    """Links of messages between neighbours, and how many pieces each carries.

    `arcs`: the links between a rank and a neighbour, by both. `most`: pieces that a
    link carries in a step, shape (links,).
    """

    arcs: Mapping[tuple[int, int], tuple[int, ...]]
    most: IntArray

    @classmethod
    def of(cls, network: RankNetwork) -> _Links:
        """Return the arcs between neighbours: no other rank is on the way.

        Two are neighbours if no two messages, one after the other, load links less.
        """
        cost = network.costs()
        arcs = {}
        for src in range(network.ranks):
            via = (cost[src][:, None] + cost).T
            via[:, src] = np.inf
            np.fill_diagonal(via, np.inf)
            near = cost[src] < via.min(axis=1) * (1 - _ALIKE)
            near[src] = False
            for dst in np.flatnonzero(near).tolist():
                arcs[src, dst] = tuple(network.arc_links(src, dst).tolist())
        share = network.ps_per_byte.max() / network.ps_per_byte
        return cls(arcs, np.floor(share * (1 + _ALIKE)).astype(np.int64))


@functools.lru_cache(maxsize=8)
def _links_of(network: RankNetwork) -> _Links:
    return _Links.of(network)


class _Step:
    """One step of a swarm: what links still carry, and what has been sent over them."""

    def __init__(self, links: _Links, has: Mask) -> None:
        self._links = links
        self._left = links.most.copy()
        self._count = has.sum(axis=0)
        self.has = has.copy()
        self.moves: list[tuple[int, int, int]] = []

    def free(self, src: int, dst: int) -> bool:
        """Return whether all links between two neighbours carry one more piece."""
        return all(self._left[link] > 0 for link in self._links.arcs[src, dst])

    def send(self, src: int, dst: int, piece: int) -> None:
        """Send a piece over free links."""
        for link in self._links.arcs[src, dst]:
            self._left[link] -= 1
        self.has[dst, piece] = True
        self._count[piece] += 1
        self.moves.append((src, dst, piece))

    def take(self, dst: int, near: Sequence[int], offered: Mask) -> None:
        """Bring a rank the rarest pieces, those with fewest to choose from first."""
        able = [src for src in near if self.free(src, dst)]
        while able:
            lacking = offered[able] & ~self.has[dst]
            choice = lacking.sum(axis=1)
            some = np.flatnonzero(choice)
            if not len(some):
                return
            place = int(some[choice[some].argmin()])
            rarity = np.where(lacking[place], self._count, np.iinfo(np.int64).max)
            self.send(able[place], dst, int(rarity.argmin()))
            able = [able[one] for one in some.tolist() if self.free(able[one], dst)]


@functools.lru_cache(maxsize=8)
def _swarm(
    network: RankNetwork, root: int, pieces: int
) -> list[tuple[IntArray, IntArray, IntArray]]:
    """Return the columns of source, destination and piece of each step."""
    links = _links_of(network)
    near: dict[int, list[int]] = {rank: [] for rank in range(network.ranks)}
    for src, dst in links.arcs:
        near[dst].append(src)
    has = np.zeros((network.ranks, pieces), dtype=np.bool_)
    has[root] = True
    order = [rank for rank in range(network.ranks) if rank != root]
    fresh = 0
    steps: list[tuple[IntArray, IntArray, IntArray]] = []
    while not has.all():
        turn = len(steps) % len(order)
        ranks = order[turn:] + order[:turn]
        step = _Step(links, has)
        for dst in ranks:
            if fresh < pieces and (root, dst) in links.arcs and step.free(root, dst):
                step.send(root, dst, fresh)
                fresh += 1
        offered = has.copy()
        offered[root] = fresh >= pieces
        for dst in ranks:
            step.take(dst, near[dst], offered)
        columns = np.array(step.moves, dtype=np.int64).T
        steps.append((columns[0], columns[1], columns[2]))
        has = step.has
    return steps


_MOST_RANKS = 128
"""Ranks up to which the swarm is played in a few seconds."""


def _proposals(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose numbers of pieces near the best for a pipeline as deep as the swarm.

    P + D steps of which each brings P-th parts of the buffer out of the root cost
    (P + D) (1 + R / P) steps, where the buffer lasts R of them: least at P = sqrt(D R).
    """
    lasts = setting.rounds_of_data
    if setting.circuits or not setting.linked or lasts is None:
        return
    if setting.ranks > _MOST_RANKS or setting.network is None:
        return
    at_once, depth = pieces_a_step(setting.network, setting.root)
    best = isqrt(int(depth * lasts))
    for count in sorted({max(1, best), max(1, best // 2)}):
        if count <= MOST_PIECES:
            yield {"pieces": at_once * count}


ALGORITHM = AlgorithmEntry(
    name="rarest-first",
    summary="pieces spread between neighbours, rarest first: broadcast, reduce",
    ops=RarestFirst.ops,
    make=RarestFirst,
    proposals=_proposals,
)
