"""Small models with known answers, and who can be asked about them."""

from __future__ import annotations

import itertools

import pyomo.environ as pyo
import pytest

from lightloom.core.seed import seeded_random
from lightloom.solvers import SOLVERS

NAMES = tuple(SOLVERS)


def require(name: str, kind: str) -> None:
    """Skip the test if a solver is not there, or is not for this kind of model."""
    adapter = SOLVERS[name]
    status = adapter.status()
    if not status.availability:
        pytest.skip(f"{name}: {status.reason}")
    if kind not in adapter.capabilities.kinds:
        pytest.skip(f"{name} does not take {kind}")


def production() -> pyo.ConcreteModel:
    """Return a linear program: max 3a + 5b + 7 = 43 at a = 2, b = 6."""
    model = pyo.ConcreteModel("production")
    model.a = pyo.Var(bounds=(0, None))
    model.b = pyo.Var(bounds=(0, None))
    model.plants = pyo.ConstraintList()
    model.plants.add(model.a <= 4)
    model.plants.add(2 * model.b <= 12)
    model.plants.add(3 * model.a + 2 * model.b <= 18)
    model.profit = pyo.Objective(expr=3 * model.a + 5 * model.b + 7, sense=pyo.maximize)
    return model


def knapsack(items: int, limits: int, seed: int) -> pyo.ConcreteModel:
    """Return a multi-dimensional knapsack with random weights, hard at 60 x 20."""
    rng = seeded_random(seed)
    model = pyo.ConcreteModel("knapsack")
    model.take = pyo.Var(range(items), within=pyo.Binary)
    weight = [[rng.randint(1, 99) for _ in range(items)] for _ in range(limits)]
    worth = [rng.randint(1, 99) for _ in range(items)]
    model.limit = pyo.Constraint(
        range(limits),
        rule=lambda m, row: (
            sum(weight[row][i] * m.take[i] for i in range(items))
            <= sum(weight[row]) // 2
        ),
    )
    model.worth = pyo.Objective(
        expr=sum(worth[i] * model.take[i] for i in range(items)), sense=pyo.maximize
    )
    return model


def assignment(size: int, seed: int) -> pyo.ConcreteModel:
    """Return a random assignment with forbidden pairs, more for larger seeds."""
    rng = seeded_random(seed)
    model = pyo.ConcreteModel("assignment")
    cells = list(itertools.product(range(size), repeat=2))
    model.give = pyo.Var(cells, within=pyo.Binary)
    model.once = pyo.Constraint(
        range(size), rule=lambda m, i: sum(m.give[i, j] for j in range(size)) == 1
    )
    model.all = pyo.Constraint(
        range(size), rule=lambda m, j: sum(m.give[i, j] for i in range(size)) == 1
    )
    clashes = [rng.sample(cells, 2) for _ in range(size * size * (seed + 1))]
    model.clash = pyo.Constraint(
        range(len(clashes)),
        rule=lambda m, k: m.give[clashes[k][0]] + m.give[clashes[k][1]] <= 1,
    )
    cost = {cell: rng.randint(-9, 9) for cell in cells}
    model.cost = pyo.Objective(expr=sum(cost[c] * model.give[c] for c in cells) + 3)
    return model


def brute_force(model: pyo.ConcreteModel) -> int | None:
    """Return the optimum of a model of binary variables, ``None`` if infeasible."""
    variables = list(model.component_data_objects(pyo.Var))
    rows = list(model.component_data_objects(pyo.Constraint))
    (goal,) = model.component_data_objects(pyo.Objective)
    values = []
    for point in itertools.product((0, 1), repeat=len(variables)):
        for variable, value in zip(variables, point, strict=True):
            variable.set_value(value)
        if all(row.lslack() >= 0 and row.uslack() >= 0 for row in rows):
            values.append(pyo.value(goal))
    for variable in variables:
        variable.set_value(None)
    best = max if goal.sense == pyo.maximize else min
    return best(values, default=None)
