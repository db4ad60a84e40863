"""Kinds of bound on the completion time: the arithmetic that checks a witness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

__all__ = ["BoundKind"]


@dataclass(frozen=True)
class BoundKind:
    """One kind of argument; each module of this folder offers one as ``BOUND``.

    Attributes
    ----------
    name
        `Certificate.kind`.
    prove
        Returns the bound, in picoseconds, that a witness proves for a sound task, by
        arithmetic alone; raises `WitnessError`.
    """

    name: str
    prove: Callable[[AnyFabric, Task, Witness], int]
