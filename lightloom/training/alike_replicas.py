"""Replicas that are alike because their circuits are: two are replayed for all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.fabric import Usage
from lightloom.core.task import Demand
from lightloom.replay.workload import SharedLinks
from lightloom.training.fabric_networks import kept_circuits
from lightloom.training.iteration import training_iteration
from lightloom.training.iteration_estimate import circuit_rates
from lightloom.training.iteration_traffic import traffic
from lightloom.training.node_layout import AlikeReplicas, NodeLayout

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import CircuitFabric, FabricTable
    from lightloom.core.iteration import Iteration
    from lightloom.training.replica import Replica


@dataclass(frozen=True, eq=False)
class TwoForAll:
    """Two replicas whose circuits have the rates that those of all have.

    `layout`: the first two replicas, on their nodes. `network`: the circuits of their
    pairs; the second sends to the first what it truly sends to the third. `demand`:
    bytes of each pair of all replicas.
    """

    layout: NodeLayout
    iteration: Iteration
    network: SharedLinks
    demand: Demand


def two_for_all(
    fabric: CircuitFabric, replica: Replica, laid: NodeLayout
) -> TwoForAll | None:
    """Return two replicas that do what all do at the same times, ``None`` if none do.

    A circuit that stays serves its pair and nobody else. So replicas in one ring differ
    only where the rates of their pairs do: within a replica, and to the next one.

    Raises `InfeasibleError, NoAnswerError`: there are no circuits for the traffic.
    """
    nodes = np.array(laid.nodes, dtype=np.int64)
    if len(nodes) < 3 or len([ring for ring in laid.rings if ring > 1]) != 1:
        return None
    count = fabric.node_count
    few = NodeLayout(fabric, laid.nodes[:2], laid.rings)
    iteration = training_iteration(replica, few.nodes, count, (2,))
    model = AlikeReplicas(fabric.alpha_ps, laid.replicas)
    one = traffic(iteration, model)
    device = np.zeros(count, dtype=np.int64)
    device[nodes[:2]] = np.arange(nodes.shape[1])
    src, dst, size = np.array([one.src, one.dst, one.bytes], dtype=np.int64)
    first = np.isin(src, nodes[0])
    src, dst, size = src[first], dst[first], size[first]
    leaves = ~np.isin(dst, nodes[0])
    after = np.roll(nodes, -1, axis=0)
    ends = np.where(leaves, after[:, device[dst]], nodes[:, device[dst]])
    keys = nodes[:, device[src]] * count + ends
    sizes = np.broadcast_to(size, keys.shape)
    order = np.argsort(keys, axis=None)
    pairs = keys.ravel()[order]
    demand = Demand(
        tuple((pairs // count).tolist()),
        tuple((pairs % count).tolist()),
        tuple(sizes.ravel()[order].tolist()),
    )
    held = kept_circuits(fabric).lasting(fabric, demand)
    known = circuit_rates(fabric, held)
    rates = np.array([known.get(key, 0) for key in keys.ravel().tolist()])
    rates = rates.reshape(keys.shape)
    if not rates.all() or (rates != rates[0]).any():
        return None
    # The second replica has the rates of the first, and sends back along the ring.
    back = np.where(leaves, nodes[0][device[dst]], nodes[1][device[dst]])
    second = nodes[1][device[src]] * count + back
    links = _PairLinks(
        count,
        fabric.alpha_ps,
        fabric.node_bits_per_s,
        {
            **dict(zip(keys[0].tolist(), rates[0].tolist(), strict=True)),
            **dict(zip(second.tolist(), rates[0].tolist(), strict=True)),
        },
    )
    return TwoForAll(few, iteration, SharedLinks(links, model), demand)


@dataclass(frozen=True, eq=False)
class _PairLinks:
    """A packet network in which each pair has a link of its own."""

    node_count: int
    alpha_ps: int
    node_bits_per_s: int
    rates: dict[int, int]
    kind: str = "pairs"
    latency_ps: int = 0

    def table(self) -> FabricTable:
        return {"kind": self.kind, "nodes": self.node_count}

    def link_usage(self, src: IntArray, dst: IntArray) -> Usage:
        rows = np.arange(len(src), dtype=np.int64)
        return Usage(rows, src * self.node_count + dst, np.ones_like(rows))

    def link_bits_per_s(self, links: IntArray) -> IntArray:
        return np.array([self.rates[key] for key in links.tolist()], dtype=np.int64)

    def resource_name(self, resource: int) -> str:
        src, dst = divmod(resource, self.node_count)
        return f"circuit {src} -> {dst}"
