"""Workloads in layers, each operation hearing from some of the layer before."""

from __future__ import annotations

from lightloom.core.seed import seeded_random
from lightloom.core.task import Workload


def layered_workload(
    depth: int,
    width: int,
    devices: int,
    distance: int,
    seed: int,
    *,
    edge_percent: int = 50,
) -> Workload:
    """Return `depth` layers of `width` operations of 1 to 9 us."""
    rng = seeded_random(seed)
    ops = depth * width
    edges = [
        (before, after)
        for after in range(width, ops)
        for before in range((after // width - 1) * width, after // width * width)
        if rng.randrange(100) < edge_percent
    ]
    return Workload(
        tuple(f"op{row}" for row in range(ops)),
        tuple(rng.randint(1, 9) * 1_000_000 for _ in range(ops)),
        tuple(rng.randint(1, 4) for _ in range(ops)),
        tuple(before for before, _ in edges),
        tuple(after for _, after in edges),
        tuple(rng.randint(1, 2**20) for _ in edges),
        devices,
        distance,
    )
