"""TopoOpt: rings on an optical patch panel, nodes that forward (Wang et al., 2023)."""

from __future__ import annotations

import functools
from math import gcd
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

_MOST_NODES = 2**16


class TopoOpt(FabricRecord, frozen=True, kw_only=True):
    """A static topology of directed rings, each through all nodes.

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
    nodes: Annotated[int, Meta(ge=1, le=_MOST_NODES)]
    degree: Annotated[int, Meta(ge=1, le=64)] = 4
    bits_per_second_per_node: Annotated[int, Meta(ge=1, le=10**18)] = 1_600_000_000_000
    alpha_ps: Annotated[int, Meta(ge=0, le=10**15)] = 700_000
    hop_latency_ps: Annotated[int, Meta(ge=0, le=10**9)] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        rings = len(_coprime(self.nodes))
        if self.degree > rings:
            what = f"{self.nodes} nodes have {rings} different rings of equal strides"
            fix = f"give degree up to {rings}, or another number of nodes"
            found = self.degree
            raise InputError(what, where="fabric.degree", found=found, fix=fix)
        if self.bits_per_second_per_link < 1:
            what = "a link has less than a bit per second"
            where = "fabric.bits_per_second_per_node"
            allowed = f"at least {self.degree}, one for each ring"
            found = self.bits_per_second_per_node
            raise InputError(what, where=where, found=found, allowed=allowed)

    @property
    def bits_per_second_per_link(self) -> int:
        """Rate of one link."""
        return self.bits_per_second_per_node // self.degree

    @property
    def node_bits_per_s(self) -> int:
        """Rate of all links of a node."""
        return self.degree * self.bits_per_second_per_link

    @property
    def strides(self) -> tuple[int, ...]:
        """Strides of the rings, ascending; the first is 1."""
        return _strides(self.nodes, self.degree)

    @property
    def latency_ps(self) -> int:
        """What every step pays for the longest way, beside alpha."""
        _, hops = _last_strides(self.nodes, self.strides)
        return self.hop_latency_ps * int(hops.max())

    def link_usage(self, src: IntArray, dst: IntArray) -> Usage:
        """Return the links on a shortest way of each row.

        The way depends on ``dst - src`` alone, so equal loads between all nodes load
        all links of a ring equally.
        """
        last, _ = _last_strides(self.nodes, self.strides)
        stride = np.array(self.strides, dtype=np.int64)
        row = np.arange(len(src), dtype=np.int64)
        circuit, resource = [row[:0]], [row[:0]]
        offset = (dst - src) % self.nodes
        row = row[offset != 0]
        while len(row):
            # Backwards: the last link into where the rest of the way ends.
            ring = last[offset[row]]
            offset[row] -= stride[ring]
            offset %= self.nodes
            circuit.append(row)
            resource.append((src[row] + offset[row]) % self.nodes * self.degree + ring)
            row = row[offset[row] != 0]
        links = np.concatenate(resource)
        return Usage(np.concatenate(circuit), links, np.ones(len(links), np.int64))

    def link_graph(self) -> LinkGraph:
        """Return the links of all rings."""
        tail, ring = np.divmod(np.arange(self.nodes * self.degree), self.degree)
        head = (tail + np.array(self.strides, dtype=np.int64)[ring]) % self.nodes
        return LinkGraph(tail * self.degree + ring, tail, head)

    def link_bits_per_s(self, links: IntArray) -> IntArray:
        """Return the rate of a link for every link."""
        return np.full(len(links), self.bits_per_second_per_link, dtype=np.int64)

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


FABRIC = FabricKind("topoopt", TopoOpt)
