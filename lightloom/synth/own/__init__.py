"""Our own algorithms for the problems of `lightloom.models`, behind one call.

Each module offers its problem as ``OWN``. Unlike a solver's claim, the bound of an
answer has a witness that `lightloom.validate` checks by arithmetic.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.catalogue import walk
from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import Instance

__all__ = ["NAME", "OwnAlgorithm", "OwnAnswer", "catalogue", "own_algorithm"]

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
        The schedule that the answer is, without footer; ``None`` where it is none.
    """

    value: int | Fraction
    bound: int | Fraction | None
    detail: tuple[str, ...]
    schedule: Schedule | None

    @property
    def proved(self) -> bool:
        """Whether a checked bound meets the value."""
        return self.value == self.bound


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
    """

    name: str
    unit: str
    solve: Callable[[Instance, int], OwnAnswer]


@functools.cache
def catalogue() -> dict[str, OwnAlgorithm]:
    """Return the problems that have an algorithm of our own, by name."""
    return walk(__name__, "OWN", OwnAlgorithm)


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
