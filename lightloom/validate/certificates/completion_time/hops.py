"""Hops: what cannot go straight to its destination is sent again on the way.

For all-to-all on one plane; no witness is needed. Consider P portions in m segments.
In a segment, and so in a portion, a node hears from at most k others. The circuits by
which a byte gets to its destination, one after another, are in different portions, and
in segments in their order. So at most min(C(P, h), C(m + h - 1, h)) k^h others are h
circuits from a destination, one choice of k for each, and at most

    N(h) = 1 + ... + min(C(P, h), C(m + h - 1, h)) k^h

ranks, itself included, are within h. Each of the other n - 1 ranks has B / n bytes for
it, and each byte is received as often as its way has circuits, by one rank each time,
whoever else may hear the same circuit. So all ranks together receive at least

    n (B / n) H(P, m),    H(P, m) = sum over h >= 0 of max(0, n - N(h)),

since H counts a rank once for every h that it is farther away than. The data time of
portions is that of the rank that receives most, no less than the average. So

    T >= min over m <= P that reach n of  d0 + P alpha + (m - 1) d1 + B H(P, m) / (n r).

A circuit with several destinations changes nothing in this.
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

    def time_ps(portions: int, segments: int) -> int:
        """Return the least time where that many segments are used, or more."""
        received = block_bytes * total_hops(ports, portions, segments, ranks)
        return fixed_ps(fabric, portions, 1) + transmission_ps(received, rate)

    best: int | None = None
    # With more segments all are one circuit away; more portions do not shorten ways.
    most = -(-(ranks - 1) // ports)
    for portions in range(1, most + ranks):
        if best is not None and fixed_ps(fabric, portions, 1) >= best:
            break
        if best is not None and time_ps(portions, portions) >= best:
            continue  # and no fewer segments are better
        for segments in range(1, min(portions, most) + 1):
            between_ps = fixed_ps(fabric, portions, segments)
            if best is not None and between_ps >= best:
                break
            if least_portions(ports, segments, ranks) <= portions:
                less_ps = between_ps - fixed_ps(fabric, portions, 1)
                cost_ps = less_ps + time_ps(portions, segments)
                best = cost_ps if best is None else min(best, cost_ps)
    assert best is not None
    return best


def total_hops(ports: int, portions: int, segments: int, ranks: int) -> int:
    """Return the least sum of the circuits from all other ranks, H(P, m).

    `ports`: most circuits that enter a node of a segment; 1 or more. `portions`,
    `segments`: 1 or more, and segments at most as many as portions.
    """
    hops, within, total = 0, 1, 0
    while within < ranks:
        total += ranks - within
        hops += 1
        orders = min(comb(portions, hops), comb(segments + hops - 1, hops))
        if not orders:
            break
        within += orders * ports**hops
    return total


BOUND = narrow_bound("hops", "all-to-all", _serves, _least_ps, heard=_serves)
