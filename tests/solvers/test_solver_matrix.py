"""Every solver of the catalogue gives the same answers to the same questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyomo.environ as pyo
import pytest

from lightloom.core.errors import InputError
from lightloom.core.outcome import Limit, Reason
from lightloom.solvers import (
    SOLVERS,
    SolveOptions,
    SolverUnavailableError,
    run,
)
from tests.examples.small_models import (
    NAMES,
    assignment,
    brute_force,
    knapsack,
    production,
    require,
)

if TYPE_CHECKING:
    from lightloom.solvers import Progress

every_solver = pytest.mark.parametrize("name", NAMES)
HARD = (100, 20, 1)


def test_every_solver_is_in_the_matrix() -> None:
    """A new solver runs all tests here, and says so in this list."""
    assert NAMES == ("cp-sat", "gurobi", "highs", "pdlp", "scip")
    assert {adapter.name for adapter in SOLVERS.values()} == set(NAMES)


@every_solver
def test_linear_program(name: str) -> None:
    """A linear program is solved to its optimum, constant of the objective included."""
    require(name, "lp")
    model = production()
    outcome = run(model, name)
    assert outcome.reason is Reason.PROVEN_OPTIMAL
    assert outcome.objective == pytest.approx(43, rel=1e-4)
    assert outcome.bound == pytest.approx(43, rel=1e-4)
    assert model.a.value == pytest.approx(2, abs=1e-3)
    assert model.b.value == pytest.approx(6, abs=1e-3)
    assert outcome.limit is None


@every_solver
@pytest.mark.parametrize("seed", range(3))
def test_brute_force_agrees_on_knapsacks(name: str, seed: int) -> None:
    """A random knapsack has the optimum that trying all subsets finds."""
    require(name, "integer")
    model = knapsack(9, 3, seed)
    best = brute_force(model)
    outcome = run(model, name)
    assert outcome.reason is Reason.PROVEN_OPTIMAL
    assert outcome.objective == best == outcome.bound == pyo.value(model.worth)
    assert isinstance(outcome.objective, int)
    assert {type(v.value) for v in model.take.values()} == {int}


@every_solver
@pytest.mark.parametrize("seed", range(4))
def test_brute_force_agrees_on_assignments(name: str, seed: int) -> None:
    """A random assignment with clashes is solved, or shown infeasible, rightly."""
    require(name, "integer")
    model = assignment(3, seed)
    best = brute_force(model)
    outcome = run(model, name)
    assert outcome.objective == best
    expected = Reason.PROVEN_INFEASIBLE if best is None else Reason.PROVEN_OPTIMAL
    assert outcome.reason is expected
    assert (outcome.incumbent is None) == (best is None)


def test_assignments_cover_both_ends() -> None:
    """The random assignments above have feasible and infeasible ones among them."""
    best = [brute_force(assignment(3, seed)) for seed in range(4)]
    assert None in best
    assert any(value is not None for value in best)


@every_solver
@pytest.mark.parametrize("kind", ["lp", "integer"])
def test_infeasible(name: str, kind: str) -> None:
    """A model without a point is proven infeasible, and claims nothing else."""
    require(name, kind)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(
        range(2), within=pyo.Reals if kind == "lp" else pyo.Integers, bounds=(0, 9)
    )
    model.low = pyo.Constraint(expr=model.x[0] + model.x[1] >= 5)
    model.high = pyo.Constraint(expr=model.x[0] + 2 * model.x[1] <= 4)
    outcome = run(model, name)
    assert outcome.reason is Reason.PROVEN_INFEASIBLE
    assert (outcome.incumbent, outcome.objective, outcome.bound) == (None, None, None)


@every_solver
def test_unbounded(name: str) -> None:
    """A model without an optimum is a failure that says so, not an infeasible one."""
    require(name, "lp")
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), bounds=(0, None))
    model.apart = pyo.Constraint(expr=model.x[0] - model.x[1] <= 1)
    model.more = pyo.Objective(expr=model.x[0] + model.x[1], sense=pyo.maximize)
    outcome = run(model, name)
    assert outcome.reason is Reason.FAILED
    assert outcome.detail == ("the objective is unbounded",)
    assert outcome.incumbent is None


@every_solver
def test_rows_of_every_shape(name: str) -> None:
    """Equations, ranges, both inequalities, negative bounds and fixed variables."""
    require(name, "integer")
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(5), within=pyo.Integers, bounds=(-7, 8))
    x = model.x
    x[4].fix(2)
    model.equal = pyo.Constraint(expr=x[0] + x[1] == 1)
    model.range = pyo.Constraint(expr=(-3, x[1] - x[2] + x[4], 4))
    model.low = pyo.Constraint(expr=x[3] + x[0] >= -8)
    model.high = pyo.Constraint(expr=2 * x[2] + x[3] + 1 <= 6)
    model.least = pyo.Objective(expr=3 * x[0] + x[1] - x[2] + 2 * x[3] + x[4])
    outcome = run(model, name)
    assert outcome.reason is Reason.PROVEN_OPTIMAL
    grid = range(-7, 9)
    best = min(
        3 * a + (1 - a) - c + 2 * d + 2
        for a in grid
        for c in grid
        for d in grid
        if -7 <= 1 - a <= 8
        and -3 <= 1 - a - c + 2 <= 4
        and a + d >= -8
        and 2 * c + d + 1 <= 6
    )
    assert outcome.objective == best


@every_solver
def test_no_objective(name: str) -> None:
    """A question of feasibility has objective 0 and a point."""
    require(name, "integer")
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(3), within=pyo.Binary)
    model.two = pyo.Constraint(expr=sum(model.x[i] for i in range(3)) == 2)
    model.none = pyo.Objective(expr=0)
    outcome = run(model, name)
    assert outcome.reason is Reason.PROVEN_OPTIMAL
    assert outcome.objective == 0
    assert sum(model.x[i].value for i in range(3)) == 2


@every_solver
def test_time_limit_keeps_the_incumbent(name: str) -> None:
    """Out of time, the best point so far is the answer, with a bound beyond it."""
    require(name, "integer")
    model = knapsack(300, 60, 1)
    for limit_s in (1.0, 8.0, 64.0):  # a busy machine needs longer for a first point
        outcome = run(model, name, SolveOptions(time_limit_s=limit_s))
        if outcome.incumbent is not None:
            break
    assert outcome.reason is Reason.STOPPED_WITH_ANSWER
    assert outcome.limit is Limit.TIME
    assert outcome.objective == pyo.value(model.worth) < outcome.bound
    assert outcome.provenance.time_limit_s == limit_s


@every_solver
def test_node_limit_is_reproducible(name: str) -> None:
    """Two runs with a node limit give the same incumbent and bound."""
    require(name, "integer")
    options = SolveOptions(node_limit=10, seed=7)
    first, second = (run(knapsack(*HARD), name, options) for _ in range(2))
    assert first.reason is Reason.STOPPED_WITH_ANSWER
    assert first.limit is Limit.NODES
    assert np.array_equal(first.incumbent, second.incumbent)
    assert (first.objective, first.bound) == (second.objective, second.bound)
    assert first.provenance.model_sha256 == second.provenance.model_sha256


@every_solver
def test_progress(name: str) -> None:
    """While it runs a solver tells of points and bounds that close in."""
    require(name, "integer")
    for limit_s in (1.0, 8.0, 64.0):  # a busy machine needs longer for a first point
        told: list[Progress] = []
        run(knapsack(*HARD), name, SolveOptions(time_limit_s=limit_s), told.append)
        if any(news.objective is not None for news in told):
            break
    best = [news.objective for news in told if news.objective is not None]
    assert best == sorted(best)
    assert best
    assert len(told) < 5 * limit_s + 15
    assert all(news.gap >= 0 for news in told if news.gap is not None)


@every_solver
def test_misspelt_option(name: str) -> None:
    """An option that the solver does not know is refused, not ignored."""
    require(name, "lp" if name == "pdlp" else "integer")
    model = production() if name == "pdlp" else knapsack(5, 2, 1)
    with pytest.raises(InputError, match="no_such_option"):
        run(model, name, SolveOptions(extra={"no_such_option": 1}))


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("cp-sat", "random_seed", 3),
        ("gurobi", "TimeLimit", 3.0),
        ("highs", "time_limit", 3.0),
        ("pdlp", "num_threads", 3),
        ("scip", "limits/time", 3.0),
    ],
)
def test_option_decided_elsewhere(name: str, option: str, value: float) -> None:
    """An extra option cannot override a limit of the provenance."""
    require(name, "lp" if name == "pdlp" else "integer")
    model = production() if name == "pdlp" else knapsack(5, 2, 1)
    with pytest.raises(InputError, match="decided by the options"):
        run(model, name, SolveOptions(extra={option: value}))


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("cp-sat", "linearization_level", 2),
        ("gurobi", "Presolve", 0),
        ("highs", "presolve", "off"),
        ("scip", "branching/scorefunc", "p"),
        ("scip", "separating/maxrounds", 3),
        ("scip", "numerics/epsilon", 1e-8),
    ],
)
def test_extra_option(name: str, option: str, value: float | str) -> None:
    """An option in the solver's own words is taken."""
    require(name, "integer")
    outcome = run(knapsack(5, 2, 1), name, SolveOptions(extra={option: value}))
    assert outcome.reason is Reason.PROVEN_OPTIMAL


def test_cp_sat_refuses_continuous_variables() -> None:
    """CP-SAT would round them to integers without a word."""
    require("cp-sat", "integer")
    with pytest.raises(SolverUnavailableError, match=r"variable a: .*Reals"):
        run(production(), "cp-sat")


def test_cp_sat_refuses_unbounded_integers() -> None:
    """CP-SAT would cut their range without a word."""
    require("cp-sat", "integer")
    model = pyo.ConcreteModel()
    model.count = pyo.Var(within=pyo.NonNegativeIntegers)
    model.row = pyo.Constraint(expr=model.count >= 3)
    with pytest.raises(
        SolverUnavailableError, match=r"variable count: .*0\.0 \.\. inf"
    ):
        run(model, "cp-sat")


def test_pdlp_refuses_integers() -> None:
    """PDLP is for linear programs."""
    require("pdlp", "lp")
    with pytest.raises(SolverUnavailableError, match=r"variable take\[0\]"):
        run(knapsack(5, 2, 1), "pdlp")


def test_gurobi_names_its_licence() -> None:
    """A model beyond the size-limited licence is refused with the reason."""
    require("gurobi", "integer")
    if not SOLVERS["gurobi"].status().reason:
        pytest.skip("this licence has no size limit")
    with pytest.raises(SolverUnavailableError, match="size-limited licence"):
        run(knapsack(2001, 1, 1), "gurobi")


def test_unknown_solver() -> None:
    """A misspelt solver is refused with the nearest name."""
    with pytest.raises(InputError, match="did you mean highs"):
        run(production(), "higs")
