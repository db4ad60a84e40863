"""A fabric of one's own, registered from Python: everything works on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lightloom.core.errors import InputError
from lightloom.core.task import Collective, Demand
from lightloom.formats.schedule_reader import read_schedule
from lightloom.instances.collectives import COLLECTIVES
from lightloom.instances.fabrics import FABRICS
from lightloom.instances.instance import Instance
from lightloom.replay import replay
from lightloom.synth.fabrics import PLUGS
from lightloom.synth.publish import publish
from lightloom.synth.synthesise import synthesise
from lightloom.training.planner import Planner
from lightloom.training.training_plan import TrainingRequest
from lightloom.validate import verify
from tests.examples.small_trainings import training
from tests.external_package.loom_extras.star import FABRIC, PLUG, Star

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.training.fabric_networks import CircuitMode


@pytest.fixture
def star(monkeypatch: pytest.MonkeyPatch) -> Star:
    """Return a fabric of a kind that is registered for one test."""
    for catalogue, entry in ((FABRICS, FABRIC), (PLUGS, PLUG)):
        monkeypatch.setattr(catalogue, "_registered", {})
        catalogue.register(entry)
    return Star(nodes=8)


@pytest.mark.parametrize("op", COLLECTIVES)
def test_collectives_are_synthesised(star: Star, op: str, tmp_path: Path) -> None:
    """Verified and replayed, also after a round through a file."""
    task = Collective(op, tuple(range(8)), 8 * 960)
    made = synthesise(Instance(star, task, "a test")).incumbent
    assert made is not None
    assert len(made.compared) > 1
    path = str(tmp_path / "x.jsonl")
    assert publish(made.schedule, path).valid
    read = read_schedule(path)
    assert verify(read).violations == ()
    assert replay(read).completion_time_ps == made.completion_time_ps
    assert made.certificate is not None
    assert made.certificate.bound <= made.completion_time_ps


def test_demands_are_synthesised(star: Star) -> None:
    """Both algorithms for demands serve them."""
    demand = Demand.from_rows([(0, 1, 500), (0, 2, 700), (3, 1, 90), (7, 6, 5)])
    made = synthesise(Instance(star, demand, "a test")).incumbent
    assert made is not None
    assert verify(made.schedule).violations == ()
    compared = {one.algorithm for one in made.compared}
    assert compared == {"edge-colouring", "greedy"}


def test_without_a_plug_nothing_is_made(
    star: Star, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says what to register."""
    monkeypatch.setattr(PLUGS, "_registered", {})
    task = Collective("all-reduce", tuple(range(8)), 960)
    with pytest.raises(InputError, match=r"star.*add-a-fabric"):
        synthesise(Instance(star, task, "a test"))


@pytest.mark.parametrize("circuits", ["one-shot", "controlled"])
def test_trainings_run(star: Star, circuits: CircuitMode) -> None:
    """Replicas sum their gradients around the ring that the lasers are tuned to."""
    request = TrainingRequest(model_parallel=1, replicas=8, circuits=circuits)
    plan = Planner(training(8)).plan(star, request)
    assert plan.partners == 1
    assert plan.iteration_ps > 0
