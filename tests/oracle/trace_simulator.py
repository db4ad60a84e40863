"""Runs Chakra traces by the rules of the format: nodes, wires, ticks.

A node starts when those it depends on have ended. A compute node lasts its duration,
one tick at least;
a send and the receive of the same (source, destination, tag, size) end when the message
has crossed its wire: latency plus size over bandwidth, after the later of both began.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lightloom.formats.chakra import TraceNode

COMPUTE, SEND, RECEIVE = 4, 5, 6


def finish_times(
    traces: list[list[TraceNode]], latency: int, bytes_per_tick: Fraction
) -> list[int]:
    """Return the tick at which each rank has ended; raises if one never does."""
    ended: dict[tuple[int, int], int] = {}
    waiting = {
        (rank, node.id): node for rank, nodes in enumerate(traces) for node in nodes
    }
    arrived: dict[tuple[int, int, int, int], int] = {}
    while waiting:
        done = []
        for (rank, number), node in waiting.items():
            deps = [(rank, dep) for dep in node.data_deps]
            if any(dep not in ended for dep in deps):
                continue
            start = max((ended[dep] for dep in deps), default=0)
            if node.type == COMPUTE:
                ended[rank, number] = start + max(1, node.duration_micros * 1000)
                done.append((rank, number))
                continue
            given = node.attributes
            key = (
                int(given["comm_src"]),
                int(given["comm_dst"]),
                int(given["comm_tag"]),
                int(given["comm_size"]),
            )
            if node.type == SEND:
                assert key[0] == rank
                moving = Fraction(key[3]) / bytes_per_tick
                arrived[key] = start + latency + int(moving)
                ended[rank, number] = arrived[key]
                done.append((rank, number))
            elif key in arrived:
                assert key[1] == rank
                ended[rank, number] = max(start, arrived[key])
                done.append((rank, number))
        assert done, f"{len(waiting)} nodes never end"
        for key in done:
            del waiting[key]
    return [
        max((ended[rank, node.id] for node in nodes), default=0)
        for rank, nodes in enumerate(traces)
    ]
