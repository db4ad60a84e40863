"""Kinds of bound on the completion time: the arithmetic that checks a witness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.task import Demand

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


@dataclass(frozen=True)
class BoundKind:
    """One kind of argument; each module of this folder offers one as ``BOUND``.

    Attributes
    ----------
    name
        ``kind`` of its certificates.
    prove
        Returns the bound, in picoseconds, that a witness proves for a sound task, by
        arithmetic alone. Raises `WitnessError`.
    straight
        Whether the proof rests on each byte of a demand taking one circuit, so that it
        says nothing of demands that allow relays.
    """

    name: str
    prove: Callable[[AnyFabric, Task, Witness], int]
    straight: bool = False

    def concerns(self, task: Task) -> bool:
        """Return whether the proof may be about a task, as far as relays matter."""
        return not (self.straight and isinstance(task, Demand) and task.relays)
