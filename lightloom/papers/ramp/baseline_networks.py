"""The networks that RAMP is compared with, as estimates see them: tiers of nodes.

RAMP paper, section 7.5. What it leaves open is decided here and listed in
``docs/spec/estimates.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from lightloom.core.errors import InputError

Forwarding: TypeAlias = Literal["none", "one-way", "both-ways"]

IO_PS = 100_000
"""Between memory and transceiver, at each end of every step."""

_GBIT = 10**9
_NS = 1_000


@dataclass(frozen=True)
class Tier:
    """Nodes, or groups of nodes of the tier below, that have something in common.

    Each node sends to another member at `bits_per_s` when all do; `head_to_head_ps` is
    what a step between members takes before its last bit sets out.
    """

    members: int
    bits_per_s: int
    head_to_head_ps: int


@dataclass(frozen=True)
class TieredNetwork:
    """Tiers of nodes, the innermost first: of a tree of switches, or a torus.

    Without `forwarding` switches join any two members of a tier; otherwise they stand
    in a ring whose nodes forward. `apart`: tiers have links of their own, so that all
    can work at once.
    """

    name: str
    tiers: tuple[Tier, ...]
    forwarding: Forwarding = "none"
    apart: bool = False

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        count = 1
        for tier in self.tiers:
            count *= tier.members
        return count

    def part(self, nodes: int) -> TieredNetwork:
        """Return the network of the first nodes: inner tiers are filled first."""
        left, tiers = nodes, []
        for tier in self.tiers:
            members = min(left, tier.members)
            if members < 1 or left % members:
                what = f"tiers of {[one.members for one in self.tiers]} do not fit"
                raise InputError(what, where="nodes", found=nodes)
            left //= members
            tiers.append(Tier(members, tier.bits_per_s, tier.head_to_head_ps))
        if left > 1:
            what, allowed = "more nodes than there are", f"1 to {self.nodes}"
            raise InputError(what, where="nodes", found=nodes, allowed=allowed)
        used = tuple(tier for tier in tiers if tier.members > 1)
        return TieredNetwork(self.name, used, self.forwarding, self.apart)


def apart(network: TieredNetwork, inner: int, nodes: int) -> TieredNetwork:
    """Return the network of so many nodes that stand `inner` places apart."""
    left, tiers = inner, []
    for tier in network.tiers:
        taken = min(left, tier.members)
        left //= taken
        rest = tier.members // taken
        tiers.append(Tier(rest, tier.bits_per_s, tier.head_to_head_ps))
    return replace(network, tiers=tuple(tiers)).part(nodes)


def fat_tree(inside_bits_per_s: int, outside_bits_per_s: int) -> TieredNetwork:
    """Return 65,536 GPUs of a SuperPod scaled to four tiers.

    Servers of 8, then 16 servers, 16 of these units and 32 of those pods: the powers
    of two that fit switches of 40 ports, 20 of them down. Between servers a GPU sends
    through its own port; trunks never slow it down. A path crosses NVSwitch (100 ns),
    or 1, 3 or 5 switches of 350 ns; propagation adds up from 10, 50 and 1250 ns.
    """
    inner = 2 * IO_PS + 120 * _NS
    leaf = 2 * IO_PS + (350 + 10) * _NS
    spine = 2 * IO_PS + (3 * 350 + 60) * _NS
    core = 2 * IO_PS + (5 * 350 + 1310) * _NS
    return TieredNetwork(
        "fat-tree",
        (
            Tier(8, inside_bits_per_s, inner),
            Tier(16, outside_bits_per_s, leaf),
            Tier(16, outside_bits_per_s, spine),
            Tier(32, outside_bits_per_s, core),
        ),
    )


def torus(bits_per_s: int) -> TieredNetwork:
    """Return a torus of 128 x 512 nodes, a quarter of `bits_per_s` for each link.

    The rate of a tier is that of its two links. Propagation is the printed worst case
    of each dimension, and nodes have no switch.
    """
    both_ways = bits_per_s // 2
    return TieredNetwork(
        "2d-torus",
        (
            Tier(128, both_ways, 2 * IO_PS + 156 * _NS),
            Tier(512, both_ways, 2 * IO_PS + 520 * _NS),
        ),
        forwarding="both-ways",
        apart=True,
    )


def topoopt(bits_per_s: int) -> TieredNetwork:
    """Return 65,536 nodes in one ring of patched circuits, all links of a node in it.

    The circuits are there before the collective, and never change.
    """
    tier = Tier(2**16, bits_per_s, 2 * IO_PS + 260 * _NS)
    return TieredNetwork("topoopt", (tier,), forwarding="one-way")


def matched(bits_per_s: int) -> tuple[TieredNetwork, ...]:
    """Return the three at one rate of a node, without oversubscription."""
    return fat_tree(bits_per_s, bits_per_s), torus(bits_per_s), topoopt(bits_per_s)


def as_published() -> tuple[TieredNetwork, ...]:
    """Return the three at the rates of their papers.

    2.4 Tb/s in a server and 200 Gb/s out of it; 2.4 Tb/s; 1.6 Tb/s.
    """
    return (
        fat_tree(2400 * _GBIT, 200 * _GBIT),
        torus(2400 * _GBIT),
        topoopt(1600 * _GBIT),
    )
