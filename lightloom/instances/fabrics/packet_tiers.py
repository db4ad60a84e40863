"""Packet switches in tiers: ideal switch, clusters of servers, fat tree, SuperPod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from lightloom.core.errors import InputError
from lightloom.instances.fabrics import FabricKind
from lightloom.instances.fabrics.packet_record import (
    HopTime,
    Nodes,
    Rate,
    Ratio,
    Tier,
    TieredRecord,
    Time,
    itself,
    of_size,
)

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray

_MOST_BITS_PER_S = 9 * 10**18
"""Of a trunk, so that rates are numbers of 64 bits."""

_TO_NODES = ("egress of node {}", "ingress of node {}")
_ALL = of_size(2**62)


class IdealSwitch(TieredRecord, frozen=True, kw_only=True):
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
    nodes: Nodes
    bits_per_second_per_node: Rate = 2_400_000_000_000
    alpha_ps: Time = 700_000
    switch_latency_ps: Time = 0

    @property
    def latency_ps(self) -> int:
        """What every step pays beside alpha."""
        return self.switch_latency_ps

    @property
    def symmetry(self) -> tuple[int, ...]:
        """All nodes: each can stand for any other."""
        return (self.nodes,)

    def tiers(self) -> tuple[Tier, ...]:
        """Return the links of nodes to the switch."""
        rate = self.bits_per_second_per_node
        return (Tier(itself, _ALL, self.nodes, rate, _TO_NODES, "switch"),)


class ElectricalCluster(TieredRecord, frozen=True, kw_only=True):
    """Servers with a switch inside and uplinks between: Elect-Cluster of SiP-ML, 4.1.

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
    nodes: Nodes
    nodes_per_server: Nodes = 8
    bits_per_second_per_node: Rate = 2_400_000_000_000
    uplinks: Literal["server", "node"] = "server"
    bits_per_second_per_uplink: Rate = 400_000_000_000
    alpha_ps: Time = 700_000
    switch_latency_ps: Time = 0

    @property
    def latency_ps(self) -> int:
        """What every step pays beside alpha."""
        return self.switch_latency_ps

    def tiers(self) -> tuple[Tier, ...]:
        """Return the links of nodes to servers, and uplinks."""
        server = of_size(self.nodes_per_server)
        of_nodes = self.uplinks == "node"
        ways = (f"uplink {way} {self.uplinks} {{}}" for way in ("out of", "into"))
        rate = self.bits_per_second_per_node
        return (
            Tier(itself, server, self.nodes, rate, _TO_NODES, "server"),
            Tier(
                itself if of_nodes else server,
                _ALL,
                self.nodes if of_nodes else -(-self.nodes // self.nodes_per_server),
                self.bits_per_second_per_uplink,
                (next(ways), next(ways)),
                "network",
                on_nodes=of_nodes,
            ),
        )


class FatTree(TieredRecord, frozen=True, kw_only=True):
    """Leaves, pods and a core, with oversubscription.

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
    nodes: Nodes
    nodes_per_leaf: Annotated[int, Meta(ge=1, le=2**12)] = 16
    leaves_per_pod: Annotated[int, Meta(ge=1, le=2**12)] = 16
    oversubscription: Ratio = 1
    pod_oversubscription: Ratio = 1
    bits_per_second_per_node: Rate = 2_400_000_000_000
    alpha_ps: Time = 700_000
    switch_latency_ps: HopTime = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        trunks = {"leaf": self.leaf_bits_per_s, "pod": self.pod_bits_per_s}
        _check_rates("a trunk is too slow or too fast", trunks)

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

    @property
    def shape(self) -> tuple[int, ...]:
        """Leaves and their nodes, where all leaves are full."""
        return _full(self.nodes, self.nodes_per_leaf)

    @property
    def symmetry(self) -> tuple[int, ...]:
        """Leaves and their nodes, where they are also in one pod."""
        pod = self.nodes_per_leaf * self.leaves_per_pod
        return self.shape if self.nodes <= pod else ()

    def tiers(self) -> tuple[Tier, ...]:
        """Return the links of nodes, leaves and pods."""
        leaf, pod = (
            of_size(self.nodes_per_leaf),
            of_size(self.nodes_per_leaf * self.leaves_per_pod),
        )
        node, trunk, core = (
            (f"uplink of {end} {{}}", f"downlink of {end} {{}}")
            for end in ("node", "leaf", "pod")
        )
        return (
            Tier(itself, leaf, self.nodes, self.node_bits_per_s, node, "leaf"),
            Tier(leaf, pod, self.nodes, self.leaf_bits_per_s, trunk, "pod"),
            Tier(pod, _ALL, self.nodes, self.pod_bits_per_s, core, "core"),
        )


class SuperPod(TieredRecord, frozen=True, kw_only=True):
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
    nodes: Nodes
    gpus_per_server: Annotated[int, Meta(ge=1, le=2**10)] = 8
    servers_per_unit: Annotated[int, Meta(ge=1, le=2**10)] = 20
    bits_per_second_per_node: Rate = 2_600_000_000_000
    intra_to_inter: Ratio = 12
    oversubscription: Ratio = 1
    alpha_ps: Time = 700_000
    switch_latency_ps: HopTime = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        rates = {"port": self.network_bits_per_s, "trunk": self.leaf_bits_per_s}
        _check_rates("a network port or a trunk is too slow or too fast", rates)

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

    @property
    def shape(self) -> tuple[int, ...]:
        """Servers and their GPUs, where all servers are full."""
        return _full(self.nodes, self.gpus_per_server)

    def leaf(self, node: IntArray) -> IntArray:
        """Return the leaf switch of nodes: unit by unit, a leaf for each rail."""
        server, rail = node // self.gpus_per_server, node % self.gpus_per_server
        return server // self.servers_per_unit * self.gpus_per_server + rail

    def tiers(self) -> tuple[Tier, ...]:
        """Return NVLink inside servers; network ports and the trunks of leaves."""
        # A leaf has at least one node, but the numbers of leaves may skip.
        span = self.nodes + self.gpus_per_server
        nvlink, port = (
            (f"{end} of node {{}}, out", f"{end} of node {{}}, in")
            for end in ("NVLink", "network port")
        )
        trunk = ("uplinks of leaf {}", "downlinks of leaf {}")
        server = of_size(self.gpus_per_server)
        inner, outer = self.nvlink_bits_per_s, self.network_bits_per_s
        return (
            Tier(itself, server, span, inner, nvlink, "NVLink", inside=True),
            Tier(itself, self.leaf, span, outer, port, "leaf", on_nodes=True),
            Tier(self.leaf, _ALL, span, self.leaf_bits_per_s, trunk, "spines"),
        )

    def resource_name(self, resource: int) -> str:
        """Return the link in words; leaves are counted unit by unit."""
        words, number = super().resource_name(resource).rsplit(" ", 1)
        if not words.endswith("of leaf"):
            return f"{words} {number}"
        unit, rail = divmod(int(number), self.gpus_per_server)
        return f"{words} {rail} of unit {unit}"


def _check_rates(what: str, rates: dict[str, int]) -> None:
    """Raise unless all rates are at least a bit per second and at most the most."""
    if not (min(rates.values()) >= 1 and max(rates.values()) <= _MOST_BITS_PER_S):
        allowed = f"1 to {_MOST_BITS_PER_S} bits per second"
        raise InputError(what, where="fabric", found=rates, allowed=allowed)


def _full(nodes: int, size: int) -> tuple[int, ...]:
    """Return groups of `size` nodes as a box, where there are several, all full."""
    groups, rest = divmod(nodes, size)
    return (groups, size) if not rest and groups > 1 and size > 1 else ()


FABRIC = (
    FabricKind("ideal-switch", IdealSwitch),
    FabricKind("electrical-cluster", ElectricalCluster),
    FabricKind("fat-tree", FatTree),
    FabricKind("superpod", SuperPod),
)
