"""The model that ``solve`` and ``model`` work on, stated from the command line."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lightloom.cli.parameters import parse_parameters
from lightloom.core.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from lightloom.instances.instance import Instance
    from lightloom.models import Problem

_WHERE = "--param"


@dataclass(frozen=True, eq=False)
class ProblemModel:
    """A problem, the instance it is about, and the model that states it."""

    problem: Problem
    instance: Instance
    model: Any


def state_problem(
    name: str,
    problem_name: str,
    params: Iterable[str],
    horizon: int | None,
    tell: Callable[[str], None],
) -> ProblemModel:
    """Return the model of an instance; one that memory cannot hold is not built.

    Raises
    ------
    InputError
        Unknown instance, problem or variant; a model that is too large, with its
        estimate; an instance that is not of the problem.
    InfeasibleError
        If there is plainly no answer.
    """
    from lightloom.instances.named import load_instance
    from lightloom.models import problem_of

    problem = problem_of(problem_name)
    given = [*params, *([] if horizon is None else [f"horizon={horizon}"])]
    variants = parse_variants(problem, given)
    instance = load_instance(name)
    check_problem_size(problem, instance, variants, tell)
    return ProblemModel(problem, instance, problem.build(instance, **variants))


def check_problem_size(
    problem: Problem,
    instance: Instance,
    variants: Mapping[str, object],
    tell: Callable[[str], None],
) -> None:
    """Raise if memory cannot hold the model of an instance.

    Raises
    ------
    InputError
        With the estimate, and what to use instead.
    """
    from lightloom.solvers.size import check_size

    size = problem.size(instance, **variants)
    check_size(
        size.rows,
        size.columns,
        size.nonzeros,
        where=instance.name,
        instead=size.instead,
    )
    tell(f"building {size.rows:,} rows, {size.columns:,} columns at most")


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
        plain = [kind for kind in kinds if kind in ("bool", "int", "str")]
        if not plain:
            fix = "build the model in Python"
            raise InputError("not to be given as text", where=where, fix=fix)
        if type(value).__name__ not in plain:
            allowed = " or ".join(plain)
            raise InputError("wrong type", where=where, found=value, allowed=allowed)
    return parsed
