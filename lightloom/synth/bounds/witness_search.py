"""The record of a search for witnesses of one kind of bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.certificate import Certificate, Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


@dataclass(frozen=True)
class WitnessSearch:
    """How witnesses of one kind of bound are found.

    Attributes
    ----------
    name
        The kind, one of `lightloom.validate.certificates.completion_time.BOUND_KINDS`.
    find
        Returns the best witness it can find for a fabric that can carry something and
        a task that is sound for it, in a certificate if the kind's `prove` was asked of
        it already; ``None`` where the kind has nothing to say.
    long
        Whether that may take as long as the search for a schedule.
    quick
        The same of such a kind in little time, as far as that goes; ``None`` where it
        does not.
    """

    name: str
    find: Callable[[AnyFabric, Task], Witness | Certificate | None]
    long: bool = False
    quick: Callable[[AnyFabric, Task], Witness | None] | None = None
