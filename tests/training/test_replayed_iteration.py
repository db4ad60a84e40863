"""Circuits for what an iteration waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.instances.fabrics.ocs import Ocs
from lightloom.replay.workload import Launch, RingCollectives, replay_iteration
from lightloom.training.fabric_networks import network_for
from lightloom.training.iteration import traffic
from lightloom.training.planner import Planner
from lightloom.training.replayed_iteration import fastest_held, slacks
from lightloom.training.training_plan import TrainingRequest
from tests.examples.iterations import iteration
from tests.examples.small_trainings import RATE, training

if TYPE_CHECKING:
    from lightloom.core.iteration import Iteration
    from lightloom.training.fabric_networks import CircuitMode

US = 10**6
AT_ONCE = Launch(0, 0)
SWITCHES = Ocs(nodes=3, switches=4, bits_per_second_per_node=4 * 32 * 10**9, alpha_ps=0)
RINGS = RingCollectives(0)


def hidden_transfer() -> Iteration:
    """Return 4,000 bytes before 10 us of work, and 12,000 that nobody waits for."""
    ops = [(0, US), (1, 10 * US), (2, US)]
    return iteration(3, ops, [(0, 1, 4000), (0, 2, 12_000)])


def test_slack_is_what_a_transfer_may_take_longer() -> None:
    """By bytes both take 1 us; the large one has 9 us to spare."""
    one = hidden_transfer()
    network = network_for(SWITCHES, traffic(one, RINGS), RINGS, "one-shot")
    timeline = replay_iteration(one, network, AT_ONCE)
    assert timeline.iteration_ps == 12 * US
    assert slacks(one, timeline).tolist() == [0, 9 * US]


def test_circuits_go_where_the_iteration_waits() -> None:
    """Three of four circuits carry 4,000 bytes in a third of a microsecond."""
    one = hidden_transfer()
    demand = traffic(one, RINGS)
    best, held, other = fastest_held(SWITCHES, one, RINGS, demand, AT_ONCE)
    assert (best.iteration_ps, other) == (US + -(-US // 3) + 10 * US, True)
    assert [len(held[plane]) for plane in range(4)] == [1, 1, 1, 1]
    plain, _, other = fastest_held(SWITCHES, one, RINGS, demand, AT_ONCE, rounds=0)
    assert (plain.iteration_ps, other) == (12 * US, False)


def test_a_ring_of_equal_sums_keeps_the_paper_s_circuits() -> None:
    """Where all pairs are alike there is nothing to move."""
    request = TrainingRequest(model_parallel=1, circuits="critical-path", replayed=1)
    fabric = Ocs(nodes=8, switches=8, bits_per_second_per_node=RATE)
    assert Planner(training()).plan(fabric, request).circuits == "one-shot"


def test_more_switches_are_no_slower() -> None:
    """Twice as many switches may hold each circuit twice."""
    planner, times = Planner(training(64)), {}
    for switches in (4, 8, 16):
        fabric = Ocs(nodes=16, switches=switches, bits_per_second_per_node=16 * 10**10)
        ways: tuple[CircuitMode, ...] = ("one-shot", "critical-path")
        for way in ways:
            request = TrainingRequest(
                model_parallel=4, replicas=4, circuits=way, replayed=1
            )
            times[way, switches] = planner.plan(fabric, request).iteration_ps
        assert times["critical-path", switches] <= times["one-shot", switches]
    few, more, most = (times["critical-path", switches] for switches in (4, 8, 16))
    assert few >= more >= most
