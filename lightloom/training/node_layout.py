"""Layouts: which nodes a training runs on, and how many of its replicas are replayed.

Where the replicas fill a fabric they are all alike: moved along by one replica (or one
server) nothing changes, neither the traffic nor what it shares. A few of them, on a
smaller fabric of the same kind, then do the same at the same times as all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from lightloom.core.errors import InputError
from lightloom.instances.fabrics.electrical_cluster import ElectricalCluster
from lightloom.instances.fabrics.ideal_switch import IdealSwitch
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.replay.workload.collective_flows import CollectiveFlows, RingCollectives
from lightloom.training.replica_grid import replica_grid, there_and_back

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.instances.instance import AnyFabric
    from lightloom.training.strategy import Strategy

__all__ = ["AlikeReplicas", "Layout", "layout"]


@dataclass(frozen=True)
class Layout:
    """Where the replicas are that are replayed.

    Attributes
    ----------
    fabric
        The fabric, or the smaller one that stands for it.
    nodes
        Of each replica that is replayed, in ring order: the nodes of its devices.
    rings
        Lengths of the rings in which twins sum, along each axis of a grid of replicas
        (`twin_sums`); mostly one ring through all. Their product is how many replicas
        there are in truth; `nodes` has as many rows, or fewer where there is one ring.
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
        alpha_ps = self.fabric.alpha_ps + getattr(self.fabric, "latency_ps", 0)
        if self.is_whole:
            return RingCollectives(alpha_ps)
        return AlikeReplicas(alpha_ps, self.replicas)


@dataclass(frozen=True)
class AlikeReplicas:
    """Collectives of a few replicas that stand for many.

    An all-reduce goes over replicas, and each of its devices sends what it would send
    in a ring of all of them; other collectives are within a replica.

    Attributes
    ----------
    alpha_ps
        Fixed cost of a step.
    replicas
        Replicas in truth.
    """

    alpha_ps: int
    replicas: int

    def flows(self, op: str, devices: IntArray, size_bytes: int) -> CollectiveFlows:
        """Return the flows of a collective, as `RingCollectives` does."""
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
) -> Layout:
    """Return where the replicas of a strategy are.

    Parameters
    ----------
    fabric
        The fabric.
    strategy
        How many devices there are in how many replicas.
    nodes
        Nodes of the training in the order in which they are taken; by default all.
    whole
        Whether to replay every replica even where a few of them would do.

    Raises
    ------
    InputError
        Fewer nodes than devices, or nodes that are no whole rows of a grid.
    InfeasibleError
        Replicas that leave their row of a grid, or more than its rows have room for.
    """
    k, replicas = strategy.model_parallel, strategy.replicas
    taken = range(fabric.node_count) if nodes is None else nodes
    if strategy.devices > len(taken):
        raise InputError(
            "more devices than nodes",
            where="model_parallel * replicas",
            found=strategy.devices,
            allowed=f"at most {len(taken)}",
        )
    if nodes is None and not whole and strategy.devices == fabric.node_count:
        small = _alike(fabric, k)
        if small is not None and small.node_count < fabric.node_count:
            blocks = _blocks(range(small.node_count), k)
            return Layout(small, blocks, (replicas,))
    if isinstance(fabric, Ring2d | Sipac):
        return Layout(fabric, *replica_grid(fabric, strategy, taken))
    blocks = _blocks(taken[: strategy.devices], k)
    if isinstance(fabric, Ring) and strategy.devices < fabric.node_count:
        blocks = there_and_back(blocks)
    return Layout(fabric, blocks, (replicas,))


def _blocks(nodes: Sequence[int], k: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(nodes[first : first + k]) for first in range(0, len(nodes), k))


def _alike(fabric: AnyFabric, k: int) -> AnyFabric | None:
    """Return the fabric whose replicas of k devices stand for all, if there is one.

    It may have more nodes than the fabric. Two replicas are a ring with two different
    neighbours' links. On fibre there are enough of them for no circuit to come near the
    other way round; of servers there are two.
    """
    if isinstance(fabric, IdealSwitch | Ocs):
        return replace(fabric, nodes=2 * k)
    if isinstance(fabric, Ring):
        return replace(fabric, nodes=max(3, -(-(2 * fabric.reach + 1) // k)) * k)
    if isinstance(fabric, Ring2d) and k == fabric.cols:
        return replace(fabric, rows=max(3, 2 * fabric.reach + 1))
    if isinstance(fabric, ElectricalCluster):
        server = fabric.nodes_per_server
        if not (fabric.nodes % server or (k % server and server % k)):
            return replace(fabric, nodes=2 * max(k, server))
    return None
