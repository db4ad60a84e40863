"""Iterations whose calls are schedules: by hand, and what must hold of any."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.task import Collective, Demand
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.instances.instance import Instance
from lightloom.replay.workload import (
    CallQueue,
    Launch,
    ScheduledCalls,
    replay_iteration,
)
from lightloom.synth.synthesise import synthesise
from lightloom.training.call_schedules import CallSchedules, iteration_schedule
from lightloom.training.planner import Planner
from lightloom.training.training_plan import TrainingRequest
from lightloom.validate import verify
from tests.examples.iterations import iteration, spans
from tests.examples.small_trainings import fabrics, training

if TYPE_CHECKING:
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

FREE = Launch(0, 0)
DELAY_PS = 3_700_000


def served(fabric: AnyFabric) -> CallQueue:
    """Return a queue of synthesised calls."""
    return CallQueue(ScheduledCalls(CallSchedules(fabric)))


def alone_ps(fabric: AnyFabric, task: Task) -> int:
    """Return how long a synthesised call takes by itself."""
    found = synthesise(Instance(fabric, task)).incumbent
    assert found is not None
    return found.completion_time_ps


def test_data_parallel_by_a_synthesised_all_reduce() -> None:
    """Compute, then the schedule; the second finds its circuits lit; overlap counts."""
    fabric, size = Lightpath(rows=2, cols=2), 5040 * 4
    first = alone_ps(fabric, Collective("all-reduce", (0, 1, 2, 3), size))
    lit = first - DELAY_PS
    ops = [(device, 10**6 * pass_) for pass_ in (7, 1) for device in range(4)]
    links = [(device, device + 4, 0) for device in range(4)]
    links += [(device, 8, 0) for device in range(4)]
    links += [(device, 9, 0) for device in range(4, 8)]
    made = iteration(4, ops, links, [(size, [0, 1, 2, 3])] * 2)
    timeline = replay_iteration(made, served(fabric), FREE)
    begin = 7 * 10**6
    assert first > 10**6
    assert spans(timeline.collectives) == [
        (begin, begin + first),
        (begin + first, begin + first + lit),
    ]
    assert timeline.iteration_ps == begin + first + lit


def test_a_pipeline_of_two_stages() -> None:
    """Forward 0 to 1, backward 1 to 0, each a circuit of its own."""
    fabric = Lightpath(rows=1, cols=2)
    rate = fabric.node_bits_per_s
    made = iteration(
        2,
        [(0, 10), (1, 20), (1, 30), (0, 40)],
        [(0, 1, 3_000_000), (1, 2, 0), (2, 3, 3_000_000)],
    )
    timeline = replay_iteration(made, served(fabric), FREE)
    wire = -(-3_000_000 * 8 * 10**12 // rate)
    hop = DELAY_PS + fabric.alpha_ps + wire
    assert hop == alone_ps(fabric, Demand((0,), (1,), (3_000_000,)))
    assert timeline.iteration_ps == 10 + hop + 20 + 30 + hop + 40


@pytest.mark.parametrize("k", [1, 2])
def test_two_replicas_stand_for_all(k: int) -> None:
    """To the picosecond, and the same circuits and bytes."""
    fabric = Lightpath(rows=2, cols=4)
    few, whole = (
        Planner(training(16)).plan(
            fabric,
            TrainingRequest(
                model_parallel=k, replicas=8 // k, whole=whole, circuits="per-call"
            ),
        )
        for whole in (False, True)
    )
    assert (len(few.layout.nodes), len(whole.layout.nodes)) == (2, 8 // k)
    assert few.iteration_ps == whole.iteration_ps
    assert few.demand == whole.demand
    assert few.communication_share == whole.communication_share


def test_the_delay_counts_as_the_calls_say() -> None:
    """Without it a rack is an ideal switch, and with more of it slower."""
    rack = Lightpath(rows=2, cols=2)
    switch = IdealSwitch(
        nodes=4,
        bits_per_second_per_node=rack.node_bits_per_s,
        alpha_ps=rack.alpha_ps,
    )
    request = TrainingRequest(model_parallel=2, replicas=2, circuits="per-call")
    planner = Planner(training(16))

    def plan_ps(fabric: AnyFabric) -> int:
        return planner.plan(fabric, request).iteration_ps

    none, usual, long = (
        plan_ps(msgspec.structs.replace(rack, reconfiguration_ps=delay))
        for delay in (0, DELAY_PS, 900_000_000)
    )
    calls = len(planner.plan(rack, request).calls)
    assert abs(none - plan_ps(switch)) <= rack.alpha_ps * calls
    assert none < usual < long
    assert usual - none <= DELAY_PS * planner.plan(rack, request).reconfigurations


def test_controllers_and_synchronisation_are_paid_for() -> None:
    """As longer reconfigurations, and as a longer begin of every step."""
    rack = Lightpath(rows=2, cols=2)
    planner = Planner(training(16))
    slow = TrainingRequest(
        model_parallel=2,
        replicas=2,
        circuits="per-call",
        controller_ps=10**6,
        synchronisation_ps=10**5,
    )
    same = msgspec.structs.replace(
        rack, reconfiguration_ps=DELAY_PS + 10**6, alpha_ps=rack.alpha_ps + 10**5
    )
    plain = TrainingRequest(model_parallel=2, replicas=2, circuits="per-call")
    slowed, expected = planner.plan(rack, slow), planner.plan(same, plain)
    assert slowed.iteration_ps == expected.iteration_ps


@pytest.mark.parametrize("k", [1, 2])
def test_an_iteration_as_a_schedule_is_valid(k: int) -> None:
    """Every circuit and transfer, verified; without pauses it is no slower."""
    request = TrainingRequest(model_parallel=k, replicas=4 // k, circuits="per-call")
    plan = Planner(training(16)).plan(Lightpath(rows=2, cols=2), request)
    schedule = iteration_schedule(plan)
    assert verify(schedule).valid
    assert schedule.footer.completion_time_ps <= plan.iteration_ps
    assert schedule.task == plan.demand
    assert len(schedule.segments) == plan.reconfigurations


def test_ramp_trains_where_its_steps_serve_the_replicas() -> None:
    """Data parallelism alone: transfers of a pair have no schedule there."""
    plan = Planner(training(16)).plan(Ramp(groups=2, racks=2, nodes_per_rack=2))
    assert plan.circuits == "per-call"
    assert plan.strategy.model_parallel == 1


def test_named_algorithms_stay_choices() -> None:
    """A ring by calls is no faster than what is synthesised."""
    rack = Lightpath(rows=2, cols=2)
    times = {
        name: Planner(training(16))
        .plan(
            rack,
            TrainingRequest(
                model_parallel=1, replicas=4, circuits="per-call", collectives=name
            ),
        )
        .iteration_ps
        for name in ("auto", "ring", "lumorph-2", "lumorph-4")
    }
    assert times["auto"] == min(times.values())
    assert times["ring"] > times["auto"]


@pytest.mark.slow
@given(st.integers(1, 9), st.integers(1, 3), st.data())
@settings(max_examples=5, deadline=None)
def test_no_strategy_that_one_may_name_is_better(
    batch: int, layers: int, data: st.DataObject
) -> None:
    """Whatever the model and the fabric: the plan is at most as long."""
    named: dict[str, AnyFabric] = {**fabrics(4), "rack": Lightpath(rows=2, cols=2)}
    fabric = named[data.draw(st.sampled_from(sorted(named)))]
    k = data.draw(st.integers(1, 4))
    replicas = data.draw(st.integers(1, min(4 // k, batch)))
    planner = Planner(training(batch, layers=layers))
    fixed = TrainingRequest(model_parallel=k, replicas=replicas)
    best = planner.plan(fabric, TrainingRequest(replayed=16))
    assert best.iteration_ps <= planner.plan(fabric, fixed).iteration_ps
    bounds = [one for one in best.tried if one.iteration_ps is not None]
    assert all(one.bound_ps <= (one.iteration_ps or 0) for one in bounds)


def test_collectives_that_share_no_node_go_together() -> None:
    """Two pairs at once take what one takes, not twice as long."""
    fabric, size = Lightpath(rows=2, cols=2), 5040 * 2
    one = alone_ps(fabric, Collective("all-reduce", (0, 1), size))
    links = [(device, 4 + device // 2, 0) for device in range(4)]
    made = iteration(
        4,
        [(device, 0) for device in range(4)],
        links,
        [(size, [0, 1]), (size, [2, 3])],
    )
    timeline = replay_iteration(made, served(fabric), FREE)
    assert spans(timeline.collectives) == [(0, one), (0, one)]
    assert np.array_equal(timeline.devices.communicating_ps, [one] * 4)
