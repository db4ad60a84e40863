"""Estimates of rings on other networks, and of RAMP's plans, against replay."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

import pytest

from lightloom.core.errors import InputError
from lightloom.core.task import Collective
from lightloom.instances.fabrics.packet_forwarding import TopoOpt, Torus
from lightloom.instances.fabrics.packet_tiers import SuperPod
from lightloom.instances.instance import Instance
from lightloom.papers.ramp.closed_forms import (
    GRID,
    HIERARCHICAL,
    LEVELS,
    OPERATIONS,
    RING,
    Processor,
    RepeatedSteps,
    RivalTier,
    TieredNetwork,
    as_published,
    fat_tree,
    matched,
    plans,
    together,
    topoopt,
    torus,
    total,
)
from lightloom.papers.ramp.systems import Box, boxes, fastest, ramp_plans
from lightloom.replay import replay
from lightloom.synth.ramp.schedules import PHASES, ways
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify
from tests.examples.ramp_networks import network

if TYPE_CHECKING:
    from lightloom.instances.instance import AnyFabric
    from lightloom.papers.ramp.closed_forms import Forwarding, StrategyPlan

# A link of 8 Tb/s carries a byte in a picosecond, so no time is rounded.
BUFFER = 2**24
RATE = 32 * 10**12
ALPHA_PS = 700_000
RINGS = ("all-gather", "all-reduce", "reduce-scatter")


def moving_ps(plan: StrategyPlan) -> Fraction:
    """Return a plan's time without what is spent on adding."""
    found = total(plan.runs, Processor())
    return found.head_to_head_ps + found.head_to_tail_ps


def replayed_ps(
    fabric: AnyFabric, op: str, algorithm: str, **parameters: object
) -> int:
    """Return the time of a schedule that was synthesised and verified."""
    nodes = tuple(range(fabric.node_count))
    instance = Instance(fabric, Collective(op, nodes, BUFFER), "small")
    found = synthesise(instance, algorithm, parameters).incumbent
    assert found is not None
    assert verify(found.schedule).valid
    return replay(found.schedule).completion_time_ps


def one(network: TieredNetwork, strategy: str, op: str) -> StrategyPlan:
    """Return the only plan of a strategy."""
    (plan,) = (p for p in plans(network, op, BUFFER) if p.strategy == strategy)
    return plan


@pytest.mark.parametrize("op", RINGS)
def test_rings_on_a_superpod_agree_with_replay(op: str) -> None:
    """One ring, and servers before GPUs of equal place in three tiers."""
    fabric = SuperPod(
        nodes=64,
        gpus_per_server=4,
        servers_per_unit=4,
        bits_per_second_per_node=RATE * 9 // 8,
        intra_to_inter=8,
    )
    assert fabric.network_bits_per_s * 8 == fabric.nvlink_bits_per_s == RATE
    inner = RivalTier(4, fabric.nvlink_bits_per_s, ALPHA_PS)
    outer = RivalTier(4, fabric.network_bits_per_s, ALPHA_PS)
    net = TieredNetwork("superpod", (inner, outer, outer))
    assert replayed_ps(fabric, op, "ring") == moving_ps(one(net, RING, op))
    in_turn = replayed_ps(fabric, op, "torus-rings", shape=[4, 4, 4])
    assert in_turn == moving_ps(one(net, HIERARCHICAL, op))
    for inside in (2, 4, 8, 16, 32):
        grids = {p.rings: p for p in plans(net, op, BUFFER) if p.strategy == GRID}
        found = grids[inside, 64 // inside]
        shape = [64 // inside, inside]
        assert replayed_ps(fabric, op, "torus-rings", shape=shape) == moving_ps(found)


@pytest.mark.parametrize("op", [*RINGS, "all-to-all"])
def test_levels_on_a_superpod_agree_with_replay(op: str) -> None:
    """All of a level at once: servers, units and pods in turn."""
    fabric = SuperPod(
        nodes=64,
        gpus_per_server=4,
        servers_per_unit=4,
        bits_per_second_per_node=RATE * 9 // 8,
        intra_to_inter=8,
    )
    inner = RivalTier(4, fabric.nvlink_bits_per_s, ALPHA_PS)
    outer = RivalTier(4, fabric.network_bits_per_s, ALPHA_PS)
    net = TieredNetwork("superpod", (inner, outer, outer))
    found = {p.rings: p for p in plans(net, op, BUFFER) if p.strategy == LEVELS}
    took = replayed_ps(fabric, op, "levels", shape=[4, 4, 4], parts=1)
    assert took == moving_ps(found[4, 4, 4])


@pytest.mark.parametrize("op", RINGS)
def test_rings_on_a_torus_agree_with_replay(op: str) -> None:
    """Halves that begin with one dimension each, and one dimension after the other."""
    fabric = Torus(rows=8, cols=4, bits_per_second_per_node=RATE)
    net = TieredNetwork(
        "torus",
        (RivalTier(4, RATE // 2, ALPHA_PS), RivalTier(8, RATE // 2, ALPHA_PS)),
        forwarding="both-ways",
        apart=True,
    )
    in_turn = replayed_ps(fabric, op, "torus-rings", shape=[8, 4], both_ways=True)
    assert in_turn == moving_ps(one(net, HIERARCHICAL, op))
    at_once = replayed_ps(
        fabric, op, "torus-rings", shape=[8, 4], parts=2, both_ways=True
    )
    assert at_once == moving_ps(one(net, GRID, op))


@pytest.mark.parametrize("op", RINGS)
def test_the_ring_of_topoopt_agrees_with_replay(op: str) -> None:
    """All links of a node in one ring, and no other strategy."""
    fabric = TopoOpt(nodes=16, degree=1, bits_per_second_per_node=RATE)
    net = TieredNetwork(
        "topoopt", (RivalTier(16, RATE, ALPHA_PS),), forwarding="one-way"
    )
    (plan,) = plans(net, op, BUFFER)
    assert replayed_ps(fabric, op, "ring") == moving_ps(plan)


@pytest.mark.parametrize(
    ("way", "members"),
    [
        *(("none", members) for members in (2, 3, 4, 5, 8)),
        *(("one-way", members) for members in (2, 3, 4, 5, 8)),
        # Of two members both links lead to the same one, and share what is for it.
        *(("both-ways", members) for members in (3, 4, 5, 8)),
    ],
)
def test_all_to_all_loads_links_as_counted(members: int, way: Forwarding) -> None:
    """Every byte is followed over every link of its ring."""
    load: Counter[tuple[int, int]] = Counter()
    for src in range(members):
        for apart in range(1, members):
            back = way == "both-ways" and 2 * apart > members
            # Half way round, even nodes send one way and odd ones the other.
            back |= way == "both-ways" and 2 * apart == members and src % 2 == 1
            for hop in range(members - apart if back else apart):
                load[(src - hop if back else src + hop) % members, back] += 1
    if way == "none":
        load = Counter({(src, False): members - 1 for src in range(members)})
    most = max(load.values()) * (2 if way == "both-ways" else 1)
    net = TieredNetwork("ring", (RivalTier(members, 8 * 10**12, 0),), way)
    plan = one(net, RING, "all-to-all")
    # A byte takes a picosecond, so time is the load of all links of a node.
    assert moving_ps(plan) == Fraction(BUFFER, members) * most


def test_runs_at_once_take_the_slower_step() -> None:
    """Three steps beside two: added data are those of both."""
    slow = RepeatedSteps(2, Fraction(8), 8, 5, Fraction(8), 2)
    fast = RepeatedSteps(3, Fraction(4), 8, 7, Fraction(4), 2)
    assert together([slow], [fast]) == [
        RepeatedSteps(2, Fraction(8), 8, 7, Fraction(12), 2),
        RepeatedSteps(1, Fraction(4), 8, 7, Fraction(4), 2),
    ]


@pytest.mark.parametrize("op", OPERATIONS)
def test_every_operation_has_a_plan_on_every_network(op: str) -> None:
    """Less data never take longer, and nothing takes no time."""
    for net in as_published():
        for small, large in zip(
            plans(net, op, 10**3), plans(net, op, 10**9), strict=True
        ):
            assert small.strategy == large.strategy
            assert prod(small.rings) == net.nodes == 65_536
            assert 0 < moving_ps(small) <= moving_ps(large)


def test_parts_of_networks_fill_inner_tiers_first() -> None:
    """A server, a unit and a half; numbers that do not fit are refused."""
    tree = fat_tree(10, 1)
    assert [tier.members for tier in tree.part(8).tiers] == [8]
    assert [tier.members for tier in tree.part(1024).tiers] == [8, 16, 8]
    assert torus(8).part(256).nodes == topoopt(8).part(256).nodes == 256
    for wrong in (0, 12, 2**17):
        with pytest.raises(InputError, match="nodes"):
            tree.part(wrong)
    assert {net.nodes for net in matched(8)} == {65_536}
    with pytest.raises(InputError, match="reduce-scatter"):
        list(plans(tree, "scan", 1))


@pytest.mark.parametrize(
    ("op", "strategy"),
    [
        ("all-reduce", "steps"),
        ("all-reduce", "exchange"),
        ("all-to-all", "steps"),
        *(("all-to-all", name) for name in PHASES),
    ],
)
def test_plans_of_ramp_agree_with_replay(op: str, strategy: str) -> None:
    """Without reconfiguration, on a whole network and on boxes in one."""
    fabric = network((4, 4, 8), reconfiguration_ps=0)
    for box in (Box(4, 4, 8), Box(4, 2, 8), Box(4, 4, 1), Box(2, 2, 4), Box(4, 1, 1)):
        nodes = box.nodes(fabric)
        task = Collective(op, nodes, 2**20)
        (way, *_) = ways(fabric, task, strategy)
        offered = {p.strategy: p for p in ramp_plans(fabric, box, op, 2**20)}
        took = replay(way.schedule(0)).completion_time_ps
        assert took == moving_ps(offered[strategy])


def test_boxes_are_teams_with_fewest_steps_first() -> None:
    """16 nodes in one step; 54 of the paper's example in four."""
    large = network((32, 32, 64))
    steps = [len(next(boxes(large, 2**k)).steps) for k in range(1, 17)]
    assert steps == [1] * 5 + [2] * 5 + [3] * 5 + [4]
    assert next(boxes(network((3, 3, 6)), 54)).steps == (1, 2, 3, 4)
    with pytest.raises(InputError, match="so many nodes"):
        next(boxes(large, 65_537))
    with pytest.raises(InputError, match="no plan"):
        fastest([], Processor())


def test_a_box_is_what_the_network_offers() -> None:
    """Of all-to-all plans those of fewer hops win where data are many."""
    large = network((32, 32, 64))
    box = next(boxes(large, 65_536))
    little, much = (
        fastest(ramp_plans(large, box, "all-to-all", size), Processor())[0]
        for size in (10**6, 10**9)
    )
    assert (little.strategy, much.strategy) == ("three-phase", "two-phase")
