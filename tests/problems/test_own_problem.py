"""A problem of one's own: one record, found and solved like those of the package."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from lightloom.core.certificate import Certificate
from lightloom.core.errors import InputError
from lightloom.core.task import Demand
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.instances.instance import Instance
from lightloom.models import ModelSize
from lightloom.problems import (
    PROBLEMS,
    Formulation,
    Problem,
    ProblemAnswer,
    problem_for,
)
from lightloom.problems.checked_answer import check_answer
from lightloom.problems.solve import solve
from lightloom.solvers import SolveOptions
from lightloom.validate.certificates import NotProvenError
from tests.cli.program import run_json

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.solvers import Model

ASKED = Instance(IdealSwitch(nodes=3), Demand((0, 1), (1, 2), (8, 5)), "two")
FILE = """
[fabric]
kind = "ideal-switch"
nodes = 3
[demand]
src = [0, 1]
dst = [1, 2]
bytes = [8, 5]
"""


class MostBytes:
    """The largest pair of a demand, in bytes."""

    kinds = ("row",)

    def __init__(self, instance: Instance) -> None:
        assert isinstance(instance.task, Demand)
        self.bytes = instance.task.bytes

    def prove(self, kind: str, witness: object, bound: int) -> None:
        """Accept a row that has as many bytes."""
        assert kind == "row"
        if self.bytes[witness["row"]] < bound:
            message = "the row has fewer bytes"
            raise NotProvenError(message)


def largest(instance: Instance, seed: int) -> ProblemAnswer:
    """Return the bytes of the largest pair, with its row."""
    del seed
    certificates = bounds(MostBytes(instance), 0)
    value = max(MostBytes(instance).bytes)
    return ProblemAnswer(value, value, certificates=certificates, found=value)


def bounds(asked: MostBytes, seed: int) -> tuple[Certificate, ...]:
    """Return the row of the largest pair."""
    del seed
    most = max(asked.bytes)
    witness = {"row": asked.bytes.index(most)}
    return (Certificate("most-bytes", "row", most, None, witness),)


def model() -> Formulation:
    """Return it as a Pyomo model."""
    import pyomo.environ as pyo

    def build(instance: Instance, *, least: int = 0) -> Model:
        stated = pyo.ConcreteModel()
        stated.most = pyo.Var(within=pyo.Integers, bounds=(least, None))
        stated.rows = pyo.Constraint(
            range(len(instance.task.bytes)),
            rule=lambda m, row: m.most >= instance.task.bytes[row],
        )
        stated.objective = pyo.Objective(expr=stated.most)
        return stated

    return Formulation(
        build=build,
        decode=lambda stated: round(stated.most.value),
        objective=Fraction,
        size=lambda instance, **_: ModelSize(len(instance.task.bytes), 1, 2),
    )


PROBLEM = Problem(
    name="most-bytes",
    summary="bytes of the largest pair",
    sense="minimise",
    unit="bytes",
    fabric=IdealSwitch,
    tasks=(Demand,),
    question=MostBytes,
    solve=largest,
    bounds=bounds,
    formulation=model,
    variants=(("least", "bytes there are at least"),),
    measure=lambda instance, found: max(found, *instance.task.bytes),
)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the problem registered for one test."""
    monkeypatch.setattr(PROBLEMS, "_registered", {})
    PROBLEMS.register(PROBLEM)


def test_it_is_told_from_the_instance() -> None:
    """Fabric and task say which problem is asked, where there is one only."""
    assert problem_for(ASKED) is PROBLEM
    assert problem_for(ASKED, "most-bytes") is PROBLEM
    grid = Instance(Lightpath(rows=1, cols=3), ASKED.task, "grid")
    assert problem_for(grid).name == "routing"


@pytest.mark.parametrize("solver", [None, "lightloom", "highs"])
def test_everybody_solves_it(solver: str | None) -> None:
    """Our own algorithm is the default; a solver takes the model."""
    found = solve(ASKED, solver=solver)
    assert (found.value, found.bound, found.answer) == (8, 8, 8)
    assert (found.status.value, found.schedule) == ("proven optimal", None)
    assert found.outcome.provenance is not None
    assert found.outcome.provenance.solver == solver or solver is None


def test_variants_and_limits_are_for_solvers() -> None:
    """A solver is asked by default where there are any; unknown ones are refused."""
    assert solve(ASKED, variant={"least": 9}).value == 9
    with pytest.raises(InputError, match="did you mean least"):
        solve(ASKED, variant={"last": 9})
    with pytest.raises(InputError, match="lightloom takes none"):
        solve(ASKED, solver="lightloom", options=SolveOptions(node_limit=1))
    with pytest.raises(InputError, match="did you mean highs"):
        solve(ASKED, solver="higs")


def test_answers_are_checked() -> None:
    """The value by its rules, the bound by its witness, whoever claims them."""
    honest = largest(ASKED, 0)
    checked = check_answer(PROBLEM, ASKED, honest, trusted=False)
    assert (checked.verified, checked.certified, checked.kind) == (True, True, "row")
    low = ProblemAnswer(7, 7, found=7)
    assert "claims 7" in check_answer(PROBLEM, ASKED, low, trusted=False).fault
    bold = ProblemAnswer(8, 9, certificates=honest.certificates, found=8)
    assert "proves 8" in check_answer(PROBLEM, ASKED, bold, trusted=False).fault


def test_the_command_line_knows_it(tmp_path: Path) -> None:
    """The same look-up serves `solve` and `bound`."""
    path = tmp_path / "two.toml"
    path.write_text(FILE)
    said = run_json("solve", str(path))
    assert (said["problem"], said["answer"], said["unit"]) == (
        "most-bytes",
        "8",
        "bytes",
    )
    proven = run_json("bound", str(path), "--problem", "most-bytes")
    assert (proven["bound"], proven["kind"]) == (8, "row")


def test_what_a_problem_does_not_have_is_refused() -> None:
    """No model, no algorithm, no bounds: each is said, with what to use."""
    bare = Problem(name="bare", summary="", sense="minimise", unit="")
    with pytest.raises(InputError, match="no algorithm of its own"):
        solve(ASKED, bare, "lightloom")
    with pytest.raises(InputError, match="bare has no model"):
        solve(ASKED, bare)
    with pytest.raises(InputError, match="no bounds are known"):
        bare.checked_bounds(ASKED)


def test_several_problems_or_none_are_named() -> None:
    """Without a name the instance must leave one."""
    twin = Problem(name="twin", summary="", sense="minimise", unit="", tasks=(Demand,))
    PROBLEMS.register(twin)
    with pytest.raises(InputError, match="several problems"):
        solve(ASKED)
