"""Steps on planes that change by themselves while others transmit, exactly.

Each job is what one lane moves in one step. A plane serves some jobs, in their order,
and between two of different lanes it is reconfigured. Times are integers of one unit,
so that solvers of integers can be asked too; with real times an optimum is exact but
for tolerances. With jobs j of step t(j), lane l(j) and data d(j), and planes p:

- ``serve[p, j]``: plane p serves job j; ``moved[p, j]`` <= d(j) serve[p, j] is what it
  moves, and sums to d(j) over the planes;
- ``end[t(j) - 1]`` <= ``start[p, j]``, start[p, j] + alpha serve[p, j] + moved[p, j]
  <= end[t(j)], and no start is before the first circuits are there;
- of jobs i < j that p serves both, j starts when i is through, and a reconfiguration
  later if their lanes differ. What a plane holds counts: two reconfigurations where it
  served another lane between two jobs of one lane, none otherwise.

The end of the last step is minimised. Planes are alike, so those that move most of the
first job come first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyomo.environ as pyo

from lightloom.models.linear_expression import total, weighted

if TYPE_CHECKING:
    from lightloom.models.linear_expression import Linear, Model


@dataclass(frozen=True)
class OverlapQuestion:
    """Jobs in order of their steps, and planes.

    `step`, `lane`, `data`: of each job; steps count from 0 without gaps, data in units
    of time. `delay`, `alpha`, `first`: reconfiguration, fixed cost of a transfer, and
    when planes have their first circuits, in units of time.
    """

    step: tuple[int, ...]
    lane: tuple[int, ...]
    data: tuple[int, ...]
    planes: int
    delay: int
    alpha: int
    first: int

    @property
    def horizon(self) -> int:
        """A time by which one plane alone is through."""
        return self.first + sum(self.data) + len(self.data) * (self.delay + self.alpha)


def build_overlap(question: OverlapQuestion, *, whole: bool = True) -> Model:
    """Return the model of a question.

    O(planes jobs^2) rows.
    """
    kind = pyo.NonNegativeIntegers if whole else pyo.NonNegativeReals
    model = pyo.ConcreteModel("overlap")
    model.question = question
    planes, jobs = range(question.planes), range(len(question.step))
    latest = question.horizon
    model.serve = pyo.Var(planes, jobs, within=pyo.Binary)
    model.start = pyo.Var(planes, jobs, within=kind, bounds=(question.first, latest))
    model.moved = pyo.Var(
        planes, jobs, within=kind, bounds=lambda _m, _p, j: (0, question.data[j])
    )
    steps = range(question.step[-1] + 1)
    model.end = pyo.Var(steps, within=kind, bounds=(0, latest))
    model.served = pyo.Constraint(
        jobs,
        rule=lambda m, j: (
            question.data[j],
            total(m.moved[p, j] for p in planes),
            question.data[j],
        ),
    )
    model.used = pyo.Constraint(
        planes,
        jobs,
        rule=lambda m, p, j: (
            None,
            weighted([(1, m.moved[p, j]), (-question.data[j], m.serve[p, j])]),
            0,
        ),
    )
    model.within = pyo.Constraint(planes, jobs, rule=_within)
    model.released = pyo.Constraint(planes, jobs, rule=_released)
    model.after = pyo.Constraint(planes, jobs, jobs, rule=_after)
    model.alike = pyo.Constraint(
        range(question.planes - 1),
        rule=lambda m, p: (
            None,
            weighted([(1, m.moved[p + 1, 0]), (-1, m.moved[p, 0])]),
            0,
        ),
    )
    model.objective = pyo.Objective(expr=model.end[steps[-1]])
    return model


def used_planes(model: Model) -> list[list[bool]]:
    """Return which plane serves which job in the model's values."""
    question: OverlapQuestion = model.question
    return [
        [round(model.serve[p, j].value or 0) > 0 for j in range(len(question.step))]
        for p in range(question.planes)
    ]


def _within(model: Model, p: int, j: int) -> tuple[None, Linear, int]:
    """Return that a job is through when its step ends."""
    question: OverlapQuestion = model.question
    terms = [
        (1, model.start[p, j]),
        (1, model.moved[p, j]),
        (question.alpha, model.serve[p, j]),
        (-1, model.end[question.step[j]]),
    ]
    return None, weighted(terms), 0


def _released(model: Model, p: int, j: int) -> object:
    """Return that a job starts when the step before has ended."""
    step = model.question.step[j]
    if not step:
        return pyo.Constraint.Skip
    return None, weighted([(1, model.end[step - 1]), (-1, model.start[p, j])]), 0


def _after(model: Model, p: int, i: int, j: int) -> object:
    """Return that a plane is through with a job, and changed, before it starts j."""
    question: OverlapQuestion = model.question
    if i >= j:
        return pyo.Constraint.Skip
    delay = question.delay if question.lane[i] != question.lane[j] else 0
    slack = question.horizon + delay
    terms = [
        (1, model.start[p, i]),
        (1, model.moved[p, i]),
        (question.alpha + slack, model.serve[p, i]),
        (slack, model.serve[p, j]),
        (-1, model.start[p, j]),
    ]
    return None, weighted(terms), 2 * slack - delay
