"""Ideal switch: every node has its full rate to every other, no queues."""

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


class IdealSwitch(FabricRecord, frozen=True, kw_only=True):
    """An electrical switch without queues: the baseline of the LUMORPH paper.

    Parameters
    ----------
    nodes
        Number of nodes.
    bits_per_second_per_node
        Rate at which a node sends, and at which it receives.
    alpha_ps
        Fixed cost of a transfer.
    switch_latency_ps
        What every step pays beside alpha.
    """

    kind: Literal["ideal-switch"] = "ideal-switch"
    nodes: Annotated[int, Meta(ge=1, le=2**20)]
    bits_per_second_per_node: Annotated[int, Meta(ge=1, le=10**18)] = 2_400_000_000_000
    alpha_ps: Annotated[int, Meta(ge=0, le=10**15)] = 700_000
    switch_latency_ps: Annotated[int, Meta(ge=0, le=10**15)] = 0

    @property
    def latency_ps(self) -> int:
        """What every step pays beside alpha."""
        return self.switch_latency_ps

    def link_usage(self, src: IntArray, dst: IntArray) -> Usage:
        """Return two links a row: the egress of src and the ingress of dst."""
        row = np.arange(len(src), dtype=np.int64)
        resource = np.concatenate([src, self.nodes + dst])
        both = np.concatenate([row, row])
        return Usage(both, resource, np.ones(len(resource), dtype=np.int64))

    def link_graph(self) -> LinkGraph:
        """Return the egress and the ingress of every node, and the switch."""
        nodes = np.arange(self.nodes, dtype=np.int64)
        switch = np.full_like(nodes, self.nodes)
        return trunks([(nodes, switch, nodes, self.nodes + nodes)], (("switch", 1),))

    def link_bits_per_s(self, links: IntArray) -> IntArray:
        """Return the rate of a node for every link."""
        return np.full(len(links), self.bits_per_second_per_node, dtype=np.int64)

    def resource_name(self, resource: int) -> str:
        """Return the link in words."""
        side = "egress" if resource < self.nodes else "ingress"
        return f"{side} of node {resource % self.nodes}"


FABRIC = FabricKind("ideal-switch", IdealSwitch)
