"""Layouts: which nodes a training runs on, and how many of its replicas are replayed.

Where the replicas fill a fabric they are all alike: moved along by one replica (or one
server) nothing changes, neither the traffic nor what it shares. A few of them, on a
smaller fabric of the same kind, then do the same at the same times as all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.instances.fabrics.electrical_cluster import ElectricalCluster
from lightloom.instances.fabrics.ideal_switch import IdealSwitch
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ring import Ring
from lightloom.replay.workload.collective_flows import CollectiveFlows, RingCollectives

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.instances.instance import AnyFabric
    from lightloom.synth.training.strategy import Strategy

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
    replicas
        How many replicas there are in truth; `nodes` has as many rows or fewer.
    """

    fabric: AnyFabric
    nodes: tuple[tuple[int, ...], ...]
    replicas: int

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
        Fewer nodes than devices.
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
        kept = _alike(fabric, k)
        if kept is not None and kept < replicas:
            small = msgspec.structs.replace(fabric, nodes=kept * k)  # type: ignore[type-var]
            return Layout(small, _blocks(range(kept * k), k), replicas)
    blocks = _blocks(taken[: strategy.devices], k)
    if isinstance(fabric, Ring) and strategy.devices < fabric.node_count:
        # There and back: twins in the ring of replicas are two blocks apart at most.
        blocks = (*blocks[::2], *blocks[1::2][::-1])
    return Layout(fabric, blocks, replicas)


def _blocks(nodes: Sequence[int], k: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(nodes[first : first + k]) for first in range(0, len(nodes), k))


def _alike(fabric: AnyFabric, k: int) -> int | None:
    """Return how many replicas of k devices stand for all, ``None`` if none do.

    Two are a ring with two different neighbours' links. On fibre there are enough of
    them for no circuit to come near the other way round; of servers there are two.
    """
    if isinstance(fabric, IdealSwitch | Ocs):
        return 2
    if isinstance(fabric, Ring):
        return max(3, -(-(2 * fabric.reach + 1) // k))
    if isinstance(fabric, ElectricalCluster):
        server = fabric.nodes_per_server
        if fabric.nodes % server:
            return None
        if not k % server:
            return 2
        return 2 * (server // k) if not server % k else None
    return None
