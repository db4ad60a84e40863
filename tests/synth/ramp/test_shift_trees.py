"""Trees of shifts: everybody is reached once, and all transceivers are busy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from lightloom.core.task import Collective
from lightloom.replay import replay
from lightloom.synth.ramp.node_box import NodeBox
from lightloom.synth.ramp.schedules import ways
from lightloom.synth.ramp.shift_trees import SPREAD_OPS, spread_tree
from lightloom.validate import verify
from tests.examples.ramp_networks import contentions, network, shapes

SUBNETS = ("broadcast-and-select", "route-and-broadcast", "route-and-switch")


@settings(max_examples=25, deadline=None)
@given(shapes())
def test_every_displacement_is_reached_once(sizes: tuple[int, int, int]) -> None:
    """From one that was reached in an earlier shift, by a circuit of its own shift."""
    fabric = network(sizes)
    box = NodeBox.of(fabric, range(fabric.node_count))
    assert box is not None
    tree = spread_tree(box)
    assert tree is not None
    for target in range(1, len(box)):
        parent, index = int(tree.parent[target]), int(tree.shift[target])
        assert parent == 0 or tree.shift[parent] < index
        shift = tree.shifts[index]
        by = shift.displacements(box)[tree.offset[target]]
        assert int(box.moved(np.array(parent), by)) == target
        assert tree.offset[target] in shift.lit
    for shift in tree.shifts:
        for one in (shift, shift.reversed(box)):
            assert contentions(fabric, one.circuits(box)) == set()


@pytest.mark.parametrize("subnet", SUBNETS)
@pytest.mark.parametrize("op", SPREAD_OPS)
def test_schedules_verify(op: str, subnet: str) -> None:
    """Ranks in reverse, a root in the middle, uneven blocks where there may be."""
    fabric = network((4, 2, 8), subnet=subnet)
    nodes = tuple(reversed(range(fabric.node_count)))
    root = 21 if op in ("gather", "reduce", "scatter") else None
    blocks = op not in ("all-reduce", "reduce")
    task = Collective(op, nodes, 64 * 40 if blocks else 1001, None, root)
    more = {"reduce": ("whole", "rarest-first"), "scatter": ("classes",)}.get(op, ())
    if subnet == "route-and-switch" and op == "scatter":
        more = ()  # inputs of its switches have one output
    for strategy in ("spread", *more):
        (way,) = ways(fabric, task, strategy)
        assert verify(way.schedule(0)).violations == ()


def test_known_times_of_128_nodes() -> None:
    """Four shifts, and 127 blocks from four transceivers: 32 after each other."""
    fabric = network((4, 4, 8))
    nodes = tuple(range(128))
    block_ps = 2**13 * 8 * 10**12 // fabric.transceiver_bits_per_s
    for op in SPREAD_OPS:
        task = Collective(op, nodes, 2**20)
        (way,) = ways(fabric, task, "spread")
        sweeps = 2 if op in ("all-reduce", "reduce") else 1
        took = replay(way.schedule(0)).completion_time_ps
        assert took == sweeps * (4 * 1_451_000 + 32 * block_ps)
    (way,) = ways(fabric, Collective("reduce", nodes, 2**10), "whole")
    took = replay(way.schedule(0)).completion_time_ps
    assert took == 4 * (1_451_000 + 2**13 * 10**12 // fabric.transceiver_bits_per_s)
