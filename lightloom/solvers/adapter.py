"""What a solver must offer to be run, and what it answers."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lightloom.core.catalogue import Catalogue
from lightloom.core.errors import InputError
from lightloom.solvers.standard_form import StandardForm

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray
    from lightloom.core.outcome import Limit
    from lightloom.solvers.options import SolveOptions
    from lightloom.solvers.progress import Reporter


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


class SolverUnavailableError(InputError):
    """The solver cannot be used here, or not for this model; says what to do."""


class Availability(StrEnum):
    """Whether a solver can be used here; only ``AVAILABLE`` is true."""

    AVAILABLE = "available"
    """Installed, of a supported version, licensed."""
    NOT_INSTALLED = "not installed"
    """Its package is missing."""
    NO_LICENCE = "no licence"
    """Its package is there, and refuses to work without a licence."""
    BAD_VERSION = "bad version"
    """Its package is there, in a version that is known not to work."""

    def __bool__(self) -> bool:
        """Return whether the solver can be used."""
        return self is Availability.AVAILABLE


@dataclass(frozen=True)
class Status:
    """What is known of a solver on this machine.

    Attributes
    ----------
    availability
        Whether it can be used.
    version
        Version of its package, or ``None`` if it is not installed.
    reason
        Why it cannot be used and what to do, or what restricts it; '' for nothing.
    """

    availability: Availability
    version: str | None
    reason: str


@dataclass(frozen=True)
class Requirement:
    """The Python package that a solver lives in.

    `module`: module whose presence shows that it is installed. `at_least`, `below`:
    supported versions, as (major, minor); `below` is not supported itself. `why`: why
    other versions do not work.
    """

    module: str
    package: str
    at_least: tuple[int, int]
    below: tuple[int, int]
    why: str
    fix: str

    def status(self) -> Status:
        """Return whether the package is there in a supported version.

        Nothing is imported; a few milliseconds.
        """
        if importlib.util.find_spec(self.module) is None:
            reason = f"package {self.package} is missing: {self.fix}"
            return Status(Availability.NOT_INSTALLED, None, reason)
        version = importlib.metadata.version(self.package)
        if not self.at_least <= _major_minor(version) < self.below:
            wanted = f">={_text(self.at_least)},<{_text(self.below)}"
            reason = f"{self.package} {version} is not {wanted} ({self.why})"
            return Status(Availability.BAD_VERSION, version, f"{reason}: {self.fix}")
        return Status(Availability.AVAILABLE, version, "")


def _major_minor(version: str) -> tuple[int, int]:
    """Return the first two numbers of a version."""
    numbers = [int("".join(filter(str.isdigit, p)) or 0) for p in version.split(".")]
    return (numbers[0], numbers[1] if len(numbers) > 1 else 0)


def _text(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def smallest_model(adapter: Adapter) -> StandardForm:
    """Return the model ``minimise x, x >= 1, 0 <= x <= 1``."""
    one = np.ones(1)
    return StandardForm(
        cost=one,
        column_lower=0 * one,
        column_upper=one,
        integral=np.array([adapter.capabilities.integer]),
        row_start=np.array([0, 1], dtype=np.int32),
        row_column=np.array([0], dtype=np.int32),
        row_value=one,
        row_lower=one,
        row_upper=one,
        offset=0.0,
        maximise=False,
    )


SOLVERS: Catalogue[Adapter] = Catalogue(
    "lightloom.solvers", attribute="ADAPTER", noun="solver", group="lightloom.solvers"
)
"""Every solver, installed or not, by name. Imports no solver."""
