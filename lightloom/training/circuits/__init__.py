"""Circuits of trainings: one file for each kind of fabric, found by walking.

A module of this folder says how many partners a node of its fabric may have, and sets
circuits for the traffic of an iteration. It offers that as ``SETTER``.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from lightloom.core.catalogue import walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.circuit import Circuits
    from lightloom.core.task import Demand

__all__ = ["CircuitSetter", "PlaneCircuits", "catalogue"]

FabricT = TypeVar("FabricT")

PlaneCircuits: TypeAlias = "dict[int, Circuits]"
"""What planes are to hold, by plane."""


@dataclass(frozen=True)
class CircuitSetter(Generic[FabricT]):
    """How the circuits of a training are set on one kind of fabric.

    All of it is deterministic. Circuits are such that the slowest pair has as many of
    them a byte as can be, or as are found.

    Attributes
    ----------
    name
        The kind, as in ``[fabric] kind``.
    ports
        How many partners a node may have at once, 1 or more.
    lasting
        Circuits for a whole iteration (SiP-ML, section 3.3): each pair of a demand
        has one at least. Raises `InfeasibleError` where that cannot be, and
        `NoAnswerError` where none were found.
    estimated
        The same for estimates: quickly, and perhaps such that their rates mean
        something and their wavelengths and routes do not.
    following
        Circuits for the traffic of a period: pairs that find no light wait, those with
        less to send first.
    period_ps
        From one setting of circuits to the next one, unless somebody says otherwise.
    """

    name: str
    ports: Callable[[FabricT], int]
    lasting: Callable[[FabricT, Demand], PlaneCircuits]
    estimated: Callable[[FabricT, Demand], PlaneCircuits]
    following: Callable[[FabricT, Demand], PlaneCircuits]
    period_ps: Callable[[FabricT], int]


@functools.cache
def catalogue() -> dict[str, CircuitSetter[Any]]:
    """Return the fabrics with circuits for trainings, by kind."""
    return walk(__name__, "SETTER")
