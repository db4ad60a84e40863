"""Trees to and from the hubs of one part of a buffer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.plans.digraphs.de_bruijn import DeBruijn


_NEVER = np.int64(1) << 40


@dataclass(frozen=True, eq=False)
class HubTrees:
    """How one part of a buffer is summed and spread; see `HubSums`.

    `roots`: ranks that sum trees, each its own. `idle`: the root that hubs copy from,
    complete a round before the others; ``None`` where all hubs are roots. `hubs`: ranks
    that add up the roots. `up`, `height`: the rank that each rank's sum goes to, and
    how many arcs it is to a root; a root has height 0, or 1 if it is idle, and goes to
    itself. `down`, `depth`: the rank that each rank gets the total from, and how many
    arcs it is from a hub; a hub has depth 0.
    """

    roots: IntArray
    idle: int | None
    hubs: IntArray
    up: IntArray
    height: IntArray
    down: IntArray
    depth: IntArray


class ArcLoads:
    """How often arcs have been used so far, by how far from the end they are.

    ``of(level)[rank, slot]`` counts the arc in that slot of a rank.
    """

    def __init__(self, graph: DeBruijn) -> None:
        self._shape = (graph.ranks, graph.degree)
        self._levels: dict[int, IntArray] = {}

    def of(self, level: int) -> IntArray:
        """Return the counts at a level, to be read or added to."""
        return self._levels.setdefault(level, np.zeros(self._shape, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class _Layers:
    """Each rank's next rank, by the slot of its arc, and its distance."""

    following: IntArray
    height: IntArray
    slot: IntArray

    def use(self, loads: ArcLoads) -> None:
        """Count the arcs."""
        for level in range(1, int(self.height.max()) + 1):
            rank = np.flatnonzero((self.height == level) & (self.slot >= 0))
            loads.of(level)[rank, self.slot[rank]] += 1


class HubForest:
    """Makes the trees of one part after another, so that arcs are loaded evenly."""

    def __init__(self, graph: DeBruijn) -> None:
        self._graph = graph
        self._after, self._before = graph.after(), graph.before()
        self._up, self._down = ArcLoads(graph), ArcLoads(graph)

    def trees(self, group: int, turn: int) -> HubTrees | None:
        """Return trees whose roots and hubs are the tails and heads of a group.

        Returns the trees, as low as they can be; ``None`` where, whichever root is
        idle, some rank cannot reach the others.
        """
        roots = self._graph.tails(group)
        hubs, down = self._spread(group, turn)
        idle, up = None, None
        if np.isin(hubs, roots).all():
            up = _layers(self._after, roots, None, self._up)
        else:
            least = _layers(self._after, roots, None, self._up)
            assert least is not None
            for spared in np.roll(roots, -(turn % len(roots))).tolist():
                found = _layers(self._after, roots, spared, self._up)
                if found is None:
                    continue
                if up is None or found.height.max() < up.height.max():
                    idle, up = spared, found
                if up.height.max() <= max(1, least.height.max()):
                    break
        if up is None:
            return None
        up.use(self._up)
        down.use(self._down)
        return HubTrees(
            roots, idle, hubs, up.following, up.height, down.following, down.height
        )

    def _spread(self, group: int, turn: int) -> tuple[IntArray, _Layers]:
        """Return hubs that reach all ranks in the fewest rounds, and how.

        Either all heads of the group or, where each has several twins with arcs to
        the same ranks, one of each.
        """
        heads, groups = self._graph.heads(group), self._graph.groups
        everywhere = _layers(self._before, heads, None, self._down)
        assert everywhere is not None
        if groups < len(heads):
            few = np.sort(heads[(turn * groups + np.arange(groups)) % len(heads)])
            enough = _layers(self._before, few, None, self._down)
            least = max(1, int(everywhere.height.max()))
            if enough is not None and enough.height.max() <= least:
                return few, enough
        return heads, everywhere


def _layers(
    towards: IntArray, roots: IntArray, idle: int | None, loads: ArcLoads
) -> _Layers | None:
    """Return each rank's next rank to the nearest root, over its least loaded arc.

    The idle root counts as one farther away. ``None`` where ranks reach no root.
    """
    ranks = len(towards)
    height, slot = (np.full(ranks, -1, dtype=np.int64) for _ in range(2))
    height[roots] = 0
    if idle is not None:
        height[idle] = 1
    level = 0
    while (height < 0).any():
        level += 1
        rank = np.flatnonzero(height < 0)
        fits = height[towards[rank]] == level - 1
        rank, fits = rank[fits.any(axis=1)], fits[fits.any(axis=1)]
        if not len(rank) and not (height == level).any():
            return None
        slot[rank] = np.where(fits, loads.of(level)[rank], _NEVER).argmin(axis=1)
        height[rank] = level
    following = np.arange(ranks, dtype=np.int64)
    going = np.flatnonzero(slot >= 0)
    following[going] = towards[going, slot[going]]
    return _Layers(following, height, slot)
