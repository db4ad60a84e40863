"""Hybrid-parallel training on SiPAC as a demand: models in switches, copies across."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.task import Demand

if TYPE_CHECKING:
    from lightloom.instances.fabrics.sipac import Sipac


def hybrid_parallel(fabric: Sipac, buffer_bytes: int) -> Demand:
    """Return what the nodes of a SiPAC cluster send in a step of training.

    The r nodes on a switch of level 0 share a model and do an all-to-all; nodes with
    the same port there hold the same part of it and do an all-reduce over the other
    levels, l of them, in which an l-th of the buffer begins at each. So a pair on a
    switch of level 0 asks for B / r, and one of a higher level for
    2 B / l (1/r + ... + 1/r^l), each rounded up to the byte. Every pair shares a
    switch, so nothing is forwarded.

    `buffer_bytes`: B, what a node has to exchange in each of the two collectives.
    """
    r, levels = fabric.radix, fabric.levels
    node = np.arange(fabric.node_count, dtype=np.int64)
    above = levels - 1
    powers = sum(r**power for power in range(above))
    # 1/r + ... + 1/r^l over a common denominator.
    replicas = -(-2 * buffer_bytes * powers // (above * r**above)) if above else 0
    rows: list[tuple[int, int, int]] = []
    for level in range(levels):
        size = replicas if level else -(-buffer_bytes // r)
        for further in range(1, r):
            port = node // r**level % r
            peer = node + ((port + further) % r - port) * r**level
            pairs = zip(node.tolist(), peer.tolist(), strict=True)
            rows += [(src, dst, size) for src, dst in pairs]
    return Demand.from_rows(rows)
