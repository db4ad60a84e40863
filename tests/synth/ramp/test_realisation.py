"""Nodes that no steps serve, demands, and algorithms of the catalogue on RAMP."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.schedule import FluidTransfers
from lightloom.core.task import Collective, Demand
from lightloom.instances.instance import Instance
from lightloom.synth.ramp.realisation import (
    line_sums,
    lines_of,
    shift_order,
    slots_for,
)
from lightloom.synth.ramp.schedules import OPS
from lightloom.synth.synthesise import Synthesis, synthesise
from lightloom.validate import verify
from tests.examples.ramp_networks import network

SUBNETS = ("broadcast-and-select", "route-and-broadcast", "route-and-switch")
NODES = {
    "one group": tuple(range(24)),
    "the first seventeen": tuple(range(17)),
    "five scattered": (3, 40, 41, 77, 90),
}


def _made(instance: Instance, algorithm: str = "auto") -> Synthesis:
    """Return a schedule, verified."""
    found = synthesise(instance, algorithm).incumbent
    assert found is not None
    assert verify(found.schedule).violations == ()
    return found


@pytest.mark.parametrize("nodes", NODES.values(), ids=NODES)
@pytest.mark.parametrize("op", OPS)
def test_every_operation_on_any_nodes(op: str, nodes: tuple[int, ...]) -> None:
    """Whole groups, parts of racks, and what lies anywhere."""
    task = Collective(op, nodes, 840 * len(nodes))
    _made(Instance(network((4, 3, 8)), task, "test"))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_random_nodes_are_served(data: st.DataObject) -> None:
    """Whichever they are, behind couplers, gratings and switches."""
    fabric = network((3, 3, 9), subnet=data.draw(st.sampled_from(SUBNETS)))
    nodes = data.draw(st.lists(st.integers(0, 80), min_size=2, max_size=9, unique=True))
    op = data.draw(st.sampled_from(OPS))
    found = _made(Instance(fabric, Collective(op, tuple(nodes), 12 * len(nodes)), "t"))
    assert found.certificate is not None


def test_scattered_nodes_go_straight_to_each_other() -> None:
    """Four peers, a transceiver each: one step, and the bound is met."""
    nodes = NODES["five scattered"]
    task = Collective("all-to-all", nodes, 5 * 2**20)
    found = _made(Instance(network((4, 3, 8)), task, "test"))
    assert found.certificate is not None
    assert found.completion_time_ps == found.certificate.bound


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_demands(data: st.DataObject) -> None:
    """Any bytes between any pairs; nothing is lost where pairs are divided."""
    sizes = data.draw(st.sampled_from([(2, 2, 4), (4, 3, 8), (3, 2, 9)]))
    fabric = network(sizes, subnet=data.draw(st.sampled_from(SUBNETS)))
    nodes = st.integers(0, fabric.node_count - 1)
    pairs = data.draw(
        st.dictionaries(
            st.tuples(nodes, nodes).filter(lambda pair: pair[0] != pair[1]),
            st.integers(1, 10**9) | st.integers(1, 9),
            min_size=1,
            max_size=30,
        )
    )
    demand = Demand.from_rows([(*pair, size) for pair, size in pairs.items()])
    found = _made(Instance(fabric, demand, "test"))
    assert found.certificate is not None


def test_a_pair_alone_takes_all_transceivers() -> None:
    """A known time: one segment, the whole rate of a node."""
    fabric = network((4, 3, 8))
    found = _made(Instance(fabric, Demand.from_rows([(0, 95, 10**9)]), "test"))
    data_ps = 8 * 10**21 // fabric.node_bits_per_s
    assert found.completion_time_ps == 1_451_000 + data_ps
    assert len(found.schedule.segments[0].circuits) == 4


@pytest.mark.parametrize("sizes", [(2, 2, 4), (4, 2, 8), (4, 4, 8)])
def test_everyone_to_everyone_is_direct(sizes: tuple[int, int, int]) -> None:
    """Equal bytes between all pairs take as many segments as there are shifts."""
    fabric = network(sizes)
    count = fabric.node_count
    pairs = [(a, b, 10**5) for a in range(count) for b in range(count) if a != b]
    found = _made(Instance(fabric, Demand.from_rows(pairs), "test"))
    assert len(found.schedule.segments) == sizes[1] * sizes[2]
    (part, *_) = found.schedule.parts
    assert isinstance(part.transfers, FluidTransfers)
    assert found.completion_time_ps == sizes[1] * sizes[2] * (1_451_000 + 2 * 10**6)


@pytest.mark.parametrize("algorithm", ["ring", "lumorph-2", "radices", "direct"])
def test_algorithms_of_the_catalogue(algorithm: str) -> None:
    """Those that the paper compares with, on all nodes."""
    fabric = network((4, 4, 4))
    task = Collective("all-gather", tuple(range(64)), 2**20)
    found = _made(Instance(fabric, task, "test"), algorithm)
    assert found.schedule.algorithm.name == algorithm


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 3))
def test_slots_are_free_of_contention(seed: int, pairs: int, most: int) -> None:
    """No line has a slot twice, and every unit of a pair has one."""
    random = np.random.default_rng(seed)
    fabric = network((3, 3, 6))
    key = random.choice(54 * 54, size=pairs, replace=False)
    src, dst = key[key // 54 != key % 54] // 54, key[key // 54 != key % 54] % 54
    counts = random.integers(1, most + 1, size=len(src))
    lines = lines_of(fabric, src, dst)
    fullest = int(line_sums(lines, counts).max(initial=0))
    assert slots_for(lines, counts, fullest - 1, shift_order(fabric, src, dst)) is None
    found = slots_for(lines, counts, 4 * fullest, shift_order(fabric, src, dst))
    assert found is not None
    taken = np.repeat(lines, counts, axis=1) * 10**6 + found
    assert len(found) == counts.sum()
    assert len(np.unique(taken)) == taken.size
