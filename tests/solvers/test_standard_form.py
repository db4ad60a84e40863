"""The compiled arrays are the model."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
import pytest

from lightloom.core.errors import InputError
from lightloom.core.outcome import Reason
from lightloom.solvers import run
from lightloom.solvers.standard_form import compile_model
from tests.examples.small_models import knapsack, production


def test_arrays() -> None:
    """Costs, bounds, rows, entries, offset and sense are those of the model."""
    model = production()
    model.plants.add((-2, model.b - model.a + 1, 5))
    form = compile_model(model).form
    assert form.cost.tolist() == [3, 5]
    assert (form.offset, form.maximise) == (7, True)
    assert form.column_lower.tolist() == [0, 0]
    assert form.column_upper.tolist() == [np.inf, np.inf]
    assert form.integral.tolist() == [False, False]
    assert form.row_start.tolist() == [0, 1, 2, 4, 6, 8]
    assert form.row_column.tolist() == [0, 1, 0, 1, 0, 1, 0, 1]
    assert form.row_value.tolist() == [1, 2, 3, 2, -1, 1, -1, 1]
    assert form.row_upper.tolist() == [4, 12, 18, 4, np.inf]
    assert form.row_lower.tolist() == [-np.inf, -np.inf, -np.inf, -np.inf, -3]
    assert form.row_of_entry.tolist() == [0, 1, 2, 2, 3, 3, 4, 4]
    point = np.array([2.0, 6.0])
    assert form.activity(point).tolist() == [2, 12, 18, 4, 4]
    assert form.objective(point) == 43


def test_hash() -> None:
    """Equal models have equal hashes; any change of what solvers see changes it."""
    hashes = {compile_model(knapsack(5, 2, seed)).form.sha256() for seed in (1, 1, 2)}
    assert len(hashes) == 2
    model = knapsack(5, 2, 1)
    model.worth.sense = pyo.minimize
    hashes.add(compile_model(model).form.sha256())
    model.take[0].setub(0.5)
    hashes.add(compile_model(model).form.sha256())
    assert len(hashes) == 4


def test_integral_objective() -> None:
    """An objective is integral if its terms are: integers times integers."""
    assert compile_model(knapsack(5, 2, 1)).form.integral_objective
    assert not compile_model(production()).form.integral_objective
    model = knapsack(5, 2, 1)
    model.worth.expr += 0.5
    assert not compile_model(model).form.integral_objective


def test_variables_without_use() -> None:
    """A variable that nothing mentions gets the value nearest to 0."""
    model = knapsack(5, 2, 1)
    bounds = {"free": (None, None), "high": (2, 9), "low": (-9, -3)}
    model.idle = pyo.Var(list(bounds), bounds=lambda _, key: bounds[key])
    assert run(model).reason is Reason.PROVEN_OPTIMAL
    values = {key: model.idle[key].value for key in bounds}
    assert values == {"free": 0, "high": 2, "low": -3}


def test_trivially_infeasible() -> None:
    """A constraint without variables that does not hold is an infeasible model."""
    model = pyo.ConcreteModel("odd")
    model.x = pyo.Var(range(2), within=pyo.Binary)
    model.x[0].fix(1)
    model.never = pyo.Constraint(expr=model.x[0] <= 0)
    model.goal = pyo.Objective(expr=model.x[1])
    outcome = run(model)
    assert outcome.reason is Reason.PROVEN_INFEASIBLE
    assert "never" in outcome.detail[0]


def test_no_variables() -> None:
    """A model without variables is solved: its objective is its constant."""
    model = pyo.ConcreteModel()
    model.goal = pyo.Objective(expr=5)
    outcome = run(model)
    assert (outcome.reason, outcome.objective) == (Reason.PROVEN_OPTIMAL, 5)


@pytest.mark.parametrize("what", ["nonlinear", "objectives", "domain"])
def test_refused(what: str) -> None:
    """Products, two objectives and odd domains are refused by name."""
    model = production()
    if what == "nonlinear":
        model.product = pyo.Constraint(expr=model.a * model.b <= 3)
    elif what == "objectives":
        model.second = pyo.Objective(expr=model.a)
    else:
        model.c = pyo.Var(within=pyo.Set(initialize=[1, 3, 5]))
        model.c.construct()
        model.plants.add(model.c <= 4)
    with pytest.raises(InputError, match=r"linear|one objective|domain"):
        run(model)
