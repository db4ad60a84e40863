"""Lanes in as many layers as switches need to hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.plans.edge_colouring import edge_colours
from lightloom.synth.traffic import TrafficRound, lane_traffic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.synth.traffic import Lane, LaneTraffic


def switch_traffic(rounds: Sequence[TrafficRound], switches: int) -> LaneTraffic:
    """Return rounds as lanes, on circuits that never change where these suffice.

    Where all pairs of all rounds together can be coloured with as many colours as
    there are switches (König), they are: a colour is a lane. Else, or where ports of
    the plan are such lanes already, the ports are the lanes.
    """
    traffic = lane_traffic(rounds)
    if len(traffic.lanes) <= switches or len(rounds) <= 1:
        return traffic
    src, dst = (
        np.concatenate(columns)
        for columns in zip(
            *((one.transfers.src, one.transfers.dst) for one in rounds), strict=True
        )
    )
    width = 1 + int(max(src.max(), dst.max()))
    pairs, where = np.unique(src * width + dst, return_inverse=True)
    ends = (pairs // width, pairs % width)
    if max(int(np.bincount(end).max()) for end in ends) > switches:
        return traffic
    port = edge_colours(*ends)[where.reshape(-1)]
    starts = np.cumsum([len(one.port) for one in rounds])[:-1]
    return lane_traffic(
        [
            TrafficRound(one.transfers, one.size_bytes, mine)
            for one, mine in zip(rounds, np.split(port, starts), strict=True)
        ]
    )


def layers_of(lane: Lane, *, bidirectional: bool) -> IntArray:
    """Return which layer each pair of a lane is in, from 0 without gaps.

    A switch whose circuits lead one way holds any lane. One that joins ports both
    ways holds a matching: seen so, a lane is made of paths and cycles, whose pairs
    are in layers 0 and 1 in turn; the last pair of a cycle of odd length is in
    layer 2.
    """
    layer = np.zeros(len(lane.src), dtype=np.int64)
    if not bidirectional:
        return layer
    row_of = {node: row for row, node in enumerate(lane.src.tolist())}
    into = set(lane.dst.tolist())
    dst = lane.dst.tolist()
    # Paths begin where nothing enters; what is left are cycles.
    starts = sorted(row_of, key=lambda node: (node in into, node))
    left = set(row_of)
    for start in starts:
        walk: list[int] = []
        node = start
        while node in left:
            left.remove(node)
            walk.append(row_of[node])
            node = dst[row_of[node]]
        closed = bool(walk) and node == start
        if closed and len(walk) <= 2:
            continue
        layer[walk] = np.arange(len(walk)) % 2
        if closed and len(walk) % 2:
            layer[walk[-1]] = 2
    return layer
