"""Closed forms: the golden times of the paper's network, and agreement with replay."""

from __future__ import annotations

from fractions import Fraction

import pytest

from lightloom.core.errors import InputError
from lightloom.core.schedule import Algorithm, Schedule, Segment, StepPart
from lightloom.core.task import Collective
from lightloom.papers.ramp.closed_forms import (
    Processor,
    broadcast_run,
    ramp_runs,
    total,
)
from lightloom.replay import replay
from lightloom.synth.ramp.multicast import PipelinedTree, grow
from lightloom.synth.ramp.schedules import ways
from lightloom.synth.ramp.team import Shape
from tests.examples.ramp_networks import network

GBIT = 10**9


@pytest.mark.parametrize(("size", "us"), [(10**6, 13.42), (10**9, 1834.8)])
def test_golden_times(size: int, us: float) -> None:
    """All-reduce on 65,536 nodes of 12.8 Tb/s: eight steps of 1.45 us and more."""
    shape = Shape(32, 32, 64)
    runs = ramp_runs(shape, "all-reduce", size, 32, 400 * GBIT, 1_450_000)
    found = total(runs, Processor())
    assert found.steps == 8
    assert found.head_to_head_ps == 8 * 1_450_000
    assert float(found.total_ps) / 1e6 == pytest.approx(us, rel=4e-4)


def test_reduction_by_hand() -> None:
    """Three reads and a write at 10 bytes a ps, or two additions an element."""
    slow_memory = Processor(10**13, 10**18, 2)
    assert slow_memory.reduction_ps(3, Fraction(100)) == 40
    slow_adder = Processor(10**18, 10**12, 4)
    assert slow_adder.reduction_ps(3, Fraction(100)) == 2 * 100 / 4


@pytest.mark.parametrize("sizes", [(4, 4, 8), (4, 2, 16), (2, 2, 4)])
@pytest.mark.parametrize(
    "op",
    [
        "all-gather",
        "all-reduce",
        "all-to-all",
        "gather",
        "reduce",
        "reduce-scatter",
        "scatter",
    ],
)
def test_replay_agrees(op: str, sizes: tuple[int, int, int]) -> None:
    """Without computing and reconfiguration, the closed form is what replay says."""
    fabric = network(sizes, reconfiguration_ps=0)
    nodes = tuple(range(fabric.node_count))
    # A power of two, so that every step lasts a whole number of picoseconds.
    size = 2**20
    (way, *_) = ways(fabric, Collective(op, nodes, size), "steps")
    rate = fabric.transceiver_bits_per_s
    runs = ramp_runs(Shape(*sizes), op, size, fabric.groups, rate, fabric.alpha_ps)
    found = total(runs, Processor())
    moving = found.head_to_head_ps + found.head_to_tail_ps
    assert replay(way.schedule(0)).completion_time_ps == moving


def test_a_broadcast_agrees_too() -> None:
    """Estimate and replay agree for sixteen pieces over two hops."""
    fabric = network((4, 4, 8), reconfiguration_ps=0)
    nodes = tuple(range(fabric.node_count))
    task = Collective("broadcast", nodes, 2**26, 16)
    tree = grow(fabric, nodes, 0, 1)
    events = list(PipelinedTree(task, tree, 16).events())
    made = Schedule(
        fabric.table(),
        task,
        Algorithm("tree"),
        tuple(event for event in events if isinstance(event, Segment)),
        tuple(event for event in events if isinstance(event, StepPart)),
    )
    rate = fabric.node_bits_per_s
    run = broadcast_run(2**26, 16, tree.depth, rate, fabric.alpha_ps)
    found = total([run], Processor())
    assert found.steps == 16 + 2 - 1 == made.step_count
    moving = found.head_to_head_ps + found.head_to_tail_ps
    assert 0 <= replay(made).completion_time_ps - moving < found.steps


def test_an_operation_there_is_not() -> None:
    """The error names the operation and those there are."""
    with pytest.raises(InputError, match="reduce-scatter"):
        list(ramp_runs(Shape(2, 2, 4), "scan", 1, 2, GBIT, 0))


def test_a_barrier_agrees_too() -> None:
    """A barrier of four steps takes as long as its replay."""
    fabric = network((4, 4, 8), reconfiguration_ps=0)
    nodes = tuple(range(fabric.node_count))
    (way,) = ways(fabric, Collective("all-reduce", nodes, 1), "exchange")
    runs = ramp_runs(Shape(4, 4, 8), "barrier", 1, 4, 400 * GBIT, fabric.alpha_ps)
    found = total(runs, Processor())
    assert found.steps == 4
    moving = found.head_to_head_ps + found.head_to_tail_ps
    assert replay(way.schedule(0)).completion_time_ps == moving
