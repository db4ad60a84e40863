"""Our own algorithms for the problems of `lightloom.models`, behind one call.

Each module offers its problem as ``OWN``. Unlike a solver's claim, the bound of an
answer has a witness that `lightloom.validate` checks by arithmetic.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.catalogue import walk
from lightloom.core.errors import InputError, nearest
from lightloom.instances.instance import task_table
from lightloom.validate.certificates import check_bound

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from lightloom.core.certificate import Certificate
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import Instance
    from lightloom.validate.certificates.objective import Question

__all__ = [
    "NAME",
    "OwnAlgorithm",
    "OwnAnswer",
    "ProblemBounds",
    "asked_of",
    "best_certificates",
    "catalogue",
    "own_algorithm",
    "problem_bounds",
]

NAME = "lightloom"
"""Name among the solvers."""


@dataclass(frozen=True, eq=False)
class OwnAnswer:
    """An answer with its proof.

    Attributes
    ----------
    value
        The objective, exact.
    bound
        No answer is better; ``None`` where nothing is proven.
    detail
        How it was made, and why there is no better one.
    schedule
        Makes the schedule that the answer is, without footer; ``None`` where it is
        none. May raise `NoAnswerError` where no schedule can hold the answer.
    certificates
        What its schedule carries: the bound with its witness, without value.
    """

    value: int | Fraction
    bound: int | Fraction | None
    detail: tuple[str, ...]
    schedule: Callable[[], Schedule] | None
    certificates: tuple[Certificate, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether a checked bound meets the value."""
        return self.value == self.bound


@dataclass(frozen=True, eq=False)
class ProblemBounds:
    """What no answer of an instance can beat, found without one.

    Attributes
    ----------
    question
        Checks the certificates.
    certificates
        One or none a kind of argument, the best first; without value.
    """

    question: Question
    certificates: tuple[Certificate, ...]


@dataclass(frozen=True)
class OwnAlgorithm:
    """How a problem is solved without a solver.

    Attributes
    ----------
    name
        The problem, as in `lightloom.models`.
    unit
        What its objective counts.
    solve
        ``solve(instance, seed)``; deterministic. Raises `InputError` if the instance
        is not of the problem, `InfeasibleError` if there is no answer.
    bounds
        ``bounds(instance, seed)``, from the instance alone; raises as `solve` does.
        ``None`` where there are none beside those of answers.
    largest
        Whether more of it is better.
    """

    name: str
    unit: str
    solve: Callable[[Instance, int], OwnAnswer]
    bounds: Callable[[Instance, int], ProblemBounds] | None = None
    largest: bool = False


def asked_of(instance: Instance) -> str:
    """Return what an instance asks, and where, for messages."""
    (task,) = task_table(instance.task)
    return f"{task} on {instance.fabric.kind}"


@functools.cache
def catalogue() -> dict[str, OwnAlgorithm]:
    """Return the problems that have an algorithm of our own, by name."""
    return walk(__name__, "OWN")


def own_algorithm(problem: str) -> OwnAlgorithm:
    """Return our algorithm for a problem.

    Raises
    ------
    InputError
        If there is none; a solver can take the model.
    """
    known = catalogue()
    if problem not in known:
        raise InputError(
            f"lightloom has no algorithm of its own for {problem}",
            where="--solver",
            found=NAME,
            allowed=f"problems {', '.join(known)}",
            fix="use --solver highs",
        )
    return known[problem]


def best_certificates(
    problem: str, instance: Instance, seed: int
) -> tuple[Certificate, ...]:
    """Return what a schedule of a problem may carry whoever made it: its best bound.

    Empty where we know none.
    """
    algorithm = catalogue().get(problem)
    if algorithm is None or algorithm.bounds is None:
        return ()
    return problem_bounds(problem, instance, seed)[:1]


def problem_bounds(
    problem: str, instance: Instance, seed: int
) -> tuple[Certificate, ...]:
    """Return what no answer of an instance can beat, the best first, all checked.

    Raises
    ------
    InputError
        If we know no bounds for the problem, or the instance is of another one.
    InfeasibleError
        If the instance has no answer.
    RuntimeError
        If a witness does not prove its bound: a bug of the search.
    """
    finders = {name: own.bounds for name, own in catalogue().items() if own.bounds}
    if problem not in finders:
        what, allowed = "no bounds are known for this problem", ", ".join(finders)
        fix = nearest(problem, finders)
        raise InputError(
            what, where="--problem", found=problem, allowed=allowed, fix=fix
        )
    found = finders[problem](instance, seed)
    for certificate in found.certificates:
        for violation in check_bound(found.question, certificate, problem):
            message = f"{violation.resource}: {violation.message}"
            raise RuntimeError(message)
    return found.certificates
