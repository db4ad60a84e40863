"""All-reduce against the number of nodes, a fat tree and RAMP at equal rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.papers.ramp.baseline_networks import fat_tree
from lightloom.papers.ramp.baseline_strategies import STRATEGIES
from lightloom.papers.ramp.systems import on_ramp, on_rings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lightloom.papers.ramp.systems import Timed

BITS_PER_S = 2_400_000_000_000
SIZES = tuple(2**k for k in range(4, 17))
SYSTEMS = (*STRATEGIES, "ramp")
OP = "all-reduce"

Points = dict[tuple[int, int, str], "Timed"]
"""By (nodes, size of the buffer, strategy)."""


def sweep(
    nodes: Sequence[int], buffers: Sequence[int], progress: Callable[[str], None]
) -> Points:
    """Return the all-reduces of some numbers of nodes and sizes of the buffer."""
    points: Points = {}
    for count in nodes:
        progress(f"{count} nodes")
        network = fat_tree(BITS_PER_S, BITS_PER_S).part(count)
        for size in buffers:
            for strategy, timed in on_rings(network, OP, size).items():
                points[count, size, strategy] = timed
            points[count, size, "ramp"] = on_ramp(OP, size, count, BITS_PER_S)
    return points


def ticks(nodes: Sequence[int]) -> list[tuple[float, str]]:
    """Return every fourth number of nodes as a tick."""
    return [(count, f"{count:,}") for count in nodes[::4]]
