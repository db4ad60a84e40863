"""One tree, translated to all ranks: gossip on networks that look alike everywhere."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np

from lightloom.plans.algorithms import AlgorithmEntry
from lightloom.plans.network_algorithm import NetworkAlgorithm
from lightloom.plans.parameters import Count
from lightloom.plans.prefix_parts import prefix_parts
from lightloom.plans.step_program import StepProgram
from lightloom.plans.translated_sends import Sends, translated_rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round
    from lightloom.plans.rank_network import RankNetwork

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


ALGORITHM = AlgorithmEntry(
    name="translated-trees",
    summary="one tree of arcs for all ranks, its links evenly loaded: packet networks",
    ops=TranslatedTrees.ops,
    make=TranslatedTrees,
)
