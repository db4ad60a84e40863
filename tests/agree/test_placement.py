"""Placement of operations: exhaustive search = every solver, each rule checked."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import msgspec
import pytest

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.outcome import Reason
from lightloom.core.task import Demand, Workload
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.instances.instance import Instance
from lightloom.models.placement import build, decode, objective, size
from lightloom.solvers import run
from tests.examples.small_workloads import (
    fits,
    placing,
    random_workload,
    shortest_by_search,
)
from tests.models.available import INTEGER_SOLVERS

if TYPE_CHECKING:
    from lightloom.core.placement import Placement

DIAMOND = Workload(
    ("read", "left", "right", "join"),
    (2, 5, 4, 1),
    (1, 1, 1, 1),
    (0, 0, 1, 2),
    (1, 2, 3, 3),
    (8, 8, 8, 8),
    3,
    1,
)
"""An operation in front of two, and one behind them, on three devices."""


def _checked(answer: Placement) -> int:
    """Return the makespan, after asserting every rule of the placement."""
    workload = answer.workload
    device = tuple(answer.device.tolist())
    start, end = answer.start_ps.tolist(), answer.end_ps.tolist()
    assert fits(workload, device)
    assert min(start) >= 0
    for src, dst in zip(workload.src, workload.dst, strict=True):
        assert start[dst] >= end[src]
    for a, b in itertools.combinations(range(len(device)), 2):
        instant = start[a] == end[a] or start[b] == end[b]
        if device[a] == device[b] and not instant:
            assert end[a] <= start[b] or end[b] <= start[a]
    assert objective(answer) == max(end)
    return int(max(end))


def _solved(instance: Instance, solver: str, *, pinned: bool = False) -> int | None:
    """Return the least makespan by the model; ``None`` if infeasible."""
    try:
        model = build(instance, pinned=pinned)
    except InfeasibleError:
        return None
    outcome = run(model, solver)
    if outcome.reason is Reason.PROVEN_INFEASIBLE:
        return None
    assert outcome.reason is Reason.PROVEN_OPTIMAL
    return _checked(decode(model))


CASES = [
    (4, 2, 0, None, 0),
    (4, 2, 1, None, 1),
    (4, 3, 1, None, 2),
    (4, 3, 1, 4, 3),
    (5, 2, 1, 7, 4),
    (5, 3, 1, 6, 5),
    (5, 3, 2, None, 6),
    (5, 3, 0, 9, 7),
    (5, 4, 1, 4, 8),
    (6, 2, 1, 8, 9),
]


@pytest.mark.parametrize("solver", INTEGER_SOLVERS)
@pytest.mark.parametrize(("ops", "devices", "distance", "memory", "seed"), CASES)
def test_model_meets_the_exhaustive_search(
    ops: int, devices: int, distance: int, memory: int | None, seed: int, solver: str
) -> None:
    """Over every placement and order nothing ends sooner, pinned or not."""
    workload = random_workload(ops, devices, distance, seed, most_memory=memory)
    least = shortest_by_search(workload)
    assert _solved(placing(workload), solver) == least
    assert _solved(placing(workload), solver, pinned=True) == least


@pytest.mark.parametrize(
    ("distance", "devices", "makespan"), [(1, 3, 8), (0, 3, 12), (2, 3, 8), (0, 1, 12)]
)
def test_a_diamond_by_hand(distance: int, devices: int, makespan: int) -> None:
    """Both branches at once where two devices may talk, one by one where not."""
    workload = msgspec.structs.replace(DIAMOND, distance=distance, devices=devices)
    assert _solved(placing(workload), "highs") == makespan


def test_the_window_goes_round_the_ring() -> None:
    """From the last device an operation may pass on to device 0, not backwards."""
    workload = Workload(
        ("a", "b", "c", "d"),
        (1, 1, 1, 1),
        (1, 1, 1, 1),
        (0, 1, 2),
        (1, 2, 3),
        (8, 8, 8),
        3,
        1,
        2,
    )
    assert _solved(placing(workload), "highs") == 4
    model = build(placing(workload), pinned=False)
    model.on[0, 2].fix(1)
    assert run(model, "highs").reason is Reason.PROVEN_OPTIMAL
    device = decode(model).device.tolist()
    assert 0 in device
    model.on[1, 1].fix(1)
    assert run(model, "highs").reason is Reason.PROVEN_INFEASIBLE


def test_degrees_count_each_way() -> None:
    """Partners are other devices, those sent to apart from those received from."""
    model = build(placing(DIAMOND))
    assert run(model, "highs").reason is Reason.PROVEN_OPTIMAL
    answer = decode(model)
    out, into = answer.degrees
    assert 1 <= out <= DIAMOND.distance
    assert 1 <= into <= DIAMOND.distance


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"device_memory_bytes": 0}, "operation 'read' fits no device"),
        (
            {"device_memory_bytes": 1},
            "the operations fit 3 devices in no way; found '4 B'; allowed: 1 B",
        ),
        (
            {"device_memory_bytes": 3, "distance": 0},
            "operations that must share a device do not fit: 'read', 'left'",
        ),
    ],
)
def test_what_fits_nowhere_is_named_before_solving(
    change: dict[str, int], words: str
) -> None:
    """The operations that do not fit are in the message; nothing is solved."""
    with pytest.raises(InfeasibleError) as caught:
        build(placing(msgspec.structs.replace(DIAMOND, **change)))
    assert words in str(caught.value)
    assert caught.value.exit_code == 4


def test_demands_are_refused() -> None:
    """A demand has no operations."""
    instance = Instance(IdealSwitch(nodes=2), Demand((0,), (1,), (1,)), "d")
    with pytest.raises(InputError, match="places operations"):
        build(instance)
    with pytest.raises(InputError, match="placed, not scheduled"):
        _ = placing(DIAMOND).communication


@pytest.mark.parametrize(("ops", "devices", "distance", "memory", "seed"), CASES)
def test_size_is_an_upper_estimate(
    ops: int, devices: int, distance: int, memory: int | None, seed: int
) -> None:
    """What is built is never larger than what was said before."""
    import pyomo.environ as pyo

    instance = placing(
        random_workload(ops, devices, distance, seed, most_memory=memory)
    )
    told = size(instance)
    try:
        model = build(instance)
    except InfeasibleError:
        return
    assert len(list(model.component_data_objects(pyo.Var))) <= told.columns
    assert len(list(model.component_data_objects(pyo.Constraint))) <= told.rows
