"""Small workloads, and their shortest makespan by exhaustive search."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from lightloom.core.seed import seeded_random
from lightloom.core.task import Workload
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.instances.instance import Instance

if TYPE_CHECKING:
    from collections.abc import Iterator


def placing(workload: Workload) -> Instance:
    """Return the instance that asks for a workload to be placed."""
    return Instance(IdealSwitch(nodes=workload.devices), workload, "small")


def random_workload(
    ops: int, devices: int, distance: int, seed: int, *, most_memory: int | None = None
) -> Workload:
    """Return random operations, a third of the possible edges between them."""
    rng = seeded_random(seed)
    pairs = list(itertools.combinations(range(ops), 2))
    edges = [pair for pair in pairs if rng.random() < 1 / 3]
    return Workload(
        tuple(f"op{number}" for number in range(ops)),
        tuple(rng.choice((0, 1, 2, 3, 5)) * 1_000_000 for _ in range(ops)),
        tuple(rng.randint(1, 4) for _ in range(ops)),
        tuple(src for src, _ in edges),
        tuple(dst for _, dst in edges),
        tuple(8 for _ in edges),
        devices,
        distance,
        most_memory,
    )


def shortest_by_search(workload: Workload) -> int | None:
    """Return the least makespan over every placement and every order, if any fits.

    For each placement every order of the operations that edges allow is run, each
    operation as soon as its device and what it needs are free: some order is best.
    """
    orders = list(_orders(workload))
    best: int | None = None
    for device in itertools.product(range(workload.devices), repeat=len(workload.op)):
        if not fits(workload, device):
            continue
        for order in orders:
            end = _run(workload, device, order)
            best = end if best is None else min(best, end)
    return best


def fits(workload: Workload, device: tuple[int, ...]) -> bool:
    """Return whether a placement keeps to distance and memory."""
    for src, dst in zip(workload.src, workload.dst, strict=True):
        allowed = [
            (device[src] + hop) % workload.devices
            for hop in range(workload.distance + 1)
        ]
        if device[dst] not in allowed:
            return False
    most = workload.device_memory_bytes
    taken = [0] * workload.devices
    for place, size in zip(device, workload.memory_bytes, strict=True):
        taken[place] += size
    return most is None or max(taken) <= most


def _orders(workload: Workload) -> Iterator[tuple[int, ...]]:
    edges = list(zip(workload.src, workload.dst, strict=True))
    for order in itertools.permutations(range(len(workload.op))):
        rank = {op: place for place, op in enumerate(order)}
        if all(rank[src] < rank[dst] for src, dst in edges):
            yield order


def _run(workload: Workload, device: tuple[int, ...], order: tuple[int, ...]) -> int:
    end = [0] * len(order)
    busy = [0] * workload.devices
    edges = list(zip(workload.src, workload.dst, strict=True))
    for op in order:
        heard = [end[src] for src, dst in edges if dst == op]
        lasts = workload.duration_ps[op]
        end[op] = max([busy[device[op]] if lasts else 0, *heard]) + lasts
        if lasts:
            busy[device[op]] = end[op]
    return max(end)
