"""BCube: servers with a port on a switch of every level (Guo et al., 2009)."""

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

_MOST_NODES = 2**20


class BCube(FabricRecord, frozen=True, kw_only=True):
    """Servers that forward, each joined to one packet switch of every level.

    A node's number in base `radix` has `level` + 1 digits, the digit of level 0 being
    the last. Nodes that agree in all digits but that of level k share a switch of
    level k. Packets correct one digit after another, the highest level first (the
    BCubeRouting of the paper); a node on the way takes them in on one port and sends
    them out on another.

    Parameters
    ----------
    radix
        Ports of a switch, n in the paper.
    level
        Highest level, k in the paper: ``radix ** (level + 1)`` nodes.
    bits_per_second_per_node
        Rate of all ports of a node; each has its equal share of it, rounded down to
        the bit per second.
    alpha_ps
        Fixed cost of a transfer.
    hop_latency_ps
        What a step pays for each switch of the longest way, one a level.
    """

    kind: Literal["bcube"] = "bcube"
    radix: Annotated[int, Meta(ge=2, le=_MOST_NODES)]
    level: Annotated[int, Meta(ge=0, le=19)] = 1
    bits_per_second_per_node: Annotated[int, Meta(ge=1, le=10**18)] = 2_400_000_000_000
    alpha_ps: Annotated[int, Meta(ge=0, le=10**15)] = 700_000
    hop_latency_ps: Annotated[int, Meta(ge=0, le=10**9)] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.node_count > _MOST_NODES:
            what = "too many nodes"
            allowed = f"radix ** (level + 1) <= {_MOST_NODES}"
            found = self.node_count
            raise InputError(what, where="fabric", found=found, allowed=allowed)
        if self.bits_per_second_per_port < 1:
            what = "a port has less than a bit per second"
            where = "fabric.bits_per_second_per_node"
            allowed = f"at least {self.levels}, one for each level"
            found = self.bits_per_second_per_node
            raise InputError(what, where=where, found=found, allowed=allowed)

    @property
    def levels(self) -> int:
        """Number of levels, which is the number of ports of a node."""
        return self.level + 1

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        count: int = self.radix**self.levels
        return count

    @property
    def bits_per_second_per_port(self) -> int:
        """Rate of one port."""
        return self.bits_per_second_per_node // self.levels

    @property
    def node_bits_per_s(self) -> int:
        """Rate of all ports of a node."""
        return self.levels * self.bits_per_second_per_port

    @property
    def latency_ps(self) -> int:
        """What every step pays for the switches of the longest way, beside alpha."""
        return self.hop_latency_ps * self.levels

    def link_usage(self, src: IntArray, dst: IntArray) -> Usage:
        """Return, for each digit a row corrects, an egress and an ingress port."""
        row = np.arange(len(src), dtype=np.int64)
        circuit, resource = [row[:0]], [row[:0]]
        ingress = self.node_count * self.levels
        now = src
        for level in reversed(range(self.levels)):
            stride = self.radix**level
            digits = dst // stride % self.radix - now // stride % self.radix
            after = now + digits * stride
            hops = row[after != now]
            circuit += [hops, hops]
            resource.append(now[hops] * self.levels + level)
            resource.append(ingress + after[hops] * self.levels + level)
            now = after
        links = np.concatenate(resource)
        return Usage(np.concatenate(circuit), links, np.ones(len(links), np.int64))

    def link_graph(self) -> LinkGraph:
        """Return the ports of every node, and a tier of switches for each level."""
        nodes = np.arange(self.node_count, dtype=np.int64)
        each, ingress = self.node_count // self.radix, self.node_count * self.levels
        both_ways = []
        for level in range(self.levels):
            stride = self.radix**level
            switch = nodes // (stride * self.radix) * stride + nodes % stride
            out = nodes * self.levels + level
            upper = self.node_count + level * each + switch
            both_ways.append((nodes, upper, out, ingress + out))
        tiers = tuple((f"level {level}", each) for level in range(self.levels))
        return trunks(both_ways, tiers)

    def link_bits_per_s(self, links: IntArray) -> IntArray:
        """Return the rate of a port for every link."""
        return np.full(len(links), self.bits_per_second_per_port, dtype=np.int64)

    def resource_name(self, resource: int) -> str:
        """Return the link in words."""
        ingress = self.node_count * self.levels
        side = "egress" if resource < ingress else "ingress"
        node, level = divmod(resource % ingress, self.levels)
        return f"{side} of node {node} at level {level}"


FABRIC = FabricKind("bcube", BCube)
