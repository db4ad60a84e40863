"""Nothing asked: every solver and every algorithm of ours serves it at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lightloom.core.outcome import Reason
from lightloom.core.task import Collective, Demand
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.instance import Instance
from lightloom.problems import PROBLEMS
from lightloom.solvers import run
from lightloom.validate import verify
from tests.models.available import INTEGER_SOLVERS

if TYPE_CHECKING:
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

NOTHING = Demand((), (), ())
ALONE = Collective("all-gather", (2,), 8)
SWITCHES = Ocs(nodes=4, switches=2, bits_per_second_per_node=8)
MATCHED = Ocs(nodes=4, switches=2, bits_per_second_per_node=8, bidirectional=True)
CASES = {
    "ring": ("ring", Ring(nodes=4, wavelengths=2), NOTHING),
    "switches": ("ocs", SWITCHES, NOTHING),
    "routing": ("routing", Lightpath(rows=2, cols=2), NOTHING),
    "rounds": ("rounds", Lightpath(rows=2, cols=2), ALONE),
}
VARIANTS: dict[str, tuple[dict[str, object], ...]] = {
    "ring": ({}, {"pinned": True}, {"statement": "ratio"}),
    "ocs": ({}, {"pinned": True}, {"statement": "ratio"}),
    "routing": ({}, {"form": "paths"}),
    "rounds": ({}, {"pinned": True}),
}


MODELLED = {**CASES, "bidirectional switches": ("ocs", MATCHED, NOTHING)}


@pytest.mark.parametrize("solver", INTEGER_SOLVERS)
@pytest.mark.parametrize("case", MODELLED.values(), ids=MODELLED)
def test_models_answer_with_nothing(
    case: tuple[str, AnyFabric, Task], solver: str
) -> None:
    """Proven optimal at zero, and what is a schedule is an empty one that verifies."""
    name, fabric, task = case
    problem, instance = PROBLEMS[name].model(), Instance(fabric, task, "nothing")
    for variant in VARIANTS[name]:
        model = problem.build(instance, **variant)
        assert run(model, solver).reason is Reason.PROVEN_OPTIMAL
        answer = problem.decode(model)
        assert problem.objective(answer) == 0
        if problem.schedule is not None:
            schedule = problem.schedule(instance, answer)
            assert not schedule.segments or not schedule.segments[0].circuits.src.size
            assert verify(schedule).violations == ()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_own_algorithms_answer_with_nothing(case: tuple[str, AnyFabric, Task]) -> None:
    """Our own algorithms give the same value and prove it."""
    name, fabric, task = case
    found = PROBLEMS[name].solve(Instance(fabric, task, "nothing"), 0)
    assert found.value == 0
    assert found.proved
    assert found.schedule is not None
    assert verify(found.schedule()).violations == ()
