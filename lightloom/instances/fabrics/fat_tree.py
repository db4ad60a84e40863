"""Fat tree of leaves, pods and a core, with oversubscription."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from msgspec import Meta

from lightloom.core.errors import InputError
from lightloom.core.fabric import Usage
from lightloom.core.link_graph import trunks
from lightloom.instances.fabrics import FabricKind
from lightloom.instances.fabrics.fabric_record import FabricRecord

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.link_graph import LinkGraph

_MOST_BITS_PER_S = 9 * 10**18


class FatTree(FabricRecord, frozen=True, kw_only=True):
    """Packet switches in three tiers: packets go up as far as they must, then down.

    Consecutive nodes share a leaf, consecutive leaves a pod. The parallel links from
    a leaf up, and from a pod up, count as one trunk each way: packets are taken to
    spread over them evenly (ECMP at its best).

    Parameters
    ----------
    nodes
        Number of nodes; the last leaf and the last pod may be partly filled.
    nodes_per_leaf, leaves_per_pod
        Size of a leaf and of a pod.
    oversubscription
        Rate of a full leaf's nodes over that of its trunk.
    pod_oversubscription
        Rate of the trunks of a full pod's leaves over that of the pod's trunk.
    bits_per_second_per_node
        Rate at which a node sends, and at which it receives.
    alpha_ps
        Fixed cost of a transfer.
    switch_latency_ps
        What a step pays for each switch of the longest way: 1, 3 or 5 of them.
    """

    kind: Literal["fat-tree"] = "fat-tree"
    nodes: Annotated[int, Meta(ge=1, le=2**20)]
    nodes_per_leaf: Annotated[int, Meta(ge=1, le=2**12)] = 16
    leaves_per_pod: Annotated[int, Meta(ge=1, le=2**12)] = 16
    oversubscription: Annotated[int, Meta(ge=1, le=10**6)] = 1
    pod_oversubscription: Annotated[int, Meta(ge=1, le=10**6)] = 1
    bits_per_second_per_node: Annotated[int, Meta(ge=1, le=10**18)] = 2_400_000_000_000
    alpha_ps: Annotated[int, Meta(ge=0, le=10**15)] = 700_000
    switch_latency_ps: Annotated[int, Meta(ge=0, le=10**9)] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        leaf, pod = self.leaf_bits_per_s, self.pod_bits_per_s
        if not (pod >= 1 and max(leaf, pod) <= _MOST_BITS_PER_S):
            what = "a trunk is too slow or too fast"
            allowed = f"1 to {_MOST_BITS_PER_S} bits per second"
            found = {"leaf": leaf, "pod": pod}
            raise InputError(what, where="fabric", found=found, allowed=allowed)

    @property
    def leaf_bits_per_s(self) -> int:
        """Rate of the trunk of a leaf, each way."""
        return self.nodes_per_leaf * self.node_bits_per_s // self.oversubscription

    @property
    def pod_bits_per_s(self) -> int:
        """Rate of the trunk of a pod, each way."""
        return self.leaves_per_pod * self.leaf_bits_per_s // self.pod_oversubscription

    @property
    def latency_ps(self) -> int:
        """What every step pays for the switches of the longest way, beside alpha."""
        pod = self.nodes_per_leaf * self.leaves_per_pod
        tiers = 1 + (self.nodes > self.nodes_per_leaf) + (self.nodes > pod)
        return self.switch_latency_ps * (2 * tiers - 1)

    # -- links: node, leaf, pod up, each tier followed by its way down -----------

    def _tiers(self) -> tuple[tuple[str, int, int], ...]:
        """Return (name of a link's lower end, nodes below it, rate) by tier."""
        leaf = self.nodes_per_leaf
        return (
            ("node", 1, self.node_bits_per_s),
            ("leaf", leaf, self.leaf_bits_per_s),
            ("pod", leaf * self.leaves_per_pod, self.pod_bits_per_s),
        )

    def link_usage(self, src: IntArray, dst: IntArray) -> Usage:
        """Return the links up from src and down to dst, below where they meet."""
        row = np.arange(len(src), dtype=np.int64)
        circuit, resource = [], []
        for tier, (_, below, _) in enumerate(self._tiers()):
            up, down = src // below, dst // below
            apart = row[up != down]
            circuit += [apart, apart]
            first = 2 * tier * self.nodes
            resource += [first + up[apart], first + self.nodes + down[apart]]
        links = np.concatenate(resource)
        return Usage(np.concatenate(circuit), links, np.ones(len(links), np.int64))

    def link_graph(self) -> LinkGraph:
        """Return the links between tiers, as far up as there are several switches."""
        both_ways, tiers = [], []
        sizes = [below for _, below, _ in self._tiers()]
        lower = first = 0
        for tier, name in enumerate(("leaf", "pod", "core")):
            count = -(-self.nodes // sizes[tier])
            if tier and count == 1:
                break
            first += count
            number = np.arange(count, dtype=np.int64)
            above = sizes[tier + 1] if tier + 1 < len(sizes) else self.nodes
            up = 2 * tier * self.nodes + number
            upper = first + number * sizes[tier] // above
            both_ways.append((lower + number, upper, up, up + self.nodes))
            tiers.append((name, -(-self.nodes // above)))
            lower = first
        return trunks(both_ways, tuple(tiers))

    def link_bits_per_s(self, links: IntArray) -> IntArray:
        """Return the rate of each link."""
        rates = np.array([rate for _, _, rate in self._tiers()], dtype=np.int64)
        return rates[links // (2 * self.nodes)]

    def resource_name(self, resource: int) -> str:
        """Return the link in words."""
        side, number = divmod(resource, self.nodes)
        tier, way = divmod(side, 2)
        name = self._tiers()[tier][0]
        return f"{'down' if way else 'up'}link of {name} {number}"


FABRIC = FabricKind("fat-tree", FatTree)
