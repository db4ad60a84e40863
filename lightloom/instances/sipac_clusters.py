"""Named clusters of the SiPAC paper: its system and electrical ones at equal rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.instances.fabrics.packet_forwarding import BCube, TopoOpt, Torus
from lightloom.instances.fabrics.packet_tiers import FatTree, SuperPod
from lightloom.instances.fabrics.sipac import Sipac

if TYPE_CHECKING:
    from lightloom.instances.instance import AnyFabric

BITS_PER_SECOND_PER_NODE = 2_048_000_000_000
"""Rate of all links of a node together, in every cluster."""

_SIZES = {16: (4, 1, 4, 4), 64: (8, 1, 8, 8), 512: (8, 2, 16, 32)}
"""Nodes: radix and level of SiPAC and BCube, rows and columns of the torus."""


def cluster_sizes() -> tuple[int, ...]:
    """Return the numbers of nodes there are clusters of."""
    return tuple(_SIZES)


def clusters(
    nodes: int, bits_per_second_per_node: int = BITS_PER_SECOND_PER_NODE
) -> dict[str, AnyFabric]:
    """Return the clusters of a size by kind, SiPAC first.

    The servers of SuperPod have 8 GPUs, 12 times as fast inside as outside; leaves of
    the fat tree have as many nodes as a SiPAC switch, and a trunk a quarter as fast;
    TopoOpt has 4 rings.
    """
    radix, level, rows, cols = _SIZES[nodes]
    rate = bits_per_second_per_node
    return {
        "sipac": Sipac(radix=radix, level=level, bits_per_second_per_node=rate),
        "torus": Torus(rows=rows, cols=cols, bits_per_second_per_node=rate),
        "bcube": BCube(radix=radix, level=level, bits_per_second_per_node=rate),
        "superpod": SuperPod(nodes=nodes, bits_per_second_per_node=rate),
        "fat-tree": FatTree(
            nodes=nodes,
            nodes_per_leaf=radix,
            oversubscription=4,
            bits_per_second_per_node=rate,
        ),
        "topoopt": TopoOpt(nodes=nodes, degree=4, bits_per_second_per_node=rate),
    }
