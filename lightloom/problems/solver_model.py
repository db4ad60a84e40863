"""The model of an instance before it is built, and the answer after it was solved."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from lightloom.core.outcome import Outcome, Reason
from lightloom.problems.problem import Formulation, Problem, ProblemAnswer
from lightloom.solvers.model_size import check_size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lightloom.instances.instance import Instance
    from lightloom.solvers import Model


def model_that_fits(
    problem: Problem,
    instance: Instance,
    variant: Mapping[str, object],
    tell: Callable[[str], None],
) -> Formulation:
    """Return the model of a problem, not built; refuse one that is too large.

    `variant`: keyword arguments of the model's ``build``.

    Raises `InputError` if there is no model or no such variant, the instance is not of
    the problem, or memory cannot hold the model: with the estimate, and what to use
    instead.
    """
    problem.check_variant(variant)
    model = problem.model()
    size = model.size(instance, **variant)
    counts = size.rows, size.columns, size.nonzeros
    check_size(*counts, where=instance.name, instead=size.instead)
    tell(f"building {size.rows:,} rows, {size.columns:,} columns at most")
    return model


def solver_answer(
    formulation: Formulation, instance: Instance, model: Model, outcome: Outcome[Any]
) -> ProblemAnswer | None:
    """Return the answer that a solved model holds; ``None`` for a relaxation.

    `outcome`: the solver's. Its bound is a claim, taken as exact where it meets the
    answer.
    """
    from lightloom.solvers.standard_form import has_integers

    if not has_integers(model):
        return None
    found = formulation.decode(model)
    value = formulation.objective(found)
    bound = None if outcome.bound is None else Fraction(outcome.bound)
    if outcome.reason is Reason.PROVEN_OPTIMAL:
        # A solver's objective may count levels where the answer is a fraction.
        bound = value
    schedule = None
    if formulation.schedule is not None:
        schedule = partial(formulation.schedule, instance, found)
    return ProblemAnswer(value, bound, outcome.detail, schedule, found=found)
