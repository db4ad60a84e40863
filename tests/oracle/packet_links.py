"""Packet fabrics in other words: the links that a packet crosses, one after another.

Made from the keys of a fabric's table alone, in dictionaries and digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Link = tuple[object, ...]
Way = list[tuple[Link, int]]
"""Links and their bits per second."""


@dataclass(frozen=True)
class Network:
    """A packet fabric.

    Attributes
    ----------
    nodes
        Number of nodes.
    way
        Links from one node to another.
    wait_ps
        What a switch or a hop costs.
    waits
        How many of them a way of so many links has.
    alpha_ps
        Fixed cost of a transfer.
    """

    nodes: int
    way: Callable[[int, int], Way]
    wait_ps: int
    waits: Callable[[int], int]
    alpha_ps: int

    def delay_ps(self) -> int:
        """Return what a step takes beside its bytes."""
        pairs = ((a, b) for a in range(self.nodes) for b in range(self.nodes) if a != b)
        longest = max((len(self.way(*pair)) for pair in pairs), default=0)
        return self.alpha_ps + self.wait_ps * self.waits(longest)


def network(table: dict[str, Any]) -> Network:
    """Return the packet fabric of a table."""
    return _KINDS[table["kind"]](table)


def _once(links: int) -> int:
    return int(links > 0)


def _switches(links: int) -> int:
    """Return the switches of a way, one between every two links."""
    return max(links - 1, 0)


def _switched(
    table: dict[str, Any], way: Callable[[int, int], Way], waits: Callable[[int], int]
) -> Network:
    return Network(
        table["nodes"], way, table["switch_latency_ps"], waits, table["alpha_ps"]
    )


def _ideal_switch(table: dict[str, Any]) -> Network:
    rate = table["bits_per_second_per_node"]

    def way(src: int, dst: int) -> Way:
        return [(("out", src), rate), (("in", dst), rate)]

    return _switched(table, way, _once)


def _electrical_cluster(table: dict[str, Any]) -> Network:
    def uplink(node: int) -> Link:
        if table["uplinks"] == "node":
            return ("node", node)
        return ("server", node // table["nodes_per_server"])

    def way(src: int, dst: int) -> Way:
        own, shared = (
            table["bits_per_second_per_node"],
            table["bits_per_second_per_uplink"],
        )
        found: Way = [(("out", src), own), (("in", dst), own)]
        if src // table["nodes_per_server"] != dst // table["nodes_per_server"]:
            found.insert(1, (("up", *uplink(src)), shared))
            found.insert(2, (("down", *uplink(dst)), shared))
        return found

    return _switched(table, way, _once)


def _fat_tree(table: dict[str, Any]) -> Network:
    per_leaf, leaves = table["nodes_per_leaf"], table["leaves_per_pod"]
    rate = table["bits_per_second_per_node"]
    leaf_rate = per_leaf * rate // table["oversubscription"]
    pod_rate = leaves * leaf_rate // table["pod_oversubscription"]

    def above(node: int) -> Way:
        """Return the links from a node to the core."""
        leaf = node // per_leaf
        return [
            (("node", node), rate),
            (("leaf", leaf), leaf_rate),
            (("pod", leaf // leaves), pod_rate),
        ]

    def way(src: int, dst: int) -> Way:
        up, down = above(src), above(dst)
        while up and up[-1] == down[-1]:
            up.pop()
            down.pop()
        return [(("up", *link), bits) for link, bits in up] + [
            (("down", *link), bits) for link, bits in reversed(down)
        ]

    return _switched(table, way, _switches)


def _superpod(table: dict[str, Any]) -> Network:
    whole = table["bits_per_second_per_node"]
    port_rate = whole // (table["intra_to_inter"] + 1)
    trunk_rate = table["servers_per_unit"] * port_rate // table["oversubscription"]

    def way(src: int, dst: int) -> Way:
        server, rail = divmod(src, table["gpus_per_server"])
        to_server, to_rail = divmod(dst, table["gpus_per_server"])
        if server == to_server:
            return [
                ((end, "nvlink", node), whole - port_rate)
                for end, node in (("out", src), ("in", dst))
            ]
        found: Way = [(("port out", src), port_rate), (("port in", dst), port_rate)]
        leaf = (server // table["servers_per_unit"], rail)
        to_leaf = (to_server // table["servers_per_unit"], to_rail)
        if leaf != to_leaf:
            found.insert(1, (("up", leaf), trunk_rate))
            found.insert(2, (("down", to_leaf), trunk_rate))
        return found

    return _switched(table, way, _switches)


def _bcube(table: dict[str, Any]) -> Network:
    radix, levels = table["radix"], table["level"] + 1
    rate = table["bits_per_second_per_node"] // levels

    def digits(node: int) -> list[int]:
        return [node // radix**level % radix for level in reversed(range(levels))]

    def way(src: int, dst: int) -> Way:
        here, there = digits(src), digits(dst)
        found: Way = []
        for place in range(levels):
            if here[place] != there[place]:
                found.append((("out", tuple(here), place), rate))
                here[place] = there[place]
                found.append((("in", tuple(here), place), rate))
        return found

    # A switch between the two ports of a hop; nodes on the way cost nothing.
    return Network(
        radix**levels,
        way,
        table["hop_latency_ps"],
        lambda links: links // 2,
        table["alpha_ps"],
    )


def _torus(table: dict[str, Any]) -> Network:
    sizes = [table["cols"], table["rows"], table["layers"]]
    dimensions = sum(size > 1 for size in sizes)
    rate = table["bits_per_second_per_node"] // max(1, 2 * dimensions)

    def place(node: int) -> list[int]:
        row, col = divmod(node, sizes[0])
        layer, row = divmod(row, sizes[1])
        return [col, row, layer]

    def way(src: int, dst: int) -> Way:
        here, there = place(src), place(dst)
        found: Way = []
        for axis, size in enumerate(sizes):
            up = (there[axis] - here[axis]) % size
            even = here[axis] % 2 == 0
            turn = 1 if up < size - up or (up == size - up and even) else -1
            while here[axis] != there[axis]:
                found.append((("from", tuple(here), axis, turn), rate))
                here[axis] = (here[axis] + turn) % size
        return found

    return Network(
        sizes[0] * sizes[1] * sizes[2],
        way,
        table["hop_latency_ps"],
        lambda links: links,
        table["alpha_ps"],
    )


def _topoopt(table: dict[str, Any]) -> Network:
    nodes, degree = table["nodes"], table["degree"]
    rate = table["bits_per_second_per_node"] // degree
    strides: list[int] = []
    for power in range(degree):
        free = [p for p in range(1, max(nodes, 2)) if gcd(p, nodes) == 1]
        free = [p for p in free if p not in strides]
        strides.append(min(free, key=lambda p: abs(p**degree - nodes**power)))
    far = _links_away(nodes, strides)

    def way(src: int, dst: int) -> Way:
        # From the end: over the least stride that a shortest way can end with.
        found: Way = []
        at = dst
        while at != src:
            left = far[(at - src) % nodes]
            stride = min(p for p in strides if far[(at - p - src) % nodes] == left - 1)
            at = (at - stride) % nodes
            found.append((("link", at, stride), rate))
        return found

    return Network(
        nodes, way, table["hop_latency_ps"], lambda links: links, table["alpha_ps"]
    )


def _links_away(nodes: int, strides: list[int]) -> dict[int, int]:
    """Return how many links it takes to every offset, breadth first."""
    far, queue = {0: 0}, [0]
    for offset in queue:
        for stride in strides:
            ahead = (offset + stride) % nodes
            if ahead not in far:
                far[ahead] = far[offset] + 1
                queue.append(ahead)
    return far


_KINDS: dict[str, Callable[[dict[str, Any]], Network]] = {
    "bcube": _bcube,
    "electrical-cluster": _electrical_cluster,
    "fat-tree": _fat_tree,
    "ideal-switch": _ideal_switch,
    "superpod": _superpod,
    "topoopt": _topoopt,
    "torus": _torus,
}
PACKETS = tuple(_KINDS)
"""Kinds of packet fabrics that are stated here."""
