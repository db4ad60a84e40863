"""Iterations on packet fabrics: transfers share links."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lightloom.replay.workload.collective_flows import RingCollectives
from lightloom.replay.workload.flow_network import FlowNetwork, flow_table

if TYPE_CHECKING:
    from lightloom.core.fabric import PacketFabric
    from lightloom.replay.workload.collective_flows import CollectiveModel
    from lightloom.replay.workload.fair_shares import Path
    from lightloom.replay.workload.flow_network import FlowTable
    from lightloom.replay.workload.network import Jobs


@dataclass(frozen=True)
class SharedLinks:
    """A packet fabric whose links are shared max-min fairly by all flows.

    A transfer waits alpha and the latency of the switches, and then flows.

    `fabric`: the fabric; device i is node i. `collectives`: how collectives load it; by
    default rings that pay alpha and the latency in each step.
    """

    fabric: PacketFabric
    collectives: CollectiveModel | None = field(default=None)

    def open(self, jobs: Jobs) -> FlowNetwork:
        """Return the network at time 0.

        Raises `InputError`: more devices than nodes; a collective that cannot be
        accounted for.
        """
        fabric = self.fabric
        alpha_ps = fabric.alpha_ps + fabric.latency_ps
        model = self.collectives or RingCollectives(alpha_ps)
        table = flow_table(jobs, fabric.node_count, alpha_ps, model)
        paths, rates = _paths(fabric, table)
        return FlowNetwork(jobs, table, paths, rates)


def _paths(fabric: PacketFabric, table: FlowTable) -> tuple[list[Path], dict[int, int]]:
    """Return the path of each pair, and the rate of every link on a path."""
    usage = fabric.link_usage(table.pair_src, table.pair_dst)
    crossed: list[dict[int, int]] = [{} for _ in range(len(table.pair_src))]
    rows = np.stack([usage.circuit, usage.resource, usage.amount], axis=1).tolist()
    for pair, link, times in rows:
        crossed[pair][link] = crossed[pair].get(link, 0) + times
    links = np.unique(usage.resource)
    rates = fabric.link_bits_per_s(links)
    return (
        [tuple(sorted(links.items())) for links in crossed],
        dict(zip(links.tolist(), rates.tolist(), strict=True)),
    )
