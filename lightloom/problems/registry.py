"""The catalogue of problems, and which one an instance asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.catalogue import Catalogue
from lightloom.core.errors import InputError
from lightloom.problems.problem import Problem, asked_of

if TYPE_CHECKING:
    from lightloom.instances.instance import Instance

PROBLEMS: Catalogue[Problem] = Catalogue(
    "lightloom.problems",
    attribute="PROBLEM",
    noun="problem",
    group="lightloom.problems",
)
"""Every problem, by name. Loads neither Pyomo nor a solver."""


def problem_for(instance: Instance, name: str | None = None) -> Problem:
    """Return the problem of a name, or the only one that an instance can be of.

    `name`: name of a problem; ``None`` to tell it from fabric and task.

    Raises `InputError`: unknown problem (nearest names suggested); no name where the
    instance can be of several problems, or of none.
    """
    if name is not None:
        return PROBLEMS.get(name)
    asked = [problem for problem in PROBLEMS.values() if problem.takes(instance)]
    if len(asked) == 1:
        return asked[0]
    what = "several problems fit this; name one" if asked else "no problem fits this"
    raise InputError(
        what,
        where="problem",
        found=asked_of(instance),
        allowed=", ".join(problem.name for problem in asked),
        fix="" if asked else "`lightloom synth` answers it with a schedule",
    )
