"""Objectives: what a schedule is measured by, and what is asked of bounds on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.certificate import Number, Witness
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import AnyFabric


class InapplicableError(ValueError):
    """A schedule that an objective does not measure."""


class Question(Protocol):
    """What bounds of an objective are about: the instance, without any answer."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of argument, sorted."""

    def prove(self, kind: str, witness: Witness, bound: Number) -> None:
        """Raise unless a witness of a known kind proves a bound.

        Exact, in time near-linear in question and witness.

        Parameters
        ----------
        kind
            One of `kinds`.
        witness
            Of that kind.
        bound
            What it is to prove; weaker than that is proven as well.

        Raises
        ------
        NotProvenError
            If it proves less.
        InputError
            If it has not the form of its kind, or fits nothing here.
        """


@dataclass(frozen=True)
class Objective:
    """One objective; each is one module of this folder, which has it as ``OBJECTIVE``.

    Attributes
    ----------
    name
        `Certificate.objective`.
    largest
        Whether more of it is better.
    measure
        Returns the question that a sound schedule answers, and the value of its
        answer, recomputed from the schedule alone. Raises `InapplicableError`.
    """

    name: str
    largest: bool
    measure: Callable[[AnyFabric, Schedule], tuple[Question, Number]]

    def beats(self, value: Number, bound: Number) -> bool:
        """Return whether a value is better than a bound allows.

        Parameters
        ----------
        value, bound
            In the unit of the objective.
        """
        return value > bound if self.largest else value < bound
