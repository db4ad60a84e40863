"""The model of an instance before it is built, and the answer after it was solved."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from lightloom.core.outcome import Outcome, Reason
from lightloom.problems.problem import Formulation, Problem, ProblemAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lightloom.instances.instance import Instance
    from lightloom.models import ModelSize
    from lightloom.solvers import Model


@dataclass(frozen=True, eq=False)
class StatedModel:
    """A model that memory can hold, not built yet.

    Attributes
    ----------
    problem, instance
        What it is about.
    formulation
        Of the problem.
    variant
        Keyword arguments of its ``build``.
    size
        Upper estimate of its size.
    """

    problem: Problem
    instance: Instance
    formulation: Formulation
    variant: Mapping[str, object]
    size: ModelSize

    def build(self) -> Model:
        """Return the model.

        Raises
        ------
        InputError
            If the instance is not of the problem.
        InfeasibleError
            If there is plainly no answer.
        """
        return self.formulation.build(self.instance, **self.variant)


def state_model(
    problem: Problem,
    instance: Instance,
    variant: Mapping[str, object],
    tell: Callable[[str], None],
) -> StatedModel:
    """Return the model of an instance, not built; refuse one that is too large.

    Parameters
    ----------
    problem
        With a model.
    instance
        The instance.
    variant
        Keyword arguments of the model's ``build``.
    tell
        Told the size in words.

    Raises
    ------
    InputError
        If there is no model or no such variant, the instance is not of the problem, or
        memory cannot hold the model: with the estimate, and what to use instead.
    """
    from lightloom.solvers.model_size import check_size

    problem.check_variant(variant)
    formulation = problem.model()
    size = formulation.size(instance, **variant)
    check_size(
        size.rows,
        size.columns,
        size.nonzeros,
        where=instance.name,
        instead=size.instead,
    )
    tell(f"building {size.rows:,} rows, {size.columns:,} columns at most")
    return StatedModel(problem, instance, formulation, variant, size)


def model_answer(
    stated: StatedModel, model: Model, outcome: Outcome[Any]
) -> ProblemAnswer | None:
    """Return the answer that a solved model holds; ``None`` for a relaxation.

    Parameters
    ----------
    stated
        What was asked.
    model
        Its model, with the solver's point in its variables.
    outcome
        The solver's. Its bound is a claim, taken as exact where it meets the answer.
    """
    from lightloom.solvers.standard_form import has_integers

    if not has_integers(model):
        return None
    formulation = stated.formulation
    found = formulation.decode(model)
    value = formulation.objective(found)
    bound = None if outcome.bound is None else Fraction(outcome.bound)
    if outcome.reason is Reason.PROVEN_OPTIMAL:
        # A solver's objective may count levels where the answer is a fraction.
        bound = value
    schedule = None
    if formulation.schedule is not None:
        schedule = partial(formulation.schedule, stated.instance, found)
    return ProblemAnswer(value, bound, outcome.detail, schedule, found=found)
