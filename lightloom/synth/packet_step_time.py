"""How long a step lasts on a fabric without circuits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.units import transmission_ps

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import PacketFabric
    from lightloom.synth.traffic import TrafficRound


_DENSE = 16
"""Numbers of links for each loaded one up to which a table of all is kept."""


def nodes_step_ps(fabric: PacketFabric, round_: TrafficRound) -> int:
    """Return the least that a step lasts by what each node sends and receives."""
    busiest = 0
    for ends in (round_.transfers.src, round_.transfers.dst):
        moved = np.zeros(fabric.node_count, dtype=np.int64)
        np.add.at(moved, ends, round_.size_bytes)
        busiest = max(busiest, int(moved.max()))
    return (
        fabric.alpha_ps
        + fabric.latency_ps
        + transmission_ps(busiest, fabric.node_bits_per_s)
    )


def links_step_ps(fabric: PacketFabric, round_: TrafficRound) -> int:
    """Return how long a step lasts on a fabric without circuits."""
    usage = fabric.link_usage(round_.transfers.src, round_.transfers.dst)
    links, moved = _loads(usage.resource, round_.size_bytes[usage.circuit])
    rates, kind = np.unique(fabric.link_bits_per_s(links), return_inverse=True)
    most = np.zeros(len(rates), dtype=np.int64)
    np.maximum.at(most, kind, moved)
    slowest = max(map(transmission_ps, most.tolist(), rates.tolist()))
    return fabric.alpha_ps + fabric.latency_ps + slowest


def _loads(resource: IntArray, size_bytes: IntArray) -> tuple[IntArray, IntArray]:
    """Return the links that appear in a column, and the bytes that each carries."""
    span = int(resource.max()) + 1
    if span > _DENSE * len(resource):
        links, place = np.unique(resource, return_inverse=True)
        moved = np.zeros(len(links), dtype=np.int64)
        np.add.at(moved, place, size_bytes)
        return links, moved
    # A table of all numbers up to the last is faster than a sort where it is short.
    table = np.zeros(span, dtype=np.int64)
    used = np.zeros(span, dtype=np.bool_)
    np.add.at(table, resource, size_bytes)
    used[resource] = True
    links = np.flatnonzero(used)
    return links, table[links]
