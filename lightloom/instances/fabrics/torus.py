"""Torus of two or three dimensions with dimension-ordered routing (TPU pods)."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from msgspec import Meta

from lightloom.core.errors import InputError
from lightloom.core.fabric import Usage
from lightloom.core.link_graph import LinkGraph
from lightloom.instances.fabrics import FabricKind
from lightloom.instances.fabrics.fabric_record import FabricRecord

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray

_MOST_NODES = 2**20
_WAYS = ("+", "-")


class Torus(FabricRecord, frozen=True, kw_only=True):
    """A grid that closes on itself; every node forwards what is not its own.

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
    rows: Annotated[int, Meta(ge=1, le=_MOST_NODES)]
    cols: Annotated[int, Meta(ge=1, le=_MOST_NODES)]
    layers: Annotated[int, Meta(ge=1, le=_MOST_NODES)] = 1
    bits_per_second_per_node: Annotated[int, Meta(ge=1, le=10**18)] = 2_400_000_000_000
    alpha_ps: Annotated[int, Meta(ge=0, le=10**15)] = 700_000
    hop_latency_ps: Annotated[int, Meta(ge=0, le=10**9)] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.node_count > _MOST_NODES:
            what, allowed = "too many nodes", f"layers * rows * cols <= {_MOST_NODES}"
            found = self.node_count
            raise InputError(what, where="fabric", found=found, allowed=allowed)
        if self.bits_per_second_per_link < 1:
            what = "a link has less than a bit per second"
            where = "fabric.bits_per_second_per_node"
            allowed = f"at least {self._links_per_node}, one for each link"
            found = self.bits_per_second_per_node
            raise InputError(what, where=where, found=found, allowed=allowed)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Nodes along columns of a row, rows, and layers: the order of routing."""
        return self.cols, self.rows, self.layers

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return prod(self.sizes)

    @property
    def _links_per_node(self) -> int:
        return max(1, 2 * sum(size > 1 for size in self.sizes))

    @property
    def bits_per_second_per_link(self) -> int:
        """Rate of one link."""
        return self.bits_per_second_per_node // self._links_per_node

    @property
    def node_bits_per_s(self) -> int:
        """Rate of all links of a node."""
        return self._links_per_node * self.bits_per_second_per_link

    @property
    def latency_ps(self) -> int:
        """What every step pays for the longest way, beside alpha."""
        return self.hop_latency_ps * sum(size // 2 for size in self.sizes)

    def link_usage(self, src: IntArray, dst: IntArray) -> Usage:
        """Return the links on the way of each row, in O(links on all ways)."""
        row = np.arange(len(src), dtype=np.int64)
        circuit, resource = [row[:0]], [row[:0]]
        now, stride = src, 1
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
            circuit.append(crossing)
            resource.append((node * 3 + dimension) * 2 + (sign < 0))
            now = now + (there - here) * stride
            stride *= size
        links = np.concatenate(resource)
        return Usage(np.concatenate(circuit), links, np.ones(len(links), np.int64))

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

    def link_bits_per_s(self, links: IntArray) -> IntArray:
        """Return the rate of a link for every link."""
        return np.full(len(links), self.bits_per_second_per_link, dtype=np.int64)

    def resource_name(self, resource: int) -> str:
        """Return the link in words, by its first node and the way it goes."""
        rest, way = divmod(resource, 2)
        node, dimension = divmod(rest, 3)
        axis = ("row", "column", "layers")[dimension]
        return f"link of node {node} along its {axis}, {_WAYS[way]}"


FABRIC = FabricKind("torus", Torus)
