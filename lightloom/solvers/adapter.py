"""What a solver must offer to be run, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray
    from lightloom.core.outcome import Limit
    from lightloom.solvers.availability import Status
    from lightloom.solvers.options import SolveOptions
    from lightloom.solvers.progress import Reporter
    from lightloom.solvers.standard_form import StandardForm


class SolverClaim(Enum):
    """What a solver claims about a model, up to its tolerances."""

    OPTIMAL = "optimal"
    """The point is optimal."""
    INFEASIBLE = "infeasible"
    """There is no feasible point."""
    UNBOUNDED = "unbounded"
    """There are feasible points of any objective."""
    INFEASIBLE_OR_UNBOUNDED = "infeasible or unbounded"
    """One of the two; the solver stopped before it knew which."""
    STOPPED = "stopped"
    """A limit was reached; there may be a point."""
    FAILED = "failed"
    """The solver broke; the detail says how."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What a solver answers.

    Attributes
    ----------
    claim
        What it claims.
    limit
        Which limit stopped it; given exactly if the claim is ``STOPPED``.
    values
        Values of all columns at its best point, or ``None``.
    bound
        Bound on the objective that it claims, offset included, or ``None``.
    detail
        Its own words, '' for none.
    """

    claim: SolverClaim
    limit: Limit | None
    values: FloatArray | None
    bound: float | None
    detail: str = ""


@dataclass(frozen=True)
class Capabilities:
    """What kinds of model a solver takes.

    Attributes
    ----------
    continuous
        Variables that are not integers.
    integer
        Variables that are.
    """

    continuous: bool
    integer: bool

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of model it takes: ``lp``, ``mip``, ``integer``."""
        if self.continuous and self.integer:
            return ("lp", "mip", "integer")
        return ("lp",) if self.continuous else ("integer",)


LINEAR_AND_INTEGER = Capabilities(continuous=True, integer=True)
LINEAR_ONLY = Capabilities(continuous=True, integer=False)
INTEGER_ONLY = Capabilities(continuous=False, integer=True)


class TakesEveryModel:
    """An adapter that takes every model of its kinds."""

    def refuse(self, form: StandardForm) -> None:
        """Take a model."""


class Adapter(Protocol):
    """A solver: it alone knows that solver's words, statuses and traps.

    It is pickled into the process that runs it, so it must be a record whose class
    can be imported there.
    """

    @property
    def name(self) -> str:
        """Name in the catalogue."""

    @property
    def summary(self) -> str:
        """One line on what it is good for."""

    @property
    def capabilities(self) -> Capabilities:
        """Kinds of model it takes."""

    def status(self) -> Status:
        """Return whether it can be used here, and why not."""

    def refuse(self, form: StandardForm) -> None:
        """Raise if it cannot take a model for a reason beyond its kind.

        Parameters
        ----------
        form
            The model, of a kind that the solver takes.

        Raises
        ------
        SolverUnavailableError
            Naming the variable or the number that it cannot take.
        """

    def solve(
        self, form: StandardForm, options: SolveOptions, reporter: Reporter
    ) -> Answer:
        """Solve a model, in the process it is called in.

        Tells `reporter` of better points and bounds, and stops soon after it says
        so. Memory is not its business.

        Parameters
        ----------
        form
            The model.
        options
            Limits, seed, threads and options of the solver's own.
        reporter
            Told of better points and bounds; says when to stop.

        Raises
        ------
        InputError
            An extra option that the solver does not know.
        SolverUnavailableError
            The solver refuses the model, for example by its licence.
        UnknownStatusError
            The solver reports a status that the adapter has no meaning for.
        """


class UnknownStatusError(RuntimeError):
    """A solver reported a status that its adapter has no meaning for.

    A defect of the adapter, never guessed away.
    """

    def __init__(self, solver: str, status: object) -> None:
        super().__init__(f"{solver} reported a status without a meaning: {status}")
        self.solver = solver
        self.status = str(status)

    def __reduce__(self) -> tuple[type[UnknownStatusError], tuple[str, str]]:
        """Return what makes the error again in another process."""
        return (UnknownStatusError, (self.solver, self.status))
