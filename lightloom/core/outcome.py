"""Outcomes: why a search stopped, and what it has to show."""

from __future__ import annotations

import html
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping


AnswerT = TypeVar("AnswerT")
OtherT = TypeVar("OtherT")


class Reason(StrEnum):
    """Why a search stopped."""

    PROVEN_OPTIMAL = "proven optimal"
    """The answer meets a bound: one whose witness was checked, or a solver's claim."""
    STOPPED_WITH_ANSWER = "stopped with an answer"
    """There is an answer; nothing proves that no better one exists."""
    STOPPED_WITHOUT_ANSWER = "stopped without an answer"
    """The limits were reached before any answer was found."""
    PROVEN_INFEASIBLE = "proven infeasible"
    """No answer exists."""
    FAILED = "failed"
    """The search broke; `Outcome.detail` says how."""


class Limit(StrEnum):
    """What stopped a search before it had proven anything."""

    TIME = "time"
    """Seconds on the wall clock: not reproducible."""
    NODES = "nodes"
    """Nodes of the search tree (CP-SAT: conflicts): reproducible."""
    MEMORY = "memory"
    """Bytes the solver may take."""
    INTERRUPT = "interrupt"
    """A person, with Ctrl-C."""
    PROGRESS = "progress"
    """The solver's own: its steps no longer lead anywhere."""


@dataclass(frozen=True)
class Provenance:
    """How an answer was computed; ``None`` where unknown or not limited.

    Attributes
    ----------
    solver
        Name of the solver in the catalogue.
    version
        Version of its package.
    time_limit_s, node_limit, memory_limit_bytes
        The limits it was given.
    seed, threads
        What else decides which of several answers comes out.
    wall_s
        Seconds from the finished model to the answer, hand-over included; building
        the model too where the time limit is one for both.
    model_sha256
        Hash of the compiled model: same hash, same question.
    """

    solver: str
    version: str | None
    time_limit_s: float | None
    node_limit: int | None
    memory_limit_bytes: int | None
    seed: int | None
    threads: int | None
    wall_s: float | None
    model_sha256: str | None


@dataclass(frozen=True)
class Outcome(Generic[AnswerT]):
    """The result of a search; nothing is claimed by default.

    Attributes
    ----------
    reason
        Why the search stopped.
    incumbent
        Best answer found, or ``None``.
    objective
        Value of the incumbent, or ``None``. Exact where it is an integer; a solver's
        fraction is a float.
    bound
        Proven bound on the objective, or ``None``.
    limit
        Which limit stopped it, or ``None`` where none did.
    provenance
        The solver that answered, or ``None`` where none was asked.
    detail
        What a person should know beyond that, for example what was compared.
    """

    reason: Reason
    incumbent: AnswerT | None
    objective: float | None
    bound: float | None
    limit: Limit | None
    provenance: Provenance | None
    detail: tuple[str, ...] = ()

    def standing_for(
        self, incumbent: OtherT | None, *more_detail: str
    ) -> Outcome[OtherT]:
        """Return the same outcome with what its answer stands for.

        Parameters
        ----------
        incumbent
            The answer in other terms; ``None`` for none.
        more_detail
            Added to `detail`.
        """
        return Outcome(
            self.reason,
            incumbent,
            self.objective,
            self.bound,
            self.limit,
            self.provenance,
            (*self.detail, *more_detail),
        )


class Summarised:
    """What a result is in a few words, wherever it is shown.

    A subclass says what its facts are. A dataclass has to be made with
    ``repr=False``, or it prints all its fields.
    """

    __slots__ = ()

    def facts(self) -> Mapping[str, object]:
        """Return what there is to say, by name; ``None`` is left out."""
        raise NotImplementedError

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value}" for name, value in self._told())
        return f"{type(self).__name__}({told})"

    def _repr_html_(self) -> str:
        """Return the facts as a table, for notebooks."""
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(str(value))}</td></tr>"
            for name, value in self._told()
        )
        caption = html.escape(type(self).__name__)
        return f"<table><caption>{caption}</caption>{rows}</table>"

    def _told(self) -> list[tuple[str, object]]:
        return [(name, fact) for name, fact in self.facts().items() if fact is not None]
