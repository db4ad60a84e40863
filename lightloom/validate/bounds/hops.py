"""Hops: what cannot go straight to its destination is sent again on the way.

For all-to-all on one plane; no witness is needed. In m segments a node has circuits
to at most k others in each. What it holds reaches at most C(m + h - 1, h) k^h others
by h circuits one after another, one choice of k for each and their segments in order,
so at most N(h) = 1 + ... + C(m + h - 1, h) k^h ranks, itself included, are within h
circuits. Each of the other n - 1 ranks gets B / n bytes of its own, and each byte is
received as often as its way has circuits. So all ranks together receive at least

    n (B / n) H(m),    H(m) = sum over h >= 0 of max(0, n - N(h)),

since H counts a rank once for every h that it is farther away than. The data time of
portions is that of the busiest rank, which is no less than the average: B H(m) / (n r).
With the least number P(m) of portions that reach n ranks in m segments,

    T >= min over m of  d0 + P(m) alpha + (m - 1) d1 + B H(m) / (n r).
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

from lightloom.core.task import Collective
from lightloom.core.units import transmission_ps
from lightloom.validate.bounds.kind import BoundKind, Witness, WitnessError, no_keys
from lightloom.validate.bounds.portions import (
    can_carry,
    fixed_ps,
    least_portions,
    narrow_ports,
    require_carrier,
)
from lightloom.validate.bounds.stream import narrow

if TYPE_CHECKING:
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


def _find(fabric: AnyFabric, task: Task) -> Witness | None:
    if not isinstance(task, Collective) or task.op != "all-to-all":
        return None
    if not can_carry(fabric) or narrow_ports(fabric) is None:
        return None
    return {} if task.rank_count > 1 and task.buffer_bytes else None


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    require_carrier(fabric)
    no_keys(witness)
    ports = narrow_ports(fabric)
    if ports is None or not isinstance(task, Collective) or task.op != "all-to-all":
        message = "the kind hops is about all-to-all on one plane"
        raise WitnessError(message)
    ranks = task.rank_count
    if ranks == 1:
        return 0
    block_bytes = task.buffer_bytes // ranks
    rate = fabric.node_bits_per_s
    best: int | None = None
    for segments in range(1, -(-(ranks - 1) // ports) + 1):
        least_ps = fixed_ps(narrow(fabric), segments, segments)
        if best is not None and least_ps >= best:
            break  # and so on: a portion in each, and data besides
        portions = least_portions(ports, segments, ranks)
        sent = block_bytes * total_hops(ports, segments, ranks)
        data_ps = transmission_ps(sent, rate)
        cost_ps = fixed_ps(narrow(fabric), portions, segments) + data_ps
        best = cost_ps if best is None else min(best, cost_ps)
    assert best is not None
    return best


def total_hops(ports: int, segments: int, ranks: int) -> int:
    """Return the least sum of the circuits to all other ranks, H(m)."""
    hops, within, total = 0, 1, 0
    while within < ranks:
        total += ranks - within
        hops += 1
        within += comb(segments + hops - 1, hops) * ports**hops
    return total


BOUND = BoundKind("hops", _find, _prove)
