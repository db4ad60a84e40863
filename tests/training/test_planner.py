"""Plans of trainings: replays of a few replicas, choices, and what cannot be."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.task import Demand
from lightloom.core.training import Training
from lightloom.core.units import PS_PER_US
from lightloom.instances.computation_table import computation_graph
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.instances.fabrics.ring import Ring
from lightloom.synth.fabrics import PLUGS
from lightloom.training.fabric_networks import TrafficController
from lightloom.training.placement.graph_split import split_graph
from lightloom.training.planner import Planner
from lightloom.training.replica import smallest_fit
from lightloom.training.strategy import Strategy, strategies
from lightloom.training.training_plan import TrainingPlan, TrainingRequest
from tests.examples.small_trainings import fabrics, grids, training

if TYPE_CHECKING:
    from lightloom.core.circuit import Circuits
    from lightloom.core.fabric import CircuitFabric
    from lightloom.training.fabric_networks import CircuitMode


def held_for(
    fabric: CircuitFabric, known: Demand, measured: Demand
) -> dict[int, Circuits]:
    """Return what planes hold after a period."""
    kept = PLUGS[fabric.kind].circuits
    assert kept is not None
    controller = TrafficController(lambda rows: kept.following(fabric, rows), known)
    return controller.circuits(measured)


@cache
def planner_of(hidden: int) -> Planner:
    """Return a planner that keeps what it placed and synthesised for a width."""
    return Planner(training(12, hidden=hidden))


def planned(
    fabric_name: str, request: TrainingRequest, nodes: int = 32
) -> TrainingPlan:
    """Return the plan of the small training, on circuits that stay by default."""
    if request.circuits == "auto":
        request = replace(request, circuits="one-shot")
    return Planner(training(64)).plan(fabrics(nodes)[fabric_name], request)


@pytest.mark.parametrize(
    ("name", "nodes", "k", "replicas"),
    [
        *(
            (name, 32, k, 32 // k)
            for name in ("ideal-switch", "electrical-cluster", "ocs")
            for k in (1, 2, 4)
        ),
        ("ring", 16, 1, 16),
        # Beside idle nodes.
        ("ideal-switch", 16, 1, 13),
        ("ideal-switch", 16, 3, 5),
        ("ocs", 16, 1, 13),
        ("ocs", 16, 2, 7),
        ("ocs", 16, 3, 5),
        ("ring", 16, 1, 13),
        ("lightpath", 16, 2, 7),
        ("lightpath", 16, 3, 5),
        ("electrical-cluster", 64, 8, 5),
        ("electrical-cluster", 64, 4, 12),
    ],
)
def test_a_few_replicas_take_as_long_as_all(
    name: str, nodes: int, k: int, replicas: int
) -> None:
    """To the picosecond: no choice tells replicas apart, or their circuits do not."""
    fabric = {**fabrics(nodes), **grids(4)}[name]
    planner = Planner(training(max(30, nodes)))
    few, every = (
        planner.plan(
            fabric,
            TrainingRequest(
                model_parallel=k,
                replicas=replicas,
                circuits="one-shot",
                replayed=1,
                whole=whole,
            ),
        )
        for whole in (False, True)
    )
    assert every.layout.is_whole
    assert not few.layout.is_whole or (name, replicas) == ("ring", 13)
    assert few.iteration_ps == every.iteration_ps
    assert few.communication_share == every.communication_share
    assert few.partners == every.partners
    assert few.demand == every.demand or few.fabric != fabric


def test_more_rate_never_hurts_the_best_plan_of_an_ideal_switch() -> None:
    """The same strategies, all of them replayed."""
    import msgspec

    fabric = fabrics(8)["ideal-switch"]
    planner, before = Planner(training(16)), None
    for rate in (10**10, 10**11, 10**12):
        faster = msgspec.structs.replace(fabric, bits_per_second_per_node=rate)
        plan = planner.plan(faster, TrainingRequest(replayed=10))
        assert before is None or plan.iteration_ps <= before
        before = plan.iteration_ps


def test_the_fastest_of_the_replayed_is_chosen() -> None:
    """Every strategy is listed; three are replayed, unless bounds rule others out."""
    plan = planned("ocs", TrainingRequest(replayed=3), 8)
    times = [each.iteration_ps for each in plan.tried if each.iteration_ps]
    assert plan.iteration_ps == min(times)
    waiting = [each for each in plan.tried if not each.iteration_ps]
    ruled_out = [each for each in waiting if each.bound_ps >= plan.iteration_ps]
    assert len(times) == 3 or waiting == ruled_out
    assert {each.strategy.model_parallel for each in plan.tried} == set(range(1, 9))


@given(
    name=st.sampled_from([*fabrics(8), "lightpath", "ring-2d", "sipac"]),
    k=st.integers(1, 4),
    replicas=st.integers(1, 4),
    hidden=st.sampled_from([64, 512, 2048]),
    circuits=st.sampled_from(["one-shot", "auto"]),
)
@settings(deadline=None, max_examples=12)
def test_bounds_are_no_more_than_replays(
    name: str, k: int, replicas: int, hidden: int, circuits: CircuitMode
) -> None:
    """Of placed replicas, with what their devices and links have to do."""
    fabric = {**fabrics(16), **grids(4)}[name]
    request = TrainingRequest(
        model_parallel=k, replicas=replicas, circuits=circuits, replayed=1
    )
    try:
        plan = planner_of(hidden).plan(fabric, request)
    except InfeasibleError:
        return
    [tried] = plan.tried
    assert tried.iteration_ps is not None
    assert 0 < tried.bound_ps <= tried.iteration_ps


def test_the_bound_of_data_parallelism_is_near() -> None:
    """What one device computes is nearly all that there is to wait for."""
    for name in fabrics(8):
        request = TrainingRequest(model_parallel=1, replicas=8, replayed=1)
        [tried] = planned(name, request, 8).tried
        assert tried.iteration_ps is not None
        assert tried.iteration_ps <= 1.05 * tried.bound_ps


def test_a_curve_makes_the_time_to_accuracy_count() -> None:
    """Where large batches save nothing the smallest one wins, and the other way."""
    flat = {8: 1000, 64: 1000}
    steep = {8: 10**6, 64: 1000}
    for curve, batch in ((flat, 8), (steep, 64)):
        plan = planned("ideal-switch", TrainingRequest(iterations=curve, replayed=9), 8)
        assert plan.strategy.batch_size == batch
        assert plan.iterations == curve[batch]
        assert plan.time_to_accuracy_ps == curve[batch] * plan.iteration_ps


@pytest.mark.parametrize("name", ["ring", *sorted(grids(4))])
def test_plans_are_reproducible(name: str) -> None:
    """The same arguments give the same plan."""
    fabric = {**fabrics(8), **grids(4)}[name]
    request = TrainingRequest(model_parallel=2, replayed=1)
    first, second = (Planner(training(16)).plan(fabric, request) for _ in range(2))
    assert first.iteration_ps == second.iteration_ps
    assert first.tried == second.tried


@pytest.mark.parametrize("name", ["ocs", "ring"])
def test_controlled_circuits_end_too(name: str) -> None:
    """Circuits that follow traffic carry everything, in whatever time."""
    plan = planned(
        name, TrainingRequest(model_parallel=4, replayed=1, circuits="controlled"), 8
    )
    once = planned(name, TrainingRequest(model_parallel=4, replayed=1), 8)
    assert plan.iteration_ps > 0
    assert plan.demand == once.demand


def test_more_partners_than_switches_are_refused() -> None:
    """Two switches do not do for four devices that share a model, and twins."""
    fabric = Ocs(
        nodes=8,
        switches=2,
        bits_per_second_per_node=10**11,
        reconfiguration_ps=10**6,
    )
    planner = Planner(training(16))
    request = TrainingRequest(
        model_parallel=4, replicas=2, replayed=1, circuits="one-shot"
    )
    with pytest.raises(InfeasibleError):
        planner.plan(fabric, request)


def test_nodes_of_a_job_are_those_that_work() -> None:
    """A training on part of a fabric leaves the rest idle."""
    request = TrainingRequest(nodes=(4, 5, 6, 7), model_parallel=2, replayed=1)
    plan = planned("ocs", request, 8)
    assert set(plan.iteration.operations.device.tolist()) == {4, 5, 6, 7}
    assert set(plan.demand.src) == {4, 5, 6, 7}


def test_strategies_fill_the_devices() -> None:
    """Every k and l, idle devices and uneven batches included; what is given kept."""
    pairs = [(one.model_parallel, one.replicas) for one in strategies(4, (3,))]
    assert pairs == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 1), (4, 1)]
    assert strategies(6, (2, 7), model_parallel=3, replicas=2) == (
        Strategy(3, 2, 2),
        Strategy(3, 2, 7),
    )
    assert [one.local_batch for one in strategies(6, (7,), 3)] == [7, 4]
    assert strategies(8, (8,), replicas=2, most=2) == (
        Strategy(1, 2, 8),
        Strategy(2, 2, 8),
    )
    assert strategies(4, (8,), powers=True) == (
        Strategy(1, 4, 8),
        Strategy(2, 2, 8),
        Strategy(4, 1, 8),
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"model_parallel": 4, "replicas": 3}, r"4 \* 3 = 12.*at most 8"),
        ({"model_parallel": 0}, "too few"),
        ({"replicas": 9}, "9 = 9.*at most 8"),
    ],
)
def test_strategies_that_make_no_sense(arguments: dict[str, int], words: str) -> None:
    """More devices than there are (k * l > N), none, and replicas without samples."""
    with pytest.raises(InputError, match=words):
        strategies(8, (8,), **arguments)


def test_a_replica_has_a_sample() -> None:
    """No batch has fewer samples than replicas."""
    with pytest.raises(InputError, match="more replicas than samples in every batch"):
        strategies(8, (3, 4), replicas=5)


def test_too_large_models_say_how_many_devices_would_do() -> None:
    """And with so many it is the memory no more."""
    huge = Training(
        batch_size=4,
        gpu="v100",
        precision="fp16",
        optimiser="adam",
        model="transformer-350m",
        parameters={"layers": 8, "hidden": 8192, "heads": 64},
    )
    fewest = smallest_fit(huge, 1, None)
    assert fewest is not None
    assert fewest > 2
    with pytest.raises(InfeasibleError, match=f"{fewest} devices or more"):
        Planner(huge).plan(
            fabrics(4)["ideal-switch"], TrainingRequest(model_parallel=1, replicas=4)
        )


def test_too_many_samples_say_how_many_devices_would_do() -> None:
    """So many share the model already, but then a replica has all samples."""
    wide = Training(
        batch_size=32,
        gpu="v100",
        precision="fp16",
        optimiser="adam",
        model="transformer-350m",
        parameters={"layers": 4, "hidden": 8192, "heads": 64},
    )
    fewest = smallest_fit(wide, 8, None)
    assert fewest is not None
    assert 1 < fewest <= 4
    says = f"1 x 1 devices: .*memory.*; {fewest} devices hold a replica of 8 samples"
    with pytest.raises(InfeasibleError, match=says):
        Planner(wide).plan(fabrics(4)["ideal-switch"])


def test_fabrics_without_circuits_for_trainings_are_refused() -> None:
    """The error lists the kinds of fabric that can be used."""
    fabric = Ramp(groups=2, racks=2, nodes_per_rack=2)
    with pytest.raises(InputError) as caught:
        Planner(training()).plan(fabric, TrainingRequest(circuits="one-shot"))
    kinds = [name for name, plug in PLUGS.items() if plug.circuits]
    for kind in (*kinds, "without circuits"):
        assert kind in str(caught.value)


def test_cuts_spare_memory_where_it_is_short() -> None:
    """Copies of parameters give way to slices of them, and the parts then fit."""
    graph = computation_graph(training(8, hidden=1024))
    plenty = split_graph(graph, devices=8, distance=7, backward="in-place")
    needed = sum(plenty.workload.memory_bytes)
    short = split_graph(
        graph,
        devices=8,
        distance=7,
        backward="in-place",
        device_memory_bytes=needed // 8 - 1,
    )
    assert sum(short.workload.memory_bytes) < needed


def test_controllers_keep_a_circuit_for_every_known_pair() -> None:
    """What was measured gets the rest; what finds no port waits."""
    ocs = Ocs(nodes=4, switches=3, bits_per_second_per_node=3 * 10**9)
    known = Demand.from_rows([(0, 1, 5), (0, 2, 5), (1, 2, 5)])
    held = held_for(ocs, known, Demand.from_rows([(0, 1, 1000)]))
    lit = sorted(
        pair
        for circuits in held.values()
        for pair in zip(circuits.src.tolist(), circuits.dst.tolist(), strict=True)
    )
    assert set(lit) == {(0, 1), (0, 2), (1, 2)}
    assert lit.count((0, 1)) == 2
    crowd = Demand.from_rows([(0, 1, 9), (0, 2, 8), (0, 3, 1)])
    two = Ocs(nodes=4, switches=2, bits_per_second_per_node=2 * 10**9)
    held = held_for(two, Demand.from_rows([]), crowd)
    assert sorted(int(circuits.dst[0]) for circuits in held.values()) == [1, 2]
    ring = Ring(nodes=8, wavelengths=2, reach=4)
    many = Demand.from_rows([(0, dst, dst) for dst in range(1, 5)])
    lit_ring = held_for(ring, Demand.from_rows([]), many)[0]
    assert sorted(lit_ring.dst.tolist()) == [3, 4]


RACK = Lightpath(rows=4, cols=6)


def switches(nodes: int) -> Ocs:
    """Return sixteen switches with 1 Tb/s a node."""
    return Ocs(nodes=nodes, switches=16, bits_per_second_per_node=10**12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fabric", "model", "batch", "by_hand", "most_us"),
    [
        (RACK, "resnet-50", 100, (1, 20), 863),
        (switches(24), "bert-large", 7, (1, 7), 10_136),
        (switches(24), "bert-large", 60, (1, 20), 12_415),
        (switches(12), "bert-large", 48, (1, 4), 21_399),
    ],
)
def test_no_worse_than_by_hand(
    fabric: Lightpath | Ocs,
    model: str,
    batch: int,
    by_hand: tuple[int, int],
    most_us: int,
) -> None:
    """With idle nodes and uneven batches, on circuits that stay."""
    planner = Planner(
        Training(
            batch_size=batch,
            gpu="h100",
            precision="fp16",
            optimiser="adam",
            model=model,
            parameters={},
        )
    )
    k, replicas = by_hand
    named = TrainingRequest(
        circuits="critical-path", model_parallel=k, replicas=replicas
    )
    plan = planner.plan(fabric, TrainingRequest(circuits="critical-path"))
    assert plan.iteration_ps <= planner.plan(fabric, named).iteration_ps
    assert plan.iteration_ps <= most_us * PS_PER_US
