"""Outcomes: why a search stopped, and what it has to show."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

AnswerT = TypeVar("AnswerT")


class Reason(StrEnum):
    """Why a search stopped."""

    PROVEN_OPTIMAL = "proven optimal"
    """The answer meets a bound whose witness was checked."""
    STOPPED_WITH_ANSWER = "stopped with an answer"
    """There is an answer; nothing proves that no better one exists."""
    STOPPED_WITHOUT_ANSWER = "stopped without an answer"
    """The limits were reached before any answer was found."""
    PROVEN_INFEASIBLE = "proven infeasible"
    """No answer exists."""
    FAILED = "failed"
    """The search broke; `Outcome.detail` says how."""


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
        Value of the incumbent, or ``None``.
    bound
        Proven bound on the objective, or ``None``.
    detail
        What a person should know beyond that, for example what was compared.
    """

    reason: Reason
    incumbent: AnswerT | None
    objective: int | None
    bound: int | None
    detail: tuple[str, ...] = ()
