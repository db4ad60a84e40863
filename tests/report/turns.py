"""Demands that are served in several configurations of one step."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import lightloom as ll
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.instances.fabrics.ring import Ring

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import AnyFabric


FABRICS: dict[str, AnyFabric] = {
    "ring-5": Ring(
        nodes=5,
        wavelengths=1,
        bits_per_second_per_wavelength=25 * 10**9,
        directions=2,
        reach=8,
        alpha_ps=700_000,
        reconfiguration_ps=25_000_000,
    ),
    "ramp-8": Ramp(groups=2, racks=2, nodes_per_rack=2),
    "lightpath-16": Lightpath(rows=4, cols=4),
}
"""Where nodes cannot all have circuits to all others at once."""


@functools.cache
def in_turns(size: int, name: str = "ring-5") -> Schedule:
    """Return a schedule of one step with several segments: all send `size` to all."""
    fabric = FABRICS[name]
    nodes = range(fabric.node_count)
    matrix = [[size * (a != b) for b in nodes] for a in nodes]
    demand = ll.Demand.from_matrix(matrix)
    schedule = ll.synthesise(ll.Instance(fabric=fabric, task=demand)).schedule
    assert schedule.parts[-1].index == 0
    assert max(segment.index for segment in schedule.segments) > 0
    return schedule
