"""Points are judged by the arrays, whatever the solver says of them."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
import pytest

from lightloom.solvers.solve import rounded, violation
from lightloom.solvers.standard_form import compile_model


def _model(scale: int = 1) -> pyo.ConcreteModel:
    """Return x + 1000000 y <= 5 for integers, and z + x <= 2.5 with a real z."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(within=pyo.Integers, bounds=(0, 9))
    model.y = pyo.Var(within=pyo.Integers, bounds=(-9, 9))
    model.z = pyo.Var(bounds=(0, 1))
    model.whole = pyo.Constraint(expr=scale * model.x + 10**6 * model.y <= 5 * scale)
    model.mixed = pyo.Constraint(expr=model.z + model.x <= 2.5)
    return model


@pytest.mark.parametrize(
    ("point", "wrong"),
    [
        ([2, 0, 0.5], ""),
        ([2 + 1e-7, -1e-7, 0.5 + 1e-7], ""),
        ([-1e-7, 0, 1 + 1e-7], ""),
        ([2, 0, 0.6], "constraint mixed"),
        ([2.1, 0, 0.3], "x = 2.1 is fractional"),
        ([2, 0, -0.1], "z = -0.1 is out of its bounds"),
        ([2, 1, 0], "constraint whole"),
        ([np.nan, 0, 0], "x is nan"),
    ],
)
def test_violation(point: list[float], wrong: str) -> None:
    """Solvers' tolerances are rounded away; more than that is a violation."""
    compiled = compile_model(_model())
    found = violation(compiled, rounded(compiled.form, np.array(point, dtype=float)))
    assert found.startswith(wrong)
    assert bool(found) == bool(wrong)


def test_integers_have_no_tolerance() -> None:
    """A row of integers is broken by 1, however large the numbers in it are."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(within=pyo.Integers, bounds=(0, 10**6))
    model.y = pyo.Var(within=pyo.Integers, bounds=(0, 10**6))
    model.row = pyo.Constraint(expr=model.x - model.y <= 0)
    compiled = compile_model(model)
    assert violation(compiled, np.array([900_001.0, 900_000.0]))
    assert not violation(compiled, np.array([900_000.0, 900_000.0]))


def test_rounding_removes_negative_zeros() -> None:
    """A value of -1e-9 becomes 0, and prints like one."""
    form = compile_model(_model()).form
    assert str(rounded(form, np.array([-1e-9, -1e-9, -1e-9])).tolist()) == str(
        [0.0] * 3
    )
