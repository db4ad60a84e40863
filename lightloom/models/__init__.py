"""Declarative models of the papers' problems: one file each, found by walking.

A module offers its problem as ``PROBLEM``. Pyomo is imported when a module of this
folder is, and so by `catalogue`, but not by this package itself.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lightloom.core.catalogue import walk
from lightloom.core.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import Instance

__all__ = ["ModelSize", "Problem", "catalogue", "problem_of"]


@dataclass(frozen=True)
class ModelSize:
    """How large a model would be, before it is built.

    Attributes
    ----------
    rows, columns, nonzeros
        Upper estimates of constraints, variables and their entries.
    instead
        What to use where that is too large: an algorithm, or another instance.
    """

    rows: int
    columns: int
    nonzeros: int
    instead: str = ""


@dataclass(frozen=True)
class Problem:
    """An optimisation problem: how to state it, and what its solution means.

    Attributes
    ----------
    name
        Name in the catalogue, as in ``--problem``.
    summary
        The problem in a line.
    sense
        ``minimise`` or ``maximise``.
    unit
        What the objective counts, for example ``rounds``.
    build
        ``build(instance, **variant)`` returns a Pyomo ``ConcreteModel``. Raises
        `InputError` if the instance is not of this problem, `InfeasibleError`,
        naming the reason, where there is plainly no answer.
    decode
        ``decode(model)`` returns the answer that the values of the model's
        variables stand for, a record of the problem's module in exact integers.
        It reads nothing but the model; values are rounded to integers here.
    objective
        ``objective(answer)`` returns the exact objective of an answer, recomputed
        from the answer alone.
    size
        ``size(instance, **variant)`` returns the size that `build` would give.
    schedule
        ``schedule(instance, answer)`` returns the answer as a schedule without
        footer; ``None`` where answers are no schedules.
    variants
        Keyword arguments of `build` with a line about each.
    """

    name: str
    summary: str
    sense: str
    unit: str
    build: Callable[..., Any]
    decode: Callable[[Any], Any]
    objective: Callable[[Any], Fraction]
    size: Callable[..., ModelSize]
    schedule: Callable[[Instance, Any], Schedule] | None = None
    variants: tuple[tuple[str, str], ...] = ()

    def objective_text(self, answer: object) -> str:
        """Return the exact objective of an answer with its unit."""
        return f"{self.objective(answer)} {self.unit}"


@functools.cache
def catalogue() -> dict[str, Problem]:
    """Return every problem, by name."""
    return walk(__name__, "PROBLEM")


def problem_of(name: str) -> Problem:
    """Return the problem of a name.

    Raises
    ------
    InputError
        If there is no such problem (nearest names suggested).
    """
    problems = catalogue()
    if name not in problems:
        raise InputError(
            "unknown problem",
            where="problem",
            found=name,
            allowed=", ".join(problems),
            fix=nearest(name, problems),
        )
    return problems[name]
