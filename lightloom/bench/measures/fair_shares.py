"""Replacing flows, one at a time, among many between random pairs of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.bench.measures import Measure
from lightloom.replay.workload.fair_shares import FairShares

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.instances.instance import Instance


def run(instance: Instance, seed: int, flows: int, changes: int = 200) -> Iterator[int]:
    """Share all links among flows, then replace some of these.

    Parameters
    ----------
    instance
        Names the fabric, each of whose nodes has a link up and a link down.
    seed
        What the pairs are drawn from.
    flows
        Flows at once.
    changes
        Flows that are replaced.
    """
    devices = instance.fabric.node_count
    rng = np.random.default_rng(seed)
    ends = rng.integers(devices, size=(flows, 2)).tolist()
    gone = rng.permutation(flows)[:changes].tolist()
    ends += rng.integers(devices, size=(changes, 2)).tolist()
    held = FairShares([((src, 1), (devices + dst, 1)) for src, dst in ends])
    for link in range(2 * devices):
        held.set_capacity(link, instance.fabric.node_bits_per_s)
    held.update(dict.fromkeys(range(flows), 1))
    yield flows
    moved = 0
    for fresh in range(flows, flows + changes):
        moved += len(held.update({fresh: 1, gone[fresh - flows]: 0}))
    yield moved


MEASURE = Measure(
    "fair-shares",
    "replace flows among many that share links max-min fairly",
    "flows, shares changed",
    ("share", "replace"),
    run,
)
