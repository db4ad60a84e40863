"""Contestants: who can be asked a problem in a suite."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lightloom.bench.versions import code_version
from lightloom.core.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.bench.row import Parameter

__all__ = ["COMPLETION_TIME", "OWN", "Entrant", "entrant", "is_callable"]

COMPLETION_TIME = "completion-time"
"""The problem of `lightloom.synth.synthesise`: the soonest end of a task."""
OWN = "lightloom"
"""Our own algorithm for a problem, as in ``lightloom solve``."""
AUTO = "auto"
_CALLABLE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


@dataclass(frozen=True)
class Entrant:
    """Somebody who is asked a problem.

    Attributes
    ----------
    solver
        A solver, ``lightloom``, an algorithm, or ``module:function``.
    parameters
        The variant of the model, or the parameters of the algorithm.
    version
        Of the solver's package, or of our code; ``None`` where not installed.
    sense, unit
        What the problem asks for.
    """

    solver: str
    parameters: Mapping[str, Parameter]
    version: str | None
    sense: str
    unit: str


def is_callable(solver: str) -> bool:
    """Return whether this names a function rather than a solver."""
    return _CALLABLE.fullmatch(solver) is not None


def entrant(problem: str, by: str | Mapping[str, Any], where: str) -> Entrant:
    """Return who is meant by an entry of ``by``.

    Parameters
    ----------
    problem
        A problem of `lightloom.models`, or ``completion-time``.
    by
        A name, or a table of ``solver`` and parameters.
    where
        For messages.

    Raises
    ------
    InputError
        Unknown problem, solver, algorithm or parameter.
    """
    table: dict[str, Any] = {"solver": by} if isinstance(by, str) else dict(by)
    solver = table.pop("solver", None)
    if not isinstance(solver, str):
        fix = 'write solver = "NAME"'
        raise InputError("no solver is named", where=where, found=solver, fix=fix)
    if problem == COMPLETION_TIME:
        return _algorithm(solver, table, where)
    sense, unit = _problem(problem, where)
    if is_callable(solver) or solver == OWN:
        if table:
            what = f"{solver} takes no parameters"
            raise InputError(what, where=where, found=sorted(table))
        if solver == OWN:
            _refuse_without_own(problem, where)
        return Entrant(solver, {}, code_version(), sense, unit)
    return _solver(problem, solver, table, where, sense, unit)


def _problem(name: str, where: str) -> tuple[str, str]:
    """Return sense and unit of a problem."""
    from lightloom.models import catalogue

    problems = catalogue()
    if name not in problems:
        known = sorted([*problems, COMPLETION_TIME])
        raise InputError(
            "unknown problem",
            where=where.rpartition(".by")[0],
            found=name,
            allowed=", ".join(known),
            fix=nearest(name, known),
        )
    return problems[name].sense, problems[name].unit


def _refuse_without_own(problem: str, where: str) -> None:
    from lightloom.problems import catalogue

    if problem not in catalogue():
        what = f"lightloom has no algorithm of its own for {problem}"
        raise InputError(what, where=where, allowed=", ".join(catalogue()))


def _solver(
    problem: str,
    name: str,
    parameters: dict[str, Parameter],
    where: str,
    sense: str,
    unit: str,
) -> Entrant:
    from lightloom.models import problem_of
    from lightloom.solvers import SOLVERS

    if name not in SOLVERS:
        known = [OWN, *SOLVERS]
        raise InputError(
            "unknown solver",
            where=where,
            found=name,
            allowed=f"{', '.join(known)}, or module:function",
            fix=nearest(name, known),
        )
    variants = [key for key, _ in problem_of(problem).variants]
    for key in parameters:
        if key not in variants:
            raise InputError(
                f"{problem} has no variant {key!r}",
                where=where,
                allowed=", ".join(variants) or "none",
                fix=nearest(key, variants),
            )
    return Entrant(name, parameters, SOLVERS[name].status().version, sense, unit)


def _algorithm(name: str, parameters: dict[str, Parameter], where: str) -> Entrant:
    from lightloom.synth.algorithms import ALGORITHMS

    known = [AUTO, *ALGORITHMS]
    if name not in known and not is_callable(name):
        raise InputError(
            "unknown algorithm",
            where=where,
            found=name,
            allowed=f"{', '.join(known)}, or module:function",
            fix=nearest(name, known),
        )
    return Entrant(name, parameters, code_version(), "minimise", "ps")
