"""Lower bounds on the completion time: one kind a file, found by walking this folder.

Every bound is a theorem of the schedule semantics, whatever the algorithm; its proof
is in the docstring of its module.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from lightloom.core.catalogue import walk
from lightloom.validate.certificates.completion_time.kind import BoundKind, WitnessError

if TYPE_CHECKING:
    from lightloom.core.certificate import Certificate
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

__all__ = ["BoundKind", "WitnessError", "all_bounds", "catalogue", "lower_bound"]


@functools.cache
def catalogue() -> dict[str, BoundKind]:
    """Return every kind of bound, by name."""
    return walk(__name__, "BOUND")


def all_bounds(fabric: AnyFabric, task: Task) -> dict[str, Certificate]:
    """Return the best certificate of each kind that has one, by kind.

    The task must be sound for the fabric; its chunks need not be chosen and do not
    matter. Deterministic.
    """
    found = {name: kind.bound(fabric, task) for name, kind in catalogue().items()}
    return {name: bound for name, bound in found.items() if bound is not None}


def lower_bound(fabric: AnyFabric, task: Task) -> Certificate | None:
    """Return the largest bound, the first by name among equals.

    ``None`` where there is nothing to do, or nothing can ever be done.
    """
    bounds = all_bounds(fabric, task)
    return max(bounds.values(), key=lambda found: found.bound, default=None)
