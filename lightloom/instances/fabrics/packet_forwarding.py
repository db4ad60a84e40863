"""Packet networks whose nodes forward: BCube, torus and the rings of TopoOpt."""

from __future__ import annotations

import functools
from math import gcd, prod
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from msgspec import Meta

from lightloom.core.errors import InputError
from lightloom.core.fabric import LinkGraph, trunks
from lightloom.instances.fabrics import FabricKind
from lightloom.instances.fabrics.fabric_record import MOST_NODES
from lightloom.instances.fabrics.packet_record import (
    ForwardingRecord,
    HopTime,
    Nodes,
    Rate,
    Time,
    crossed,
)

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import Usage

_WAYS = ("+", "-")


class BCube(ForwardingRecord, frozen=True, kw_only=True):
    """Servers with a port on one packet switch of every level (Guo et al., 2009).

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
    radix: Annotated[int, Meta(ge=2, le=MOST_NODES)]
    level: Annotated[int, Meta(ge=0, le=19)] = 1
    bits_per_second_per_node: Rate = 2_400_000_000_000
    alpha_ps: Time = 700_000
    hop_latency_ps: HopTime = 0

    @property
    def levels(self) -> int:
        """Number of levels, which is the number of ports of a node."""
        return self.level + 1

    links_per_node = longest_way = levels

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        count: int = self.radix**self.levels
        return count

    @property
    def size_in_words(self) -> str:
        """Return the number of nodes by its keys."""
        return "radix ** (level + 1)"

    @property
    def shape(self) -> tuple[int, ...]:
        """The digits of a node."""
        return (self.radix,) * self.levels

    def link_usage(self, src: IntArray, dst: IntArray) -> Usage:
        """Return, for each digit a row corrects, an egress and an ingress port."""
        row = np.arange(len(src), dtype=np.int64)
        ingress = self.node_count * self.levels
        parts, now = [], src
        for level in reversed(range(self.levels)):
            stride = self.radix**level
            digits = dst // stride % self.radix - now // stride % self.radix
            after = now + digits * stride
            hops = row[after != now]
            parts.append((hops, now[hops] * self.levels + level))
            parts.append((hops, ingress + after[hops] * self.levels + level))
            now = after
        return crossed(parts)

    def link_graph(self) -> LinkGraph:
        """Return the ports of every node, and a tier of switches for each level."""
        nodes = np.arange(self.node_count, dtype=np.int64)
        switches, ingress = self.node_count // self.radix, self.node_count * self.levels
        both_ways = []
        for level in range(self.levels):
            stride = self.radix**level
            switch = nodes // (stride * self.radix) * stride + nodes % stride
            out = nodes * self.levels + level
            upper = self.node_count + level * switches + switch
            both_ways.append((nodes, upper, out, ingress + out))
        tiers = tuple((f"level {level}", switches) for level in range(self.levels))
        return trunks(both_ways, tiers)

    def resource_name(self, resource: int) -> str:
        """Return the link in words."""
        ingress = self.node_count * self.levels
        side = "egress" if resource < ingress else "ingress"
        node, level = divmod(resource % ingress, self.levels)
        return f"{side} of node {node} at level {level}"


class Torus(ForwardingRecord, frozen=True, kw_only=True):
    """A grid of two or three dimensions that closes on itself, as TPU pods do.

    Node (layer, row, col) is number ``(layer * rows + row) * cols + col``. In each
    dimension longer than one it has a link to the next node and one to the node
    before; in a dimension of two both lead to the same neighbour. Packets cross their
    row first, then their column, then the layers, each the shorter way round. Where
    both ways are equal, they take the one of rising numbers from nodes whose number in
    that dimension is even, the other from the rest, so that both are used alike.

    Parameters
    ----------
    rows, cols, layers
        Sizes; a torus of one layer has two dimensions.
    bits_per_second_per_node
        Rate of all links that leave a node together; each has its equal share of it,
        rounded down to the bit per second.
    alpha_ps
        Fixed cost of a transfer.
    hop_latency_ps
        What a step pays for each link of the longest way there is.
    """

    kind: Literal["torus"] = "torus"
    rows: Nodes
    cols: Nodes
    layers: Nodes = 1
    bits_per_second_per_node: Rate = 2_400_000_000_000
    alpha_ps: Time = 700_000
    hop_latency_ps: HopTime = 0

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Nodes along columns of a row, rows, and layers: the order of routing."""
        return self.cols, self.rows, self.layers

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return prod(self.sizes)

    @property
    def size_in_words(self) -> str:
        """Return the number of nodes by its keys."""
        return "layers * rows * cols"

    @property
    def links_per_node(self) -> int:
        """Two in each dimension longer than one; the rate of a lone node is one's."""
        return max(1, 2 * sum(size > 1 for size in self.sizes))

    @property
    def longest_way(self) -> int:
        """Links of the longest way, half of each dimension."""
        return sum(size // 2 for size in self.sizes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Layers, rows and columns, those of one node left out."""
        return tuple(size for size in reversed(self.sizes) if size > 1)

    def link_usage(self, src: IntArray, dst: IntArray) -> Usage:
        """Return the links on the way of each row, in O(links on all ways)."""
        row = np.arange(len(src), dtype=np.int64)
        parts, now, stride = [], src, 1
        for dimension, size in enumerate(self.sizes):
            here, there = now // stride % size, dst // stride % size
            ahead = (there - here) % size
            rising = 2 * ahead < size
            rising |= (2 * ahead == size) & (here % 2 == 0)
            hops = np.where(rising, ahead, (-ahead) % size)
            crossing = np.repeat(row, hops)
            hop = np.arange(len(crossing)) - np.repeat(np.cumsum(hops) - hops, hops)
            sign = np.where(rising, 1, -1)[crossing]
            place = (here[crossing] + sign * hop) % size
            node = now[crossing] + (place - here[crossing]) * stride
            parts.append((crossing, (node * 3 + dimension) * 2 + (sign < 0)))
            now = now + (there - here) * stride
            stride *= size
        return crossed(parts)

    def link_graph(self) -> LinkGraph:
        """Return the links to the neighbours in each dimension longer than one."""
        nodes = np.arange(self.node_count, dtype=np.int64)
        link, tail, head = [nodes[:0]], [nodes[:0]], [nodes[:0]]
        stride = 1
        for dimension, size in enumerate(self.sizes):
            here = nodes // stride % size
            for way, step in enumerate((1, -1) if size > 1 else ()):
                link.append((nodes * 3 + dimension) * 2 + way)
                tail.append(nodes)
                head.append(nodes + ((here + step) % size - here) * stride)
            stride *= size
        return LinkGraph(
            np.concatenate(link), np.concatenate(tail), np.concatenate(head)
        )

    def resource_name(self, resource: int) -> str:
        """Return the link in words, by its first node and the way it goes."""
        rest, way = divmod(resource, 2)
        node, dimension = divmod(rest, 3)
        axis = ("row", "column", "layers")[dimension]
        return f"link of node {node} along its {axis}, {_WAYS[way]}"


class TopoOpt(ForwardingRecord, frozen=True, kw_only=True):
    """Directed rings, each through all nodes, on a patch panel (Wang et al., 2023).

    Ring j joins node i to node i + p_j; it visits every node because its stride p_j has
    no factor in common with their number. Strides are chosen near the powers of
    ``nodes ** (1 / degree)``, so that any node is few links away. The rings are patched
    before a job starts and stay; packets take the fewest links, forwarded by the nodes
    on their way.

    Parameters
    ----------
    nodes
        Number of nodes.
    degree
        Rings, which is links out of and into a node.
    bits_per_second_per_node
        Rate of all links that leave a node; each has its equal share, rounded down to
        the bit per second.
    alpha_ps
        Fixed cost of a transfer.
    hop_latency_ps
        What a step pays for each link of the longest way there is.
    """

    kind: Literal["topoopt"] = "topoopt"
    nodes: Annotated[int, Meta(ge=1, le=2**16)]
    degree: Annotated[int, Meta(ge=1, le=64)] = 4
    bits_per_second_per_node: Rate = 1_600_000_000_000
    alpha_ps: Time = 700_000
    hop_latency_ps: HopTime = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        rings = len(_coprime(self.nodes))
        if self.degree > rings:
            what = f"{self.nodes} nodes have {rings} different rings of equal strides"
            fix = f"give degree up to {rings}, or another number of nodes"
            found = self.degree
            raise InputError(what, where="fabric.degree", found=found, fix=fix)

    @property
    def links_per_node(self) -> int:
        """One on each ring."""
        return self.degree

    @property
    def longest_way(self) -> int:
        """Links of the longest way that there is."""
        _, hops = _last_strides(self.nodes, self.strides)
        return int(hops.max())

    @property
    def symmetry(self) -> tuple[int, ...]:
        """One ring of all nodes."""
        return (self.nodes,)

    @property
    def strides(self) -> tuple[int, ...]:
        """Strides of the rings, ascending; the first is 1."""
        return _strides(self.nodes, self.degree)

    def link_usage(self, src: IntArray, dst: IntArray) -> Usage:
        """Return the links on a shortest way of each row.

        The way depends on ``dst - src`` alone, so equal loads between all nodes load
        all links of a ring equally.
        """
        last, _ = _last_strides(self.nodes, self.strides)
        stride = np.array(self.strides, dtype=np.int64)
        row = np.arange(len(src), dtype=np.int64)
        parts = [(row[:0], row[:0])]
        offset = (dst - src) % self.nodes
        row = row[offset != 0]
        while len(row):
            # Backwards: the last link into where the rest of the way ends.
            ring = last[offset[row]]
            offset[row] -= stride[ring]
            offset %= self.nodes
            tail = (src[row] + offset[row]) % self.nodes
            parts.append((row, tail * self.degree + ring))
            row = row[offset[row] != 0]
        return crossed(parts)

    def link_graph(self) -> LinkGraph:
        """Return the links of all rings."""
        tail, ring = np.divmod(np.arange(self.nodes * self.degree), self.degree)
        head = (tail + np.array(self.strides, dtype=np.int64)[ring]) % self.nodes
        return LinkGraph(tail * self.degree + ring, tail, head)

    def resource_name(self, resource: int) -> str:
        """Return the link in words."""
        node, ring = divmod(resource, self.degree)
        after = (node + self.strides[ring]) % self.nodes
        return f"link {node}->{after}"


@functools.lru_cache(maxsize=16)
def _coprime(nodes: int) -> tuple[int, ...]:
    """Return the strides from 1 on that visit all nodes."""
    return tuple(p for p in range(1, max(2, nodes)) if gcd(p, nodes) == 1)


@functools.lru_cache(maxsize=16)
def _strides(nodes: int, degree: int) -> tuple[int, ...]:
    """Return distinct strides nearest to nodes ** (j / degree), exactly compared."""
    chosen: set[int] = set()
    for power in range(degree):
        wanted = nodes**power
        left = (p for p in _coprime(nodes) if p not in chosen)
        _, nearest = min((abs(p**degree - wanted), p) for p in left)
        chosen.add(nearest)
    return tuple(sorted(chosen))


@functools.lru_cache(maxsize=16)
def _last_strides(nodes: int, strides: tuple[int, ...]) -> tuple[IntArray, IntArray]:
    """Return, by offset, the ring of the last link of a shortest way, and its links.

    Breadth first from offset 0; among equals the ring with the least stride.
    """
    last = np.full(nodes, -1, dtype=np.int64)
    hops = np.zeros(nodes, dtype=np.int64)
    front = np.zeros(1, dtype=np.int64)
    distance = 0
    while len(front):
        distance += 1
        reached = [front[:0]]
        for ring, stride in enumerate(strides):
            ahead = (front + stride) % nodes
            fresh = np.unique(ahead[(last[ahead] < 0) & (ahead != 0)])
            last[fresh], hops[fresh] = ring, distance
            reached.append(fresh)
        front = np.concatenate(reached)
    last.setflags(write=False)
    hops.setflags(write=False)
    return last, hops


FABRIC = (
    FabricKind("bcube", BCube),
    FabricKind("torus", Torus),
    FabricKind("topoopt", TopoOpt),
)
