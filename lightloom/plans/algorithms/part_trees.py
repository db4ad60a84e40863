"""Broadcast by parts: each goes to one rank, over another or not, and along a tree."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, TypeAlias

import msgspec
import numpy as np

from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry
from lightloom.plans.network_algorithm import NetworkAlgorithm
from lightloom.plans.parameters import Count
from lightloom.plans.plan import Round
from lightloom.plans.prefix_parts import prefix_parts
from lightloom.plans.reversal import reversed_rounds
from lightloom.plans.step_program import StepProgram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.rank_network import RankNetwork

    _Places: TypeAlias = dict[tuple[object, tuple[str, ...]], dict[int, object]]

_DETOUR = 1.1
_ALIKE = 1e-9
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


ALGORITHM = AlgorithmEntry(
    name="part-trees",
    summary="a tree for each part of the buffer, links evenly loaded: packet networks",
    ops=PartTrees.ops,
    make=PartTrees,
)
