"""Blocks that go straight or over one other rank, such that links share the work."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry
from lightloom.plans.network_algorithm import NetworkAlgorithm
from lightloom.plans.parameters import Count
from lightloom.plans.plan import Round
from lightloom.plans.reversal import reversed_rounds
from lightloom.plans.step_program import StepProgram

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.rank_network import RankNetwork

_FEW_STEPS = 3
"""Steps up to which every destination has relays of its own."""
_MOST_RELAYS = 16
_DETOUR = 1.7
"""How much longer than straight the way over a relay may be."""


class OneRelay(NetworkAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Parts of each block go straight, others over one rank that is on the way.

    A linear program chooses how much of a block goes by which relay, and in which
    steps, such that the busiest links of all steps together are busy least. In an
    all-to-all every rank does as rank 0 does. A gather is a scatter turned around.
    """

    ops: ClassVar[tuple[str, ...]] = ("all-to-all", "gather", "scatter")

    steps: Annotated[Count, msgspec.Meta(description="Most steps, 2 or more.")] = 2

    def _fitted(self, collective: Collective, network: RankNetwork) -> Sequence[Round]:
        steps = max(2, self.steps)
        if collective.op == "all-to-all":
            if not network.shape:
                what = "an all-to-all over relays needs ranks that look alike"
                fix = "take all nodes of the fabric, in the order of their numbers"
                raise InputError(what, where="algorithm.one-relay", fix=fix)
            moves = _moves(network, 0, steps, everywhere=True)
            return _exchanged(collective, network, moves)
        if collective.op == "gather":
            network = network.turned()
        moves = _moves(network, collective.root_rank, steps, everywhere=False)
        rounds = _scattered(collective, moves)
        if collective.op == "gather":
            rounds = reversed_rounds(rounds, Op.COPY)
        return rounds


@dataclass(frozen=True, eq=False)
class _Moves:
    """Parts of the blocks of one source: step, ends of the arc, owner and part."""

    step: IntArray
    src: IntArray
    dst: IntArray
    owner: IntArray
    lo: FloatArray
    hi: FloatArray


@functools.lru_cache(maxsize=16)
def _moves(
    network: RankNetwork, source: int, steps: int, *, everywhere: bool
) -> _Moves:
    """Return what a linear program sends from one source, by which relays."""
    load = network.translated_load if everywhere else network.load
    ways = _ways(network, source)
    kinds = _kinds(network, source, ways, alike=steps > _FEW_STEPS)
    program = StepProgram(steps)
    streams: dict[int, tuple[int, int]] = {}
    wanted: dict[int, list[int]] = {}
    for number in range(int(kinds.max()) + 1):
        mine = [ways[place] for place in np.flatnonzero(kinds == number).tolist()]
        owners = {owner for owner, _ in mine}
        share = len(owners) / len(mine)
        relayed = mine[0][1] != mine[0][0]
        first: dict[int, float] = {}
        second: dict[int, float] = {}
        for owner, relay in mine:
            for link, time in load(source, relay).items():
                first[link] = first.get(link, 0.0) + share * time
            for link, time in load(relay, owner).items():
                second[link] = second.get(link, 0.0) + share * time
        one = program.stream(first, 0, steps - 1 - relayed)
        two = one
        if relayed:
            two = program.stream(second, 1, steps - 1)
            program.follow([two], [one])
            program.balance([two], [one])
        streams[number] = one, two
    for place, (owner, _) in enumerate(ways):
        wanted.setdefault(owner, []).append(int(kinds[place]))
    for some in sorted({tuple(sorted(set(some))) for some in wanted.values()}):
        program.require([streams[number][0] for number in some])
    solved = program.solve()
    assert solved is not None
    shares, _ = solved
    return _cut(source, ways, kinds, shares, streams)


def _ways(network: RankNetwork, source: int) -> list[tuple[int, int]]:
    """Return (owner, relay) of all ways; the owner is its own relay if straight."""
    cost = network.costs()
    found = []
    for owner in range(network.ranks):
        if owner == source:
            continue
        found.append((owner, owner))
        through = cost[source] + cost[:, owner]
        through[[source, owner]] = np.inf
        near = np.flatnonzero(through <= _DETOUR * cost[source, owner])
        near = near[np.argsort(through[near], kind="stable")]
        # Some of many, from all over the way.
        some = near[:: -(-len(near) // _MOST_RELAYS) or 1]
        found += [(owner, relay) for relay in some.tolist()]
    return found


def _kinds(
    network: RankNetwork, source: int, ways: list[tuple[int, int]], *, alike: bool
) -> IntArray:
    """Return the number of each way; ways that look alike share one where told."""
    if not alike:
        return np.arange(len(ways), dtype=np.int64)
    cost = np.round(network.costs() / network.costs().max(), 9)
    names: dict[object, int] = {}
    found = []
    for owner, relay in ways:
        legs = float(cost[source, relay]), float(cost[relay, owner])
        name = float(cost[source, owner]), legs
        found.append(names.setdefault(name, len(names)))
    return np.array(found, dtype=np.int64)


def _cut(
    source: int,
    ways: list[tuple[int, int]],
    kinds: IntArray,
    shares: FloatArray,
    streams: dict[int, tuple[int, int]],
) -> _Moves:
    """Return the parts of blocks: one after another by way, and by step on a way."""
    begin: dict[int, float] = {}
    several: dict[tuple[int, int], int] = {}
    for place, (owner, _) in enumerate(ways):
        key = owner, int(kinds[place])
        several[key] = several.get(key, 0) + 1
    total: dict[int, float] = {}
    for place, (owner, _) in enumerate(ways):
        number = int(kinds[place])
        amount = float(shares[streams[number][0]].sum()) / several[owner, number]
        total[owner] = total.get(owner, 0.0) + amount
    rows: list[tuple[float, ...]] = []
    for place, (owner, relay) in enumerate(ways):
        number = int(kinds[place])
        one, two = streams[number]
        scale = several[owner, number] * total[owner]
        start = begin.get(owner, 0.0)
        first = start + np.cumsum(shares[one]) / scale
        end = float(first[-1])
        _append(rows, (source, relay, owner), start, first.tolist())
        if two != one:
            second = start + np.cumsum(shares[two]) / scale
            # No more than what has come a step before.
            second[1:] = np.minimum(second[1:], first[:-1])
            second[-1] = end
            _append(rows, (relay, owner, owner), start, second.tolist())
        begin[owner] = end
    table = np.array(rows)
    step, src, dst, owners = table[:, :4].T.astype(np.int64)
    return _Moves(step, src, dst, owners, table[:, 4], table[:, 5])


def _append(
    rows: list[tuple[float, ...]],
    ends: tuple[int, int, int],
    start: float,
    until: list[float],
) -> None:
    """Append what goes over an arc in each step, given up to where it has gone."""
    for step, end in enumerate(until):
        if end > start:
            rows.append((step, *ends, start, end))
        start = max(start, end)


def _rounds(
    moves: _Moves, block: int, make: Callable[[IntArray, IntArray, IntArray], Round]
) -> list[Round]:
    """Return a round of each step, made of rows and their chunks."""
    lo = np.rint(moves.lo * block).astype(np.int64)
    hi = np.rint(moves.hi * block).astype(np.int64)
    rounds = []
    for step in range(int(moves.step.max()) + 1):
        mine = np.flatnonzero((moves.step == step) & (lo < hi))
        if len(mine):
            rounds.append(make(mine, lo[mine], hi[mine]))
    return rounds


def _scattered(collective: Collective, moves: _Moves) -> list[Round]:
    """Return the rounds of a scatter."""
    ranks = collective.rank_count
    block = collective.chunk_count // ranks

    def make(mine: IntArray, lo: IntArray, hi: IntArray) -> Round:
        base = moves.owner[mine] * block
        port = (moves.dst[mine] - moves.src[mine]) % ranks - 1
        code = np.full(len(mine), int(Op.COPY), dtype=np.int64)
        return Round(moves.src[mine], moves.dst[mine], base + lo, base + hi, code, port)

    return _rounds(moves, block, make)


def _exchanged(
    collective: Collective, network: RankNetwork, moves: _Moves
) -> list[Round]:
    """Return the rounds in which every rank does as rank 0 does."""
    ranks, chunks = collective.rank_count, collective.chunk_count
    block = chunks // ranks
    sums = network.sums()
    between = network.differences()
    every = np.arange(ranks, dtype=np.int64) * chunks

    def make(mine: IntArray, lo: IntArray, hi: IntArray) -> Round:
        src, dst = moves.src[mine], moves.dst[mine]
        _, port = np.unique(between[src, dst], return_inverse=True)
        base = every + sums[moves.owner[mine]] * block
        code = np.full(len(mine) * ranks, int(Op.COPY), dtype=np.int64)
        first, last = base + lo[:, None], base + hi[:, None]
        columns = (sums[src], sums[dst], first, last)
        one, two, three, four = (column.reshape(-1) for column in columns)
        ports = np.repeat(port.reshape(-1), ranks).astype(np.int64)
        return Round(one, two, three, four, code, ports)

    return _rounds(moves, block, make)


ALGORITHM = AlgorithmEntry(
    name="one-relay",
    summary="straight or over one other rank, links evenly loaded: packet networks",
    ops=OneRelay.ops,
    make=OneRelay,
)
