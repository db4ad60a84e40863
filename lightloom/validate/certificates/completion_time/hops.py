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

from lightloom.core.units import transmission_ps
from lightloom.validate.certificates.completion_time.one_plane import narrow_bound
from lightloom.validate.certificates.completion_time.step_costs import (
    fixed_ps,
    least_portions,
)

if TYPE_CHECKING:
    from lightloom.core.fabric import CircuitFabric
    from lightloom.core.task import Collective


def _serves(collective: Collective) -> bool:
    return collective.op == "all-to-all"


def _least_ps(fabric: CircuitFabric, collective: Collective) -> int:
    ports, ranks = fabric.ports_per_node, collective.rank_count
    block_bytes = collective.buffer_bytes // ranks
    rate = fabric.node_bits_per_s
    best: int | None = None
    for segments in range(1, -(-(ranks - 1) // ports) + 1):
        least_ps = fixed_ps(fabric, segments, segments)
        if best is not None and least_ps >= best:
            break  # and so on: a portion in each, and data besides
        portions = least_portions(ports, segments, ranks)
        sent = block_bytes * total_hops(ports, segments, ranks)
        data_ps = transmission_ps(sent, rate)
        cost_ps = fixed_ps(fabric, portions, segments) + data_ps
        best = cost_ps if best is None else min(best, cost_ps)
    assert best is not None
    return best


def total_hops(ports: int, segments: int, ranks: int) -> int:
    """Return the least sum of the circuits to all other ranks, H(m).

    Parameters
    ----------
    ports
        Most circuits that leave, or enter, a node of a segment; 1 or more.
    segments
        1 or more.
    ranks
        Of the all-to-all.
    """
    hops, within, total = 0, 1, 0
    while within < ranks:
        total += ranks - within
        hops += 1
        within += comb(segments + hops - 1, hops) * ports**hops
    return total


BOUND = narrow_bound("hops", "all-to-all", _serves, _least_ps)
