"""Algorithms that divide buffers among arcs and steps so that links are evenly loaded.

A linear program (`StepProgram`) says how much goes where: along one tree translated to
all ranks, along a tree for each part, or over one relay.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, TypeAlias

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry
from lightloom.plans.network import NetworkAlgorithm
from lightloom.plans.parameters import Count
from lightloom.plans.plan import Round, reversed_rounds
from lightloom.plans.step_program import (
    Sends,
    StepProgram,
    prefix_parts,
    translated_rounds,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.network import RankNetwork
    from lightloom.plans.setting import Setting

    _Places: TypeAlias = dict[tuple[object, tuple[str, ...]], dict[int, object]]
    from collections.abc import Callable


_ALIKE = 1e-9


class TranslatedTrees(NetworkAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Blocks travel along trees from their ranks, all of them translations of one.

    Ranks stand in levels, by how far they are from the tree's root. Each rank hears
    from the nearest ranks of earlier levels; how much from each, and in which steps,
    is what a linear program finds for which the busiest links of all steps together
    are busy least. With more steps than levels blocks go in pieces, which follow one
    another; with fewer, levels are joined, and their ranks hear from farther away.
    """

    ops: ClassVar[tuple[str, ...]] = ("all-gather", "all-reduce", "reduce-scatter")

    steps: Annotated[
        Count | None,
        msgspec.Meta(
            description="Steps of an all-gather, half of those of an all-reduce. By"
            " default one for each level."
        ),
    ] = None

    def _fitted(self, collective: Collective, network: RankNetwork) -> Sequence[Round]:
        def sends(used: RankNetwork) -> Sends:
            return _sends(used, self.steps)

        return translated_rounds(collective, network, sends)


@dataclass(frozen=True, eq=False)
class _Tree:
    """The arcs by which ranks may hear of rank 0: shape (arcs,), and ranks' levels."""

    level: IntArray
    src: IntArray
    dst: IntArray

    @classmethod
    def of(cls, network: RankNetwork, most: int | None) -> _Tree:
        """Return the arcs of a tree of at most so many levels."""
        cost = _message_costs(network)
        distance = _distances(cost)
        tree = cls._within(cost, distance)
        depth = int(tree.level.max())
        if most is None or most >= depth:
            return tree
        return cls._within(cost, _joined_levels(tree.level, most).astype(np.float64))

    @classmethod
    def _within(cls, cost: FloatArray, distance: FloatArray) -> _Tree:
        """Return the cheapest arcs from ranks that are nearer to rank 0."""
        level = np.zeros(len(cost), dtype=np.int64)
        src, dst = [], []
        for rank in np.argsort(distance, kind="stable")[1:].tolist():
            nearer = np.flatnonzero(distance < distance[rank] - _ALIKE)
            each = cost[nearer, rank]
            parents = nearer[each <= each.min() + _ALIKE]
            level[rank] = 1 + level[parents].max()
            src += parents.tolist()
            dst += [rank] * len(parents)
        return cls(level, np.array(src), np.array(dst))


def tree_depth(network: RankNetwork) -> int:
    """Return the levels of the trees on a network."""
    return int(_Tree.of(network, None).level.max())


def _message_costs(network: RankNetwork) -> FloatArray:
    """Return the times of messages, those along fewer digits less by very little."""
    cost = network.costs()
    cost /= cost[cost > 0].min()
    digits = network.digits()
    differ = (digits[:, :, None] != digits[:, None, :]).sum(axis=0)
    found: FloatArray = cost + 1e-4 * differ
    return found


def _distances(cost: FloatArray) -> FloatArray:
    """Return the least cost of messages one after another from rank 0."""
    from scipy.sparse.csgraph import dijkstra

    found: FloatArray = np.round(dijkstra(cost, indices=0), 7)
    return found


def _joined_levels(level: IntArray, most: int) -> IntArray:
    """Return at most so many levels, consecutive ones joined where few ranks are.

    A rank that is l levels beyond the first of those joined hears over l links more.
    """
    count = np.bincount(level)[1:]
    depth = len(count)
    best: dict[tuple[int, int], tuple[int, tuple[int, ...]]] = {(0, 0): (0, ())}
    for done in range(1, depth + 1):
        for used in range(1, most + 1):
            ways = []
            for first in range(done):
                if (first, used - 1) in best:
                    cost, cuts = best[first, used - 1]
                    more = sum(int(count[k]) * (k - first) for k in range(first, done))
                    ways.append((cost + more, (*cuts, done)))
            if ways:
                best[done, used] = min(ways)
    _, cuts = min(
        best[depth, used] for used in range(1, most + 1) if (depth, used) in best
    )
    return np.searchsorted(np.array((0, *cuts)), level).astype(np.int64)


@functools.lru_cache(maxsize=32)
def _sends(network: RankNetwork, most: int | None) -> Sends:
    """Return how the block of rank 0 goes along the arcs of a tree in so many steps."""
    tree = _Tree.of(network, most)
    depth = int(tree.level.max())
    steps = max(most or 1, depth)
    kind = _kinds(network, tree) if steps > depth else np.arange(len(tree.dst))
    arcs = zip(tree.src.tolist(), tree.dst.tolist(), strict=True)
    load = [network.translated_load(*arc) for arc in arcs]
    program = StepProgram(steps)
    hears: dict[int, list[int]] = {}
    teller: dict[int, int] = {}
    streams = []
    node_kind = np.zeros(network.ranks, dtype=np.int64)
    if steps > depth:
        node_kind = _node_kinds(network, tree)
    for number in range(int(kind.max()) + 1):
        mine = np.flatnonzero(kind == number)
        arc = int(mine[0])
        first = int(tree.level[tree.dst[arc]]) - 1
        last = first if steps <= depth else steps - 1
        # Ranks of a kind hear from all of their parents of a kind alike.
        dst = tree.dst[mine]
        ranks = len(np.unique(dst))
        each: dict[int, float] = {}
        for one in mine.tolist():
            for link, time in load[one].items():
                each[link] = each.get(link, 0.0) + time * ranks / len(mine)
        streams.append(program.stream(each, first, last))
        key = int(node_kind[dst[0]]) if steps > depth else int(dst[0])
        hears.setdefault(key, []).append(number)
        if steps > depth:
            teller[number] = int(node_kind[tree.src[arc]])
    for numbers in hears.values():
        program.require(numbers)
        for before in sorted({teller[one] for one in numbers if one in teller}):
            if before in hears:
                program.follow(numbers, hears[before])
    solved = program.solve()
    assert solved is not None
    shares, _ = solved
    alike = np.zeros((len(tree.level), int(kind.max()) + 1))
    np.add.at(alike, (tree.dst, kind), 1.0)
    amount = shares[kind] / alike[tree.dst, kind][:, None]
    order = np.argsort(tree.level, kind="stable")
    parts = prefix_parts(order, tree.src, tree.dst, amount)
    return Sends(*parts)


def _node_kinds(network: RankNetwork, tree: _Tree) -> IntArray:
    """Return ranks that hear from alike ranks over alike links, as numbers."""
    cost = _message_costs(network)
    names: dict[object, int] = {(): 0}
    kind = np.zeros(network.ranks, dtype=np.int64)
    order = np.argsort(tree.level, kind="stable")
    for rank in order[1:].tolist():
        parents = tree.src[tree.dst == rank]
        told = sorted((int(kind[p]), round(float(cost[p, rank]), 6)) for p in parents)
        name = (int(tree.level[rank]), round(float(cost[0, rank]), 6), *told)
        kind[rank] = names.setdefault(name, len(names))
    return kind


def _kinds(network: RankNetwork, tree: _Tree) -> IntArray:
    """Return arcs between ranks of the same kinds, as numbers."""
    node_kind = _node_kinds(network, tree)
    both = node_kind[tree.src] * network.ranks + node_kind[tree.dst]
    _, number = np.unique(both, return_inverse=True)
    found: IntArray = number.astype(np.int64)
    return found


_DETOUR = 1.1
_LEAST = 1e-4
"""Parts of the buffer that are left out: rounding would not leave them whole."""
_STEPS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 26, 32, 44)
_MOST_STREAMS = 100


class PartTrees(NetworkAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Parts of the buffer leave the root for a rank each, and spread from there.

    A part goes to its rank straight, or over a rank near the root that is on the way.
    Then every other rank hears it from the nearest that heard it earlier. How large the
    parts are, from whom each rank hears, and what moves in which step, is what a linear
    program finds for which the busiest links of all steps together are busy least; in
    it, parts and ranks that look alike do alike. A reduce is the reversal.
    """

    ops: ClassVar[tuple[str, ...]] = ("broadcast", "reduce")

    steps: Annotated[Count, msgspec.Meta(description="Most steps, 2 or more.")] = 4

    def _fitted(self, collective: Collective, network: RankNetwork) -> Sequence[Round]:
        if collective.op == "reduce":
            network = network.turned()
        columns = _moves(network, collective.root_rank, max(2, self.steps))
        rounds = _rounds(collective, columns)
        if collective.op == "reduce":
            rounds = reversed_rounds(rounds, Op.REDUCE)
        return rounds


@dataclass(frozen=True, eq=False)
class _Part:
    """A part's way: ranks in the order in which they hear it, and arcs they may use.

    `kind` names parts that look alike; `place` what each rank is to the part, -1 for
    the root; `along` what each arc is to it.
    """

    kind: object
    order: IntArray
    place: tuple[object, ...]
    src: IntArray
    dst: IntArray
    along: tuple[object, ...]


def _parts(network: RankNetwork, root: int) -> list[_Part]:
    """Return the part of every rank, for each way to it."""
    from scipy.sparse.csgraph import dijkstra

    cost = network.costs()
    cost /= cost[cost > 0].min()
    if network.shape:
        digits = network.digits()
        cost += 1e-4 * (digits[:, :, None] != digits[:, None, :]).sum(axis=0)
    cost = np.round(cost, 6)
    far = np.round(dijkstra(cost), 5)
    found = []
    for owner in range(network.ranks):
        if owner == root:
            continue
        through = cost[root] + cost[:, owner]
        through[[root, owner]] = np.inf
        near = (through <= _DETOUR * cost[root, owner]) & (cost[root] <= cost[:, owner])
        relays = (owner, *np.flatnonzero(near).tolist())
        found += [_part(cost, far, root, relay, owner) for relay in relays]
    return found


def _part(
    cost: FloatArray, far: FloatArray, root: int, relay: int, owner: int
) -> _Part:
    """Return the way of a part over a relay to its owner, and to all others."""
    late = 1.0 + np.minimum(far[relay], far[owner])
    late[root], late[relay], late[owner] = 0.0, 0.25, 0.5
    order = np.argsort(late, kind="stable")
    src: list[int] = []
    dst: list[int] = []
    for rank in order[1:].tolist():
        tellers = np.flatnonzero(late < late[rank] - _ALIKE)
        if rank == owner and relay != owner:
            tellers = np.array([relay])
        others = tellers[tellers != root]
        # The root sends enough: whoever hears from it can hear from another too.
        nearest = cost[others, rank].min(initial=np.inf)
        tellers = tellers[cost[tellers, rank] <= nearest + _ALIKE]
        src += tellers.tolist()
        dst += [rank] * len(tellers)
    ends = np.stack([cost[root], cost[relay], cost[owner], late]).T.round(6)
    place = tuple(tuple(row) for row in ends.tolist())
    legs = float(cost[root, relay]), float(cost[relay, owner]), float(cost[root, owner])
    along = tuple(
        (place[one], place[two], float(cost[one, two]))
        for one, two in zip(src, dst, strict=True)
    )
    return _Part(legs, order, place, np.array(src), np.array(dst), along)


@dataclass(frozen=True, eq=False)
class _Layout:
    """Parts, and the streams in which they move, whatever the number of steps.

    `parts`, `several`: the parts, and how many there are of each kind. `streams`:
    number of each stream, by kind of part and what its arcs are to the part. `loads`:
    time of a unit on each link, by stream. `leads`: streams that bring parts to their
    first ranks. `groups`: streams to ranks that are alike, with those of the first rank
    of the part, and those that bring the part to whom they hear from.
    """

    parts: list[_Part]
    several: dict[object, int]
    streams: dict[tuple[object, object], int]
    loads: list[dict[int, float]]
    leads: list[int]
    groups: list[tuple[list[int], list[int], list[list[int]]]]

    @classmethod
    def of(cls, network: RankNetwork, root: int) -> _Layout:
        """Return the layout of all parts."""
        parts = _parts(network, root)
        several: dict[object, int] = {}
        for part in parts:
            several[part.kind] = several.get(part.kind, 0) + 1
        made = cls(parts, several, {}, [], [], [])
        told: dict[object, _Places] = {}
        for part in parts:
            made._load(network, part, told.setdefault(part.kind, {}))
        for places in told.values():
            lead = list(next(iter(places.values())))
            made.leads.extend(lead)
            by_place: dict[object, list[list[int]]] = {}
            for (place, _), names in places.items():
                by_place.setdefault(place, []).append(list(names))
            for names in places.values():
                before = sorted(set(names.values()), key=str)
                tellers = [one for place in before for one in by_place.get(place, [])]
                made.groups.append((list(names), lead, tellers))
        return made

    def _load(
        self,
        network: RankNetwork,
        part: _Part,
        places: _Places,
    ) -> None:
        """Add what a part loads to its streams, and note who hears from whom."""
        alike: dict[tuple[int, object], int] = {}
        for rank, name in zip(part.dst.tolist(), part.along, strict=True):
            alike[rank, name] = alike.get((rank, name), 0) + 1
        heard: dict[int, list[str]] = {}
        for rank, name in alike:
            heard.setdefault(rank, []).append(str(name))
        arcs = zip(part.src.tolist(), part.dst.tolist(), part.along, strict=True)
        for src, dst, name in arcs:
            number = self.streams.setdefault((part.kind, name), len(self.streams))
            if number == len(self.loads):
                self.loads.append({})
            # Ranks at one place may still hear over arcs of different kinds.
            group = part.place[dst], tuple(sorted(heard[dst]))
            places.setdefault(group, {})[number] = part.place[src]
            load = self.loads[number]
            weight = 1.0 / (alike[dst, name] * self.several[part.kind])
            for link, time in network.load(src, dst).items():
                load[link] = load.get(link, 0.0) + weight * time


@functools.lru_cache(maxsize=4)
def _layout(network: RankNetwork, root: int) -> _Layout:
    return _Layout.of(network, root)


@functools.lru_cache(maxsize=64)
def _solved(
    network: RankNetwork, root: int, steps: int
) -> tuple[FloatArray, float] | None:
    """Return the shares of the streams in so many steps, and how long these last."""
    layout = _layout(network, root)
    program = StepProgram(steps)
    for load in layout.loads:
        program.stream(load, 0, steps - 1)
    for numbers, lead, tellers in layout.groups:
        if numbers != lead:
            program.balance(numbers, lead)
        for before in tellers:
            program.follow(numbers, before)
    program.require(layout.leads)
    return program.solve()


def best_steps(network: RankNetwork, root: int, size_bytes: int) -> int | None:
    """Return the number of steps that is predicted to be fastest.

    Returns one of a few numbers; ``None`` if none is enough, or too few ranks look
    alike.
    """
    if len(_layout(network, root).loads) > _MOST_STREAMS:
        return None
    best: tuple[float, int] | None = None
    for steps in _STEPS:
        solved = _solved(network, root, steps)
        if solved is None:
            continue
        predicted_ps = steps * network.step_ps + size_bytes * solved[1]
        if best is not None and predicted_ps >= best[0]:
            break
        best = predicted_ps, steps
    return None if best is None else best[1]


@functools.lru_cache(maxsize=4)
def _moves(
    network: RankNetwork, root: int, steps: int
) -> tuple[IntArray, IntArray, IntArray, FloatArray, FloatArray]:
    """Return step, source, destination and range of the buffer of all that moves."""
    solved = _solved(network, root, steps)
    while solved is None:
        steps += 1
        solved = _solved(network, root, steps)
    shares, _ = solved
    layout = _layout(network, root)
    begin = 0.0
    found = []
    for part in layout.parts:
        numbers = np.array([layout.streams[part.kind, name] for name in part.along])
        alike = np.zeros((network.ranks, len(shares)))
        np.add.at(alike, (part.dst, numbers), 1.0)
        amount = shares[numbers] / alike[part.dst, numbers][:, None]
        size = float(amount[part.dst == part.order[1]].sum())
        if size <= _LEAST:
            continue
        moved = prefix_parts(part.order, part.src, part.dst, amount / size)
        size /= layout.several[part.kind]
        found.append((*moved[:3], begin + size * moved[3], begin + size * moved[4]))
        begin += size
    step, src, dst, lo, hi = (np.concatenate(c) for c in zip(*found, strict=True))
    return step, src, dst, lo / begin, hi / begin


def _rounds(
    collective: Collective,
    columns: tuple[IntArray, IntArray, IntArray, FloatArray, FloatArray],
) -> list[Round]:
    """Return the rounds of what moves; ranges end at whole chunks."""
    step, src, dst = columns[:3]
    lo, hi = (
        np.rint(part * collective.chunk_count).astype(np.int64) for part in columns[3:]
    )
    rounds = []
    for now in range(int(step.max()) + 1):
        mine = np.flatnonzero((step == now) & (lo < hi))
        if len(mine):
            port = (dst[mine] - src[mine]) % collective.rank_count - 1
            code = np.full(len(mine), int(Op.COPY), dtype=np.int64)
            rounds.append(Round(src[mine], dst[mine], lo[mine], hi[mine], code, port))
    return rounds


_FEW_STEPS = 3
"""Steps up to which every destination has relays of its own."""
_MOST_RELAYS = 16
_RELAY_DETOUR = 1.7
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
            moves = _relay_moves(network, 0, steps, everywhere=True)
            return _exchanged(collective, network, moves)
        if collective.op == "gather":
            network = network.turned()
        moves = _relay_moves(network, collective.root_rank, steps, everywhere=False)
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
def _relay_moves(
    network: RankNetwork, source: int, steps: int, *, everywhere: bool
) -> _Moves:
    """Return what a linear program sends from one source, by which relays."""
    load = network.translated_load if everywhere else network.load
    ways = _ways(network, source)
    kinds = _relay_kinds(network, source, ways, alike=steps > _FEW_STEPS)
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
        near = np.flatnonzero(through <= _RELAY_DETOUR * cost[source, owner])
        near = near[np.argsort(through[near], kind="stable")]
        # Some of many, from all over the way.
        some = near[:: -(-len(near) // _MOST_RELAYS) or 1]
        found += [(owner, relay) for relay in some.tolist()]
    return found


def _relay_kinds(
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


def _relay_rounds(
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

    return _relay_rounds(moves, block, make)


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

    return _relay_rounds(moves, block, make)


_MOST_RANKS = 128
"""Ranks whose ways to one another are few enough to be looked at one by one."""
_MANY_STEPS = (2, 3, 4, 5, 6, 8, 10, 12, 14)
"""Each longer than the last by less than half: between them little is to be gained."""
_MOST_JOINED = 32
"""Ranks of circuits up to which the lasers that peers do not divide are worth it."""


def _translated(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose a step a level, and where ranks are few fewer and more of them."""
    network = setting.network
    if setting.circuits or network is None or not network.shape:
        return
    depth = tree_depth(network)
    few = (
        {*range(2, depth), *_MANY_STEPS[1:]} if setting.ranks <= _MOST_RANKS else set()
    )
    for steps in sorted({depth, *few}):
        yield {"steps": steps}


def _part_trees(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose the best number of steps, by the linear programs themselves.

    Where nodes are linked, few parts of the buffer look alike, and the linear program
    of their trees is large.
    """
    network = setting.network
    if setting.circuits or network is None or setting.ranks > _MOST_RANKS:
        return
    if not setting.linked:
        used = network if setting.op == "broadcast" else network.turned()
        steps = best_steps(used, setting.root, setting.buffer_bytes)
        if steps is not None:
            yield {"steps": steps}


def _relayed(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose a few steps; more serve blocks from or to one rank."""
    network, ranks = setting.network, setting.ranks
    if network is None or ranks > (_MOST_JOINED if setting.circuits else _MOST_RANKS):
        return
    if setting.circuits:
        yield {"steps": 2}
    elif setting.op != "all-to-all":
        for steps in _MANY_STEPS:
            yield {"steps": steps}
    elif network.shape:
        for steps in _MANY_STEPS[:2]:
            yield {"steps": steps}


ALGORITHM = (
    AlgorithmEntry(
        name="translated-trees",
        summary="one tree of arcs for all ranks, links evenly loaded: packet networks",
        ops=TranslatedTrees.ops,
        make=TranslatedTrees,
        proposals=_translated,
    ),
    AlgorithmEntry(
        name="part-trees",
        summary="a tree for each part, links evenly loaded: packet networks",
        ops=PartTrees.ops,
        make=PartTrees,
        proposals=_part_trees,
    ),
    AlgorithmEntry(
        name="one-relay",
        summary="straight or over one other rank, links evenly loaded: packet networks",
        ops=OneRelay.ops,
        make=OneRelay,
        proposals=_relayed,
    ),
)
