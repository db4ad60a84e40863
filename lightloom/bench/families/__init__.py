"""Families of instances: one file each, found by walking this folder.

A module offers its family as ``FAMILY``. Same parameters, same instance: what is
random is drawn from the parameter ``draw``.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.catalogue import Catalogue
from lightloom.core.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lightloom.instances.instance import Instance


@dataclass(frozen=True)
class Family:
    """Instances of one kind, by their parameters.

    Attributes
    ----------
    name
        Name in the catalogue.
    summary
        What the instances are, in a line.
    make
        ``make(**parameters)`` returns an instance; every parameter is an integer or
        a text. Deterministic. Raises `InputError` where parameters make no sense.
    """

    name: str
    summary: str
    make: Callable[..., Instance]


_COUNTED = ("rows", "cols", "copies", "layers", "width", "width", "nodes", "partners")
"""Parameters in whose product an instance grows, those that pair up among themselves
twice."""
_MOST_COUNTED = 2**20


FAMILIES: Catalogue[Family] = Catalogue(__name__, attribute="FAMILY", noun="family")
"""Every family of instances, by name."""


def member(name: str, parameters: Mapping[str, object], where: str) -> Instance:
    """Return the instance of a family that has these parameters.

    Parameters
    ----------
    name
        Name of a family.
    parameters
        Of its function, by name.
    where
        For messages.

    Raises
    ------
    InputError
        Unknown family or parameter (nearest names suggested), a missing one, one of
        the wrong type, or parameters that make no sense together.
    """
    family = FAMILIES.get(name, where)
    takes = inspect.signature(family.make).parameters
    for key, value in parameters.items():
        if key not in takes:
            what, allowed = f"family {name} has no parameter {key!r}", ", ".join(takes)
            raise InputError(
                what, where=where, allowed=allowed, fix=nearest(key, takes)
            )
        kind = takes[key].annotation
        if type(value).__name__ != kind:
            what = f"parameter {key} of family {name} has the wrong type"
            raise InputError(what, where=where, found=value, allowed=kind)
    for key, taken in takes.items():
        if taken.default is inspect.Parameter.empty and key not in parameters:
            what = f"family {name} needs the parameter {key!r}"
            raise InputError(what, where=where, allowed=", ".join(takes))
    _refuse_huge(parameters, f"{where}: {name}")
    try:
        return family.make(**parameters)
    except InputError as problem:
        raise InputError(
            problem.what,
            where=f"{where}: {name}",
            found=problem.found,
            allowed=problem.allowed,
            fix=problem.fix,
        ) from None


def _refuse_huge(parameters: Mapping[str, object], where: str) -> None:
    """Raise before an instance is made that would not fit the memory."""
    given = [parameters[key] for key in _COUNTED if key in parameters]
    size = math.prod(value for value in given if isinstance(value, int) and value > 0)
    if size > _MOST_COUNTED:
        factors = " * ".join(key for key in _COUNTED if key in parameters)
        allowed = f"{factors} up to {_MOST_COUNTED}"
        raise InputError("too large an instance", where=where, allowed=allowed)
