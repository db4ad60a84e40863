"""Servers of a few nodes on a fast switch, joined by a slower network (SiP-ML, 4.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from msgspec import Meta

from lightloom.core.fabric import Usage
from lightloom.core.link_graph import trunks
from lightloom.instances.fabrics import FabricKind
from lightloom.instances.fabrics.fabric_record import FabricRecord

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.link_graph import LinkGraph


class ElectricalCluster(FabricRecord, frozen=True, kw_only=True):
    """Servers with a switch inside and uplinks between: Elect-Cluster of the paper.

    Node i is in server ``i // nodes_per_server``; the last server may be cut short.
    All data of a node pass its own link to the switch of its server. What leaves the
    server passes an uplink as well, and so does what enters it; the network between
    uplinks is never in the way.

    Parameters
    ----------
    nodes
        Number of nodes.
    nodes_per_server
        Nodes of a server.
    bits_per_second_per_node
        Rate at which a node sends, and at which it receives.
    uplinks
        ``server``: the nodes of a server share one uplink each way; ``node``: each
        node has its own.
    bits_per_second_per_uplink
        Rate of an uplink each way.
    alpha_ps
        Fixed cost of a transfer.
    switch_latency_ps
        What every step pays beside alpha.
    """

    kind: Literal["electrical-cluster"] = "electrical-cluster"
    nodes: Annotated[int, Meta(ge=1, le=2**20)]
    nodes_per_server: Annotated[int, Meta(ge=1, le=2**20)] = 8
    bits_per_second_per_node: Annotated[int, Meta(ge=1, le=10**18)] = 2_400_000_000_000
    uplinks: Literal["server", "node"] = "server"
    bits_per_second_per_uplink: Annotated[int, Meta(ge=1, le=10**18)] = 400_000_000_000
    alpha_ps: Annotated[int, Meta(ge=0, le=10**15)] = 700_000
    switch_latency_ps: Annotated[int, Meta(ge=0, le=10**15)] = 0

    @property
    def latency_ps(self) -> int:
        """What every step pays beside alpha."""
        return self.switch_latency_ps

    @property
    def uplink_count(self) -> int:
        """Number of uplinks, each of them both ways."""
        if self.uplinks == "node":
            return self.nodes
        return -(-self.nodes // self.nodes_per_server)

    # -- links: egress, ingress of nodes, then uplinks out and in -----------------

    def link_usage(self, src: IntArray, dst: IntArray) -> Usage:
        """Return two links a row within a server, and four between servers."""
        row = np.arange(len(src), dtype=np.int64)
        far = np.flatnonzero(
            src // self.nodes_per_server != dst // self.nodes_per_server
        )
        first = 2 * self.nodes
        links = [src, self.nodes + dst]
        links.append(first + self._uplink(src[far]))
        links.append(first + self.uplink_count + self._uplink(dst[far]))
        resource = np.concatenate(links)
        crossing = np.concatenate([row, row, far, far])
        return Usage(crossing, resource, np.ones(len(resource), dtype=np.int64))

    def link_graph(self) -> LinkGraph:
        """Return nodes below servers, and uplinks to the network."""
        nodes = np.arange(self.nodes, dtype=np.int64)
        servers = -(-self.nodes // self.nodes_per_server)
        server = self.nodes + nodes // self.nodes_per_server
        both_ways = [(nodes, server, nodes, self.nodes + nodes)]
        if servers == 1:
            return trunks(both_ways, (("server", 1),))
        uplink = np.arange(self.uplink_count, dtype=np.int64)
        lower = uplink if self.uplinks == "node" else self.nodes + uplink
        out = 2 * self.nodes + uplink
        network = np.full_like(uplink, self.nodes + servers)
        both_ways.append((lower, network, out, out + self.uplink_count))
        return trunks(both_ways, (("server", servers), ("network", 1)))

    def link_bits_per_s(self, links: IntArray) -> IntArray:
        """Return the rate of a node for its links, and of an uplink for the others."""
        return np.where(
            links < 2 * self.nodes,
            np.int64(self.bits_per_second_per_node),
            np.int64(self.bits_per_second_per_uplink),
        )

    def resource_name(self, resource: int) -> str:
        """Return the link in words."""
        if resource < 2 * self.nodes:
            side = "egress" if resource < self.nodes else "ingress"
            return f"{side} of node {resource % self.nodes}"
        way, uplink = divmod(resource - 2 * self.nodes, self.uplink_count)
        return f"uplink {('out of', 'into')[way]} {self.uplinks} {uplink}"

    def _uplink(self, nodes: IntArray) -> IntArray:
        """Return the uplink of each node."""
        return nodes if self.uplinks == "node" else nodes // self.nodes_per_server


FABRIC = FabricKind("electrical-cluster", ElectricalCluster)
