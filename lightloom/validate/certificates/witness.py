"""Objectives, what bounds on them ask, and witnesses, which are read strictly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from lightloom.core.certificate import Number, Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import AnyFabric


class WitnessError(InputError):
    """A witness that does not have the form of its kind, or fits nothing here."""


class NotProvenError(InputError):
    """A witness of the right form that does not prove the bound it is given for.

    `excess`: by how much the bound is larger than what is proven, ``None`` if unknown.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        found: object = None,
        allowed: str = "",
        excess: int | None = None,
    ) -> None:
        super().__init__(what, where=where, found=found, allowed=allowed)
        self.excess = excess


def require(bound: Number, proven: int) -> None:
    """Raise unless a whole lower bound is no more than what is proven.

    Raises `NotProvenError` if it is more, or no whole number.
    """
    if not isinstance(bound, int):
        what, allowed = "the bound is not a whole number", "an integer"
        raise NotProvenError(what, found=str(bound), allowed=allowed)
    if bound > proven:
        what = f"the bound is {bound}, the witness proves {proven}"
        raise NotProvenError(what, excess=bound - proven)


def keys(witness: Witness, *names: str) -> None:
    """Raise `WitnessError` unless these are the keys of a witness."""
    if sorted(witness) != sorted(names):
        allowed = ", ".join(sorted(names)) or "none"
        message = f"the witness has keys {sorted(witness)}, allowed: {allowed}"
        raise WitnessError(message)


def number(witness: Witness, key: str, count: int) -> int:
    """Return an integer of a witness, 0 to ``count - 1``, or raise `WitnessError`."""
    value = witness[key]
    if not isinstance(value, int) or not 0 <= value < count:
        message = f"{key} {value} is not among 0 to {count - 1}"
        raise WitnessError(message)
    return value


def word(witness: Witness, key: str, *allowed: str) -> str:
    """Return a word of a witness, one of those allowed, or raise `WitnessError`."""
    value = witness[key]
    if not isinstance(value, str) or value not in allowed:
        message = f"{key} {value} is none of {', '.join(allowed)}"
        raise WitnessError(message)
    return value


def numbers(witness: Witness, key: str, low: int, high: int) -> IntArray:
    """Return a list of integers between two, shape (rows,), or raise `WitnessError`."""
    values = rows(witness, key, 0)
    if len(values) and (values.min() < low or values.max() > high):
        message = f"{key} are not from {low} to {high}"
        raise WitnessError(message)
    return values


def rows(witness: Witness, key: str, width: int) -> IntArray:
    """Return rows of integers, or raise `WitnessError`.

    `width`: integers of a row; 0 stands for a plain list.

    Returns shape (rows, width), or (rows,) of a plain list.
    """
    value = witness[key]
    shape = f"rows of {width} integers" if width else "a list of integers"
    message = f"{key} is not {shape}"
    if not isinstance(value, list):
        raise WitnessError(message)
    if width:
        sizes = {len(row) if isinstance(row, list) else 0 for row in value}
        if sizes - {width}:
            raise WitnessError(message)
        return _integers(value, message).reshape(-1, width)
    if any(isinstance(entry, list) for entry in value):
        raise WitnessError(message)
    return _integers(value, message)


def _integers(value: Sequence[int | Sequence[int]], message: str) -> IntArray:
    try:
        return np.array(value, dtype=np.int64)
    except OverflowError:
        raise WitnessError(message) from None


def node_mask(witness: Witness, key: str, node_count: int) -> npt.NDArray[np.bool_]:
    """Return a set of nodes, or raise `WitnessError`.

    `key`: where the nodes are listed, each once.

    Returns whether each node is in the set, shape (nodes,).
    """
    nodes = rows(witness, key, 0)
    inside = np.zeros(node_count, dtype=np.bool_)
    for node in nodes.tolist():
        if not 0 <= node < node_count or inside[node]:
            message = f"node {node} is named twice, or not among 0 to {node_count - 1}"
            raise WitnessError(message)
        inside[node] = True
    return inside


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
