"""Models as plugs: catalogue, sizes, bad questions, determinism."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.task import Collective, Demand
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.instances.instance import Instance
from lightloom.models import rounds, routing
from lightloom.problems import PROBLEMS
from lightloom.solvers.standard_form import TriviallyInfeasibleError, compile_model
from tests.examples.collectives_on_grids import grid

ALL_GATHER = grid(2, 2, "all-gather")
TRAFFIC = Instance(Lightpath(rows=2, cols=2), Demand((0, 1), (3, 2), (8, 8)), "d")


def test_importing_the_room_loads_no_pyomo() -> None:
    """Only a module of the room loads Pyomo."""
    code = "import sys, lightloom.models; print('pyomo' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert run.stdout.split() == [b"False"]


@settings(max_examples=30)
@given(st.data())
def test_size_is_an_upper_estimate(data: st.DataObject) -> None:
    """No model is larger than was said before it was built."""
    op = data.draw(st.sampled_from(["all-gather", "all-to-all", "broadcast", "gather"]))
    rows, cols = data.draw(st.sampled_from([(1, 3), (2, 2), (2, 3)]))
    lasers = data.draw(st.integers(1, 3))
    instance = grid(rows, cols, op, lasers=lasers)
    variant = {
        "horizon": data.draw(st.integers(1, 4)),
        "wavelengths": data.draw(st.sampled_from(["explicit", "aggregated"])),
        "paths": data.draw(st.integers(1, 3)),
        "objective": data.draw(st.sampled_from(["rounds", "feasibility"])),
        "pinned": data.draw(st.booleans()),
    }
    _compare("rounds", instance, variant)
    requests = [(0, 1), (1, 2), (0, 1)]
    form = data.draw(st.sampled_from(["arcs", "paths"]))
    _compare("routing", instance, {"requests": requests, "form": form})


def _compare(name: str, instance: Instance, variant: dict[str, object]) -> None:
    problem = PROBLEMS[name].model()
    model = problem.build(instance, **variant)
    size = problem.size(instance, **variant)
    assert model.nconstraints() <= size.rows
    try:
        form = compile_model(model).form
    except TriviallyInfeasibleError:
        return
    assert form.columns <= size.columns
    assert form.nonzeros <= size.nonzeros


@pytest.mark.parametrize(
    ("instance", "words"),
    [
        (TRAFFIC, "chunks of a collective"),
        (grid(2, 2, "all-reduce"), "does not reduce"),
        (
            Instance(IdealSwitch(nodes=2), Collective("all-gather", (0, 1), 2), "p"),
            "about light paths",
        ),
    ],
)
def test_rounds_of_other_problems_are_refused(instance: Instance, words: str) -> None:
    """A demand, a reduction and a packet fabric are named as what they are."""
    with pytest.raises(InputError, match=words):
        rounds.build(instance)


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        ({"objective": "fewest"}, "objective.*rounds, feasibility"),
        ({"wavelengths": "some"}, "wavelengths.*explicit, aggregated"),
        ({"paths": 0}, "at least 1"),
        ({"paths": {(0, 1): ((0, 1),)}}, "no candidate route"),
        ({"paths": {(0, 1): ((0, 2),)}}, "not a simple path from 0 to 1"),
        ({"paths": {(0, 1): ((0, 2, 1),)}}, "not a simple path from 0 to 1"),
        ({"paths": {(0, 1): ((0, 2, 0, 1),)}}, "not a simple path from 0 to 1"),
        ({"horizon": 2, "least": 3}, "least.*0 to 2"),
        ({"horizon": -1}, "least.*0 to -1"),
    ],
)
def test_unknown_variants_are_refused(variant: dict[str, object], words: str) -> None:
    """What a variant may be is part of the message."""
    with pytest.raises(InputError, match=words):
        rounds.build(ALL_GATHER, **variant)  # type: ignore[arg-type]


def test_plainly_infeasible_instances_are_named() -> None:
    """No lasers, no waveguides, no rounds: said before any solver is asked."""
    with pytest.raises(InfeasibleError, match="no lasers"):
        rounds.build(grid(2, 2, "all-gather", lasers=0))
    with pytest.raises(InfeasibleError, match="no route from 0 to 1"):
        rounds.build(grid(2, 2, "all-gather", waveguides=0))
    with pytest.raises(InfeasibleError, match="no round"):
        rounds.build(ALL_GATHER, horizon=0)
    closed = Instance(Lightpath(rows=1, cols=4, waveguides=0), TRAFFIC.task, "c")
    with pytest.raises(InfeasibleError, match="no route from 0 to 1"):
        routing.build(closed, requests=[(0, 1)])


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        ({"form": "trees"}, "arcs, paths"),
        ({"requests": [(0, 4)]}, "row 0"),
        ({"requests": [(0, 1), (2, 2)]}, "row 1"),
        ({"form": "paths", "paths": {}}, "no candidate route"),
    ],
)
def test_bad_requests_are_refused(variant: dict[str, object], words: str) -> None:
    """A request outside the grid is named by its row."""
    with pytest.raises(InputError, match=words):
        routing.build(TRAFFIC, **variant)  # type: ignore[arg-type]


def test_routing_takes_what_passes_nothing_on() -> None:
    """An all-to-all is a request for each delivery; an all-gather is no routing."""
    model = routing.build(grid(2, 2, "all-to-all"))
    assert len(model.question.requests) == 12
    with pytest.raises(InputError, match="depends on its algorithm"):
        routing.build(ALL_GATHER)


def test_redundant_equations_change_no_optimum() -> None:
    """With (11) and (12) there are more rows over the same columns."""
    plain, stated = (
        compile_model(routing.build(TRAFFIC, degrees=degrees)).form
        for degrees in (False, True)
    )
    assert stated.rows > plain.rows
    assert stated.columns == plain.columns


_HASHES = """
from tests.models.test_models import ALL_GATHER, TRAFFIC
from lightloom.models import rounds, routing
from lightloom.solvers.standard_form import TriviallyInfeasibleError, compile_model
for model in (
    rounds.build(ALL_GATHER, horizon=2, pinned=True),
    rounds.build(ALL_GATHER, horizon=2, wavelengths="aggregated"),
    routing.build(TRAFFIC),
    routing.build(TRAFFIC, form="paths", tie_break=True),
):
    print(compile_model(model).form.sha256())
"""


def test_models_do_not_depend_on_the_hash_seed() -> None:
    """Two hash seeds, the same matrices to the last bit."""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", _HASHES],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert len(outputs.pop().split()) == 4
