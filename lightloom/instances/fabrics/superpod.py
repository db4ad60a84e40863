"""DGX SuperPod: servers with a fast switch inside, joined by a slower fat tree."""

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
_TIERS = ("NVLink", "network port", "leaf")


class SuperPod(FabricRecord, frozen=True, kw_only=True):
    """GPUs in servers with NVSwitch; each GPU has a network port of its own too.

    GPU g of server s is node ``s * gpus_per_server + g``. Inside a server GPUs talk at
    their NVLink rate without queues. Between servers a GPU uses its own network port.
    The network is rail-optimised: the ports of the GPUs with equal g in a unit of
    `servers_per_unit` servers share a leaf switch; other leaves are reached over spine
    switches, on which packets spread evenly (ECMP at its best), so that the links from
    a leaf to the spines count as one trunk each way.

    Parameters
    ----------
    nodes
        Number of GPUs; the last server and unit may be partly filled.
    gpus_per_server, servers_per_unit
        Size of a server and of a unit.
    bits_per_second_per_node
        Rate of a GPU's NVLink and network port together.
    intra_to_inter
        NVLink rate over network rate: the port has the (`intra_to_inter` + 1)-th part
        of the whole, rounded down, NVLink the rest.
    oversubscription
        Rate of a full leaf's ports over that of its trunk.
    alpha_ps
        Fixed cost of a transfer.
    switch_latency_ps
        What a step pays for each switch of the longest way: 1 or 3 of them.
    """

    kind: Literal["superpod"] = "superpod"
    nodes: Annotated[int, Meta(ge=1, le=2**20)]
    gpus_per_server: Annotated[int, Meta(ge=1, le=2**10)] = 8
    servers_per_unit: Annotated[int, Meta(ge=1, le=2**10)] = 20
    bits_per_second_per_node: Annotated[int, Meta(ge=1, le=10**18)] = 2_600_000_000_000
    intra_to_inter: Annotated[int, Meta(ge=1, le=10**6)] = 12
    oversubscription: Annotated[int, Meta(ge=1, le=10**6)] = 1
    alpha_ps: Annotated[int, Meta(ge=0, le=10**15)] = 700_000
    switch_latency_ps: Annotated[int, Meta(ge=0, le=10**9)] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        least = min(self.network_bits_per_s, self.leaf_bits_per_s)
        if not (least >= 1 and self.leaf_bits_per_s <= _MOST_BITS_PER_S):
            what = "a network port or a trunk is too slow or too fast"
            allowed = f"1 to {_MOST_BITS_PER_S} bits per second"
            found = {"port": self.network_bits_per_s, "trunk": self.leaf_bits_per_s}
            raise InputError(what, where="fabric", found=found, allowed=allowed)

    @property
    def node_count(self) -> int:
        """Number of GPUs."""
        return self.nodes

    @property
    def network_bits_per_s(self) -> int:
        """Rate of a GPU's network port."""
        return self.bits_per_second_per_node // (self.intra_to_inter + 1)

    @property
    def nvlink_bits_per_s(self) -> int:
        """Rate of a GPU inside its server."""
        return self.bits_per_second_per_node - self.network_bits_per_s

    @property
    def leaf_bits_per_s(self) -> int:
        """Rate of the trunk of a leaf, each way."""
        return self.servers_per_unit * self.network_bits_per_s // self.oversubscription

    @property
    def latency_ps(self) -> int:
        """What every step pays for the switches of the longest way, beside alpha."""
        one_server = self.nodes <= self.gpus_per_server
        one_leaf = self.gpus_per_server == 1 and self.nodes <= self.servers_per_unit
        return self.switch_latency_ps * (1 if one_server or one_leaf else 3)

    def leaf(self, node: IntArray) -> IntArray:
        """Return the leaf switch of nodes: unit by unit, a leaf for each rail."""
        server, rail = node // self.gpus_per_server, node % self.gpus_per_server
        return server // self.servers_per_unit * self.gpus_per_server + rail

    # -- links: NVLink, network ports, leaf trunks, each out and then in ----------

    def link_usage(self, src: IntArray, dst: IntArray) -> Usage:
        """Return NVLink ends inside a server; ports and trunks between servers."""
        row = np.arange(len(src), dtype=np.int64)
        outside = src // self.gpus_per_server != dst // self.gpus_per_server
        first_leaf, last_leaf = self.leaf(src), self.leaf(dst)
        ends = (
            (row[~outside], src, dst),
            (row[outside], src, dst),
            (row[outside & (first_leaf != last_leaf)], first_leaf, last_leaf),
        )
        circuit, resource = [], []
        # A leaf has at least one node, but the numbers of leaves may skip.
        span = self._span
        for tier, (rows, tail, head) in enumerate(ends):
            circuit += [rows, rows]
            resource.append(2 * tier * span + tail[rows])
            resource.append((2 * tier + 1) * span + head[rows])
        links = np.concatenate(resource)
        return Usage(np.concatenate(circuit), links, np.ones(len(links), np.int64))

    def link_graph(self) -> LinkGraph:
        """Return NVLink below, and network ports, leaves and spines above the nodes."""
        nodes, span = np.arange(self.nodes, dtype=np.int64), self._span
        servers = -(-self.nodes // self.gpus_per_server)
        inside = self.nodes + nodes // self.gpus_per_server
        both_ways = [(nodes, inside, nodes, span + nodes)]
        if servers == 1:
            return trunks(both_ways, (("NVLink", 1),))
        leaf, first = self.leaf(nodes), self.nodes + servers
        leaves = int(leaf.max()) + 1
        both_ways.append((nodes, first + leaf, 2 * span + nodes, 3 * span + nodes))
        every = np.unique(leaf)
        spines = np.full_like(every, first + leaves)
        both_ways.append((first + every, spines, 4 * span + every, 5 * span + every))
        tiers = (("NVLink", servers), ("leaf", leaves), ("spines", 1))
        return trunks(both_ways, tiers)

    @property
    def _span(self) -> int:
        """More than any number of a node or a leaf."""
        return self.nodes + self.gpus_per_server

    def link_bits_per_s(self, links: IntArray) -> IntArray:
        """Return the rate of each link."""
        rates = np.array(
            [self.nvlink_bits_per_s, self.network_bits_per_s, self.leaf_bits_per_s],
            dtype=np.int64,
        )
        return rates[links // (2 * self._span)]

    def resource_name(self, resource: int) -> str:
        """Return the link in words."""
        side, number = divmod(resource, self._span)
        tier, way = divmod(side, 2)
        if tier == len(_TIERS) - 1:
            unit, rail = divmod(number, self.gpus_per_server)
            return f"{'down' if way else 'up'}links of leaf {rail} of unit {unit}"
        return f"{_TIERS[tier]} of node {number}, {'in' if way else 'out'}"


FABRIC = FabricKind("superpod", SuperPod)
