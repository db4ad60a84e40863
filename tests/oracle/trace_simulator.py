"""Runs Chakra traces by the rules of the format: nodes, wires, ticks.

A node starts when those it depends on have ended. A compute node lasts its duration,
one tick at least. A message waits until its wire is free, crosses it in size over
bandwidth, and arrives after the latency; its send ends then, and the receive of the
same (source, destination, tag, size) too, once that has started itself.
"""

from __future__ import annotations

import heapq
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lightloom.formats.chakra import TraceNode

COMPUTE, SEND, RECEIVE = 4, 5, 6
Key = tuple[object, ...]


def node_times(
    traces: list[list[TraceNode]],
    latency: int,
    bytes_per_tick: Fraction,
    *,
    rendezvous: bool = False,
) -> list[dict[int, tuple[int, int]]]:
    """Return (start, end) of the nodes of each rank; raises if one never ends.

    With `rendezvous`, a message begins when both sides have started.
    """
    nodes = {(rank, node.id): node for rank, of in enumerate(traces) for node in of}
    heard, missing = _waiting(nodes)
    started: dict[tuple[int, int], int] = {}
    ended: dict[tuple[int, int], int] = {}
    ends: dict[Key, dict[int, tuple[int, int]]] = {}
    free: dict[tuple[object, object], int] = {}
    arrived: dict[Key, int] = {}
    # At an instant all ends come first, then starts: (time, kind, place).
    events = [(0, 1, place) for place, count in missing.items() if not count]
    heapq.heapify(events)
    while events:
        now, kind, place = heapq.heappop(events)
        node = nodes[place]
        if kind == 0:
            ended[place] = now
            for waiting in heard[place]:
                missing[waiting] -= 1
                if not missing[waiting]:
                    heapq.heappush(events, (now, 1, waiting))
            continue
        started[place] = now
        if node.type == COMPUTE:
            lasts = max(1, node.duration_micros * 1000)
            heapq.heappush(events, (now + lasts, 0, place))
            continue
        said = node.attributes
        key = tuple(said[f"comm_{name}"] for name in ("src", "dst", "tag", "size"))
        assert place[0] == key[node.type == RECEIVE]
        sides = ends.setdefault(key, {})
        assert node.type not in sides, "two messages of one tag"
        sides[node.type] = place
        if len(sides) == 2 if rendezvous else node.type == SEND:
            wire = key[:2]
            begin = max(now, free.get(wire, 0))
            free[wire] = begin + int(Fraction(key[3]) / bytes_per_tick)
            arrived[key] = free[wire] + latency
            for side in sides.values():
                heapq.heappush(events, (arrived[key], 0, side))
        elif key in arrived:
            heapq.heappush(events, (max(now, arrived[key]), 0, place))
    assert len(ended) == len(nodes), f"{len(nodes) - len(ended)} nodes never end"
    return [
        {node.id: (started[rank, node.id], ended[rank, node.id]) for node in of}
        for rank, of in enumerate(traces)
    ]


def _waiting(
    nodes: dict[tuple[int, int], TraceNode],
) -> tuple[dict[tuple[int, int], list[tuple[int, int]]], dict[tuple[int, int], int]]:
    """Return who waits for each node, and for how many each one waits."""
    heard: dict[tuple[int, int], list[tuple[int, int]]] = {place: [] for place in nodes}
    for place, node in nodes.items():
        for dep in set(node.data_deps):
            heard[place[0], dep].append(place)
    return heard, {place: len(set(node.data_deps)) for place, node in nodes.items()}


def finish_times(
    traces: list[list[TraceNode]], latency: int, bytes_per_tick: Fraction
) -> list[int]:
    """Return the tick at which each rank has ended."""
    times = node_times(traces, latency, bytes_per_tick)
    return [max((end for _, end in rank.values()), default=0) for rank in times]
