"""Demands that are served in several configurations of one step."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import lightloom as ll

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule


@functools.cache
def in_turns(size: int, fabric: str = "ring-16", nodes: int = 16) -> Schedule:
    """Return a schedule of one step with several segments: all send `size` to all."""
    known = ll.load_instance(f"{fabric}/all-reduce-1MiB").fabric
    matrix = [[size * (a != b) for b in range(nodes)] for a in range(nodes)]
    demand = ll.Demand.from_matrix(matrix)
    schedule = ll.synthesise(ll.Instance(fabric=known, task=demand)).schedule
    assert schedule.parts[-1].index == 0
    assert max(segment.index for segment in schedule.segments) > 0
    return schedule
