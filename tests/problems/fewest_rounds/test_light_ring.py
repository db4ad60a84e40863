"""Light rings: every tile once, no directed edge twice, simple routes."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.problems.fewest_rounds.ring_all_gather import LightRing

GRIDS = [
    (rows, cols) for rows in range(1, 8) for cols in range(1, 8) if rows * cols > 1
]


@pytest.mark.parametrize(("rows", "cols"), GRIDS)
def test_whole_grid(rows: int, cols: int) -> None:
    """Steps join neighbours in the ring's order and load no directed edge twice."""
    fabric = Lightpath(rows=rows, cols=cols)
    nodes = tuple(range(fabric.node_count))
    ring = LightRing(fabric, nodes)
    assert sorted(ring.order) == list(nodes)
    steps = [ring.route(place, place + 1) for place in range(len(nodes))]
    for place, step in enumerate(steps):
        assert step[0] == ring.order[place]
        assert step[-1] == ring.order[(place + 1) % len(nodes)]
        assert len(set(step)) == len(step)
    loads = Counter(edge for step in steps for edge in pairwise(step))
    assert max(loads.values()) == 1
    tail, head = (np.array(ends) for ends in zip(*loads, strict=True))
    assert (fabric.edge_ids(tail, head) >= 0).all()
    longer = sum(len(step) > 2 for step in steps)
    if min(rows, cols) > 1:
        assert longer == rows % 2 * cols % 2


@pytest.mark.parametrize("first", range(9))
def test_some_tiles_from_any(first: int) -> None:
    """A ring over some tiles begins where it is told to, and stays within the load."""
    fabric = Lightpath(rows=3, cols=3)
    nodes = tuple(sorted({first, 0, 4, 5, 7}))
    ring = LightRing(fabric, nodes, first)
    assert ring.order[0] == first
    assert sorted(ring.order) == list(nodes)
    steps = [ring.route(place, place + 1) for place in range(len(nodes))]
    loads = Counter(edge for step in steps for edge in pairwise(step))
    assert max(loads.values()) == 1
    assert all(len(set(step)) == len(step) for step in steps)
