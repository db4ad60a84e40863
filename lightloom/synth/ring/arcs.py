"""The arcs of circuits on a ring, in columns: which fibre, and which spans of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InfeasibleError
from lightloom.synth.demand_columns import demand_columns

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.ring import Ring


@dataclass(frozen=True, eq=False)
class RingWays:
    """Every way of every pair within reach, sorted by pair and direction.

    `pair`, `direction`, `begin`, `hops`: the ways, shape (ways,): light in `direction`
    crosses the spans ``begin`` to ``begin + hops - 1``, modulo the nodes, in that order
    or the other one. `first`: first way of each pair, shape (pairs,). `count`: ways of
    each pair, one or two.
    """

    src: IntArray
    dst: IntArray
    size_bytes: IntArray
    pair: IntArray
    direction: IntArray
    begin: IntArray
    hops: IntArray
    first: IntArray
    count: IntArray


def ring_ways(fabric: Ring, demand: Demand) -> RingWays:
    """Return the ways of the pairs of a demand.

    Raises `InputError` if the demand does not fit the ring; `InfeasibleError` if a pair
    has no way within reach, naming it.
    """
    src, dst, size_bytes = demand_columns(demand, fabric.nodes)
    forth = (dst - src) % fabric.nodes
    begin = np.stack([src, dst], axis=1)[:, : fabric.directions]
    hops = np.stack([forth, fabric.nodes - forth], axis=1)[:, : fabric.directions]
    open_ = hops <= fabric.reach
    lost = np.flatnonzero(~open_.any(axis=1))
    if len(lost):
        row = int(lost[0])
        raise InfeasibleError(
            f"node {dst[row]} is out of reach of node {src[row]}",
            where=f"demand row {row}",
            found=f"{hops[row].min()} spans",
            allowed=f"at most {fabric.reach}",
            fix="place them nearer to each other, or set `relays = true` in a demand",
        )
    pair, direction = np.nonzero(open_)
    count = open_.sum(axis=1)
    first = np.cumsum(count) - count
    return RingWays(
        src,
        dst,
        size_bytes,
        pair,
        direction,
        begin[open_],
        hops[open_],
        first,
        count,
    )


def crossings(ways: RingWays, nodes: int) -> tuple[IntArray, IntArray]:
    """Return a row for each span that each way crosses: the way, and the span."""
    way = np.repeat(np.arange(len(ways.pair)), ways.hops)
    hop = np.arange(len(way)) - np.repeat(np.cumsum(ways.hops) - ways.hops, ways.hops)
    return way, (ways.begin[way] + hop) % nodes
