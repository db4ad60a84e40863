"""The problem that ``solve`` and ``model`` are about, as the command line has it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.cli.parameters import parse_parameters
from lightloom.core.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from lightloom.instances.instance import Instance
    from lightloom.models import ModelSize, Problem
    from lightloom.solvers import Model

_WHERE = "--param"
_WORDS = {"bool": "true or false", "int": "integer", "str": "text"}


@dataclass(frozen=True, eq=False)
class StatedProblem:
    """A problem, the instance it is about, and how its model is built.

    Attributes
    ----------
    variants
        Keyword arguments of the problem's ``build``.
    size
        An estimate of the model's, which memory can hold.
    """

    problem: Problem
    instance: Instance
    variants: dict[str, object]
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
        return self.problem.build(self.instance, **self.variants)


def state_problem(
    name: str,
    problem_name: str,
    params: Iterable[str],
    horizon: int | None,
    tell: Callable[[str], None],
) -> StatedProblem:
    """Return what is asked; a model that memory cannot hold is refused.

    Raises
    ------
    InputError
        Unknown instance, problem or variant; a model that is too large, with its
        estimate; an instance that is not of the problem.
    """
    from lightloom.instances.catalogue import load_instance
    from lightloom.models import problem_of

    problem = problem_of(problem_name)
    given = [*params, *([] if horizon is None else [f"horizon={horizon}"])]
    variants = parse_variants(problem, given)
    instance = load_instance(name)
    size = check_problem_size(problem, instance, variants, tell)
    return StatedProblem(problem, instance, variants, size)


def places(problem_name: str) -> dict[str, str]:
    """Return the option of each argument of a problem, for messages."""
    from lightloom.models import catalogue

    problem = catalogue().get(problem_name)
    names = [name for name, _ in problem.variants] if problem else []
    return {"problem": "--problem", **{name: f"{_WHERE} {name}" for name in names}}


def check_problem_size(
    problem: Problem,
    instance: Instance,
    variants: Mapping[str, object],
    tell: Callable[[str], None],
) -> ModelSize:
    """Return the estimated size of a model; raise if memory cannot hold it.

    Raises
    ------
    InputError
        With the estimate, and what to use instead.
    """
    from lightloom.solvers.model_size import check_size

    size = problem.size(instance, **variants)
    check_size(
        size.rows,
        size.columns,
        size.nonzeros,
        where=instance.name,
        instead=size.instead,
    )
    tell(f"building {size.rows:,} rows, {size.columns:,} columns at most")
    return size


def parse_variants(problem: Problem, texts: Iterable[str]) -> dict[str, object]:
    """Return the keyword arguments of a problem's ``build`` that texts give.

    Raises
    ------
    InputError
        No such variant (nearest names suggested), or a value that it does not take.
    """
    takes = inspect.signature(problem.build).parameters
    known = [name for name, _ in problem.variants]
    parsed: dict[str, object] = dict(parse_parameters(texts))
    for key, value in parsed.items():
        where = f"{_WHERE} {key}"
        if key not in known:
            raise InputError(
                f"{problem.name} has no such variant",
                where=where,
                allowed=", ".join(known) or "none",
                fix=nearest(key, known),
            )
        kinds = str(takes[key].annotation).split(" | ")
        plain = [kind for kind in kinds if kind in _WORDS]
        if not plain:
            fix = "build the model in Python"
            raise InputError("not to be given as text", where=where, fix=fix)
        if type(value).__name__ not in plain:
            allowed = " or ".join(_WORDS[kind] for kind in plain)
            raise InputError("wrong type", where=where, found=value, allowed=allowed)
    return parsed
