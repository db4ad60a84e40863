"""What the records of packet fabrics share: links in tiers, or between neighbours."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
from msgspec import Meta

from lightloom.core.errors import InputError
from lightloom.core.fabric import Usage, trunks
from lightloom.instances.fabrics.fabric_record import MOST_NODES, FabricRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import Fabric, LinkGraph


Nodes: TypeAlias = Annotated[int, Meta(ge=1, le=MOST_NODES)]
Rate: TypeAlias = Annotated[int, Meta(ge=1, le=10**18)]
Time: TypeAlias = Annotated[int, Meta(ge=0, le=10**15)]
HopTime: TypeAlias = Annotated[int, Meta(ge=0, le=10**9)]
Ratio: TypeAlias = Annotated[int, Meta(ge=1, le=10**6)]


class PacketRecord(FabricRecord, frozen=True):
    """A fabric without circuits: its nodes in a box, where its links suggest one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The box that the nodes form, the last digit fastest; empty for none."""
        return ()

    @property
    def symmetry(self) -> tuple[int, ...]:
        """The box whose translations leave all links as they are; empty for none."""
        return self.shape


def crossed(parts: Sequence[tuple[IntArray, IntArray]]) -> Usage:
    """Return the links that rows cross, each once, from (rows, links) of equal length.

    `parts`: at least one, in the order that is wanted.
    """
    rows, links = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Usage(rows, links, np.ones(len(links), np.int64))


# -- switches in tiers ---------------------------------------------------------------


class Tier(NamedTuple):
    """Links up from nodes, or from switches of a tier below, and as many down again.

    `below`: number of the lower end of the link above each node; all nodes of a switch
    have the same. `switch`: number of the switch at the upper end. `span`: more than
    any number of a lower end. `names`: of a link up and of one down, with a place for
    the number of its lower end. `above`: what its switches are called. `on_nodes`:
    whether its lower ends are nodes, beside the tier before, not above it. `inside`:
    whether only what goes no higher crosses it.
    """

    below: Callable[[IntArray], IntArray]
    switch: Callable[[IntArray], IntArray]
    span: int
    bits_per_s: int
    names: tuple[str, str]
    above: str
    on_nodes: bool = False
    inside: bool = False


def itself(node: IntArray) -> IntArray:
    """Return the nodes, each the lower end of a link of its own."""
    return node


def of_size(size: int) -> Callable[[IntArray], IntArray]:
    """Return what tells the group of each node, `size` consecutive ones in each."""
    return lambda node: node // size


class TieredRecord(PacketRecord, frozen=True):
    """Packet switches in tiers: packets go up as far as they must, then down.

    Data of two nodes cross the links of the lowest tier, and those of a higher tier
    unless a switch below has both. Links are numbered tier by tier, those up by their
    lower ends, then those down.
    """

    @abstractmethod
    def tiers(self) -> tuple[Tier, ...]:
        """Return the tiers, the lowest first."""

    def link_usage(self, src: IntArray, dst: IntArray) -> Usage:
        """Return the links up from src and down to dst, below where they meet."""
        tiers = self.tiers()
        row, first = np.arange(len(src), dtype=np.int64), 0
        parts = []
        for tier in tiers:
            here = row
            row = row[tier.switch(src[row]) != tier.switch(dst[row])]
            if tier.inside:
                here = np.setdiff1d(here, row, assume_unique=True)
            parts.append((here, first + tier.below(src[here])))
            parts.append((here, first + tier.span + tier.below(dst[here])))
            first += 2 * tier.span
        return crossed(parts)

    def link_graph(self) -> LinkGraph:
        """Return the links between tiers, as far up as there are several switches."""
        count = cast("Fabric", self).node_count
        nodes = np.arange(count, dtype=np.int64)
        both_ways, named = [], []
        lower, vertices, first = nodes, count, 0
        for tier in self.tiers():
            ends, at = np.unique(tier.below(nodes), return_index=True)
            switch = tier.switch(nodes)
            upper = vertices + switch
            begins = nodes if tier.on_nodes else lower
            up = first + ends
            both_ways.append((begins[at], upper[at], up, up + tier.span))
            switches = int(switch.max()) + 1
            named.append((tier.above, switches))
            if switches == 1:
                break
            lower, vertices = upper, vertices + switches
            first += 2 * tier.span
        return trunks(both_ways, tuple(named))

    def _place(self, links: IntArray) -> tuple[IntArray, IntArray]:
        """Return the tier of each link, and its number among those of the tier."""
        firsts = np.cumsum([0, *(2 * tier.span for tier in self.tiers())])
        tier = np.searchsorted(firsts, links, side="right") - 1
        return tier, links - firsts[tier]

    def link_bits_per_s(self, links: IntArray) -> IntArray:
        """Return the rate of each link."""
        rates = [tier.bits_per_s for tier in self.tiers()]
        return np.array(rates, dtype=np.int64)[self._place(links)[0]]

    def resource_name(self, resource: int) -> str:
        """Return the link in words."""
        which, number = (int(one[0]) for one in self._place(np.array([resource])))
        tier = self.tiers()[which]
        down, end = divmod(number, tier.span)
        return tier.names[down].format(end)


# -- nodes that forward --------------------------------------------------------------


class _Linked(Protocol):
    @property
    def node_count(self) -> int: ...

    @property
    def size_in_words(self) -> str: ...

    @property
    def links_per_node(self) -> int: ...

    @property
    def longest_way(self) -> int: ...

    @property
    def bits_per_second_per_node(self) -> int: ...

    @property
    def bits_per_second_per_link(self) -> int: ...

    @property
    def hop_latency_ps(self) -> int: ...


class ForwardingRecord(PacketRecord, frozen=True):
    """Nodes that forward: their rate is divided equally among the links of each."""

    def __post_init__(self) -> None:
        super().__post_init__()
        record = cast("_Linked", self)
        if record.node_count > MOST_NODES:
            raise InputError(
                "too many nodes",
                where="fabric",
                found=record.node_count,
                allowed=f"{record.size_in_words} <= {MOST_NODES}",
            )
        if record.bits_per_second_per_link < 1:
            raise InputError(
                "a link has less than a bit per second",
                where="fabric.bits_per_second_per_node",
                found=record.bits_per_second_per_node,
                allowed=f"at least {record.links_per_node}, one for each link",
            )

    @property
    def size_in_words(self) -> str:
        """The number of nodes, as the keys of the fabric give it."""
        return "nodes"

    @property
    def bits_per_second_per_link(self: _Linked) -> int:
        """Rate of one link, rounded down."""
        return self.bits_per_second_per_node // self.links_per_node

    @property
    def node_bits_per_s(self: _Linked) -> int:
        """Rate of all links of a node."""
        return self.links_per_node * self.bits_per_second_per_link

    @property
    def latency_ps(self: _Linked) -> int:
        """What every step pays for the longest way, beside alpha."""
        return self.hop_latency_ps * self.longest_way

    def link_bits_per_s(self: _Linked, links: IntArray) -> IntArray:
        """Return the rate of a link for every link."""
        return np.full(len(links), self.bits_per_second_per_link, dtype=np.int64)
