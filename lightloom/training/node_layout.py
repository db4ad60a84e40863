"""The nodes that a training runs on, and how many of its replicas are replayed.

Where the replicas fill a fabric they are all alike: moved along by one replica (or one
server) nothing changes, neither the traffic nor what it shares. A few of them, on a
smaller fabric of the same kind, then do the same at the same times as all of them. On
some fabrics that holds too where nodes stay idle.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.fabric import step_ps
from lightloom.replay.workload.collective_flows import CollectiveFlows, RingCollectives
from lightloom.synth.fabrics import plug_of
from lightloom.training.replica_grid import replica_grid, there_and_back

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.instances.instance import AnyFabric
    from lightloom.training.strategy import Strategy


@dataclass(frozen=True)
class NodeLayout:
    """Where the replicas are that are replayed.

    `fabric`: the fabric, or the smaller one that stands for it. `nodes`: of each
    replica that is replayed, in ring order: the nodes of its devices. `rings`: lengths
    of the rings in which twins sum, along each axis of a grid of replicas
    (`twin_sums`); mostly one ring through all. Their product is how many replicas there
    are in truth; `nodes` has as many rows, or fewer where there is one ring.
    """

    fabric: AnyFabric
    nodes: tuple[tuple[int, ...], ...]
    rings: tuple[int, ...]

    @property
    def replicas(self) -> int:
        """How many replicas there are in truth."""
        return prod(self.rings)

    @property
    def replayed_rings(self) -> tuple[int, ...]:
        """Lengths of the rings of the replicas that are replayed."""
        return self.rings if self.is_whole else (len(self.nodes),)

    @property
    def is_whole(self) -> bool:
        """Whether every replica is replayed."""
        return len(self.nodes) == self.replicas

    def collectives(self) -> RingCollectives | AlikeReplicas:
        """Return how collectives load the fabric."""
        alpha_ps = step_ps(self.fabric)
        if self.is_whole:
            return RingCollectives(alpha_ps)
        return AlikeReplicas(alpha_ps, self.replicas)


@dataclass(frozen=True)
class AlikeReplicas:
    """Collectives of a few replicas that stand for many.

    An all-reduce goes over replicas, and each of its devices sends what it would send
    in a ring of all of them; other collectives are within a replica.

    `alpha_ps`: fixed cost of a step.
    """

    alpha_ps: int
    replicas: int

    def flows(self, op: str, devices: IntArray, size_bytes: int) -> CollectiveFlows:
        """Return the flows of a collective, as `RingCollectives` does.

        `op`: name of the operation; an all-reduce is taken as one part of a ring over
        all replicas. `devices`: who takes part of the replicas that are replayed, shape
        (ranks,).
        """
        if op != "all-reduce" or not size_bytes:
            return RingCollectives(self.alpha_ps).flows(op, devices, size_bytes)
        steps = 2 * (self.replicas - 1)
        share = np.full(len(devices), -(-steps * size_bytes // self.replicas))
        return CollectiveFlows(
            devices, np.roll(devices, -1), share, steps * self.alpha_ps
        )


def layout(
    fabric: AnyFabric,
    strategy: Strategy,
    nodes: Sequence[int] | None = None,
    *,
    whole: bool = False,
) -> NodeLayout:
    """Return where the replicas of a strategy are.

    `nodes`: nodes of the training in the order in which they are taken; by default all.

    Raises `InputError`: fewer nodes than devices, nodes that are no whole rows of a
    grid, or a kind of fabric on which nothing is made; `InfeasibleError`: replicas that
    leave their row of a grid, or more than its rows have room for.
    """
    k, replicas = strategy.model_parallel, strategy.replicas
    taken = range(fabric.node_count) if nodes is None else nodes
    require_room(strategy, len(taken))
    placed = plug_of(fabric).layout
    used = strategy.devices
    alike = used == fabric.node_count or placed.idle_alike(fabric, used)
    if nodes is None and not whole and alike:
        small = placed.alike(fabric, k)
        if small is not None and small.node_count < used:
            blocks = _blocks(range(small.node_count), k)
            return NodeLayout(small, blocks, (replicas,))
    if placed.rows is not None:
        return NodeLayout(fabric, *replica_grid(placed.rows(fabric), strategy, taken))
    blocks = _blocks(taken[: strategy.devices], k)
    if placed.ring and strategy.devices < fabric.node_count:
        blocks = there_and_back(blocks)
    return NodeLayout(fabric, blocks, (replicas,))


def require_room(strategy: Strategy, nodes: int) -> None:
    """Raise unless a strategy has a node for each device.

    Raises `InputError`: there are fewer.
    """
    if strategy.devices > nodes:
        raise InputError(
            "more devices than nodes",
            where="model_parallel * replicas",
            found=strategy.devices,
            allowed=f"at most {nodes}",
        )


def require_rows(fabric: AnyFabric, nodes: int, where: str) -> None:
    """Raise if so many nodes are no whole rows, where a training has some of the rows.

    Raises `InputError`: they are not.
    """
    rows_of = plug_of(fabric).layout.rows
    grid = None if rows_of is None else rows_of(fabric)
    if grid is not None and grid.any_rows and nodes % grid.cols:
        what = f"a job has whole rows of a fabric of kind {fabric.kind}"
        allowed = f"multiples of {grid.cols} nodes"
        raise InputError(what, where=where, found=nodes, allowed=allowed)


def _blocks(nodes: Sequence[int], k: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(nodes[first : first + k]) for first in range(0, len(nodes), k))
