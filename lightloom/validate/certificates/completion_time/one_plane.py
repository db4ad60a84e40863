"""Narrow questions: a collective on one plane, whose circuits have one destination.

Portions do not overlap there, and a node sends to at most ``ports_per_node`` others in
a portion. Where circuits may have several destinations it still hears from at most so
many, which is enough for some. Bounds about that need no witness: fabric and task say
it all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.fabric import CircuitFabric
from lightloom.core.task import Collective
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.step_costs import (
    require_carrier,
)
from lightloom.validate.certificates.witness import WitnessError, keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


def narrow_bound(
    name: str,
    about: str,
    serves: Callable[[Collective], bool],
    least_ps: Callable[[CircuitFabric, Collective], int],
    *,
    heard: Callable[[Collective], bool] = lambda _: False,
) -> BoundKind:
    """Return a kind of bound on narrow questions.

    `least_ps`: the bound, of two ranks or more. `heard`: whether, of a collective, it
    counts only what nodes hear, and so holds where circuits have several destinations.
    """

    def asked(fabric: AnyFabric, task: Task) -> tuple[CircuitFabric, Collective] | None:
        if not isinstance(fabric, CircuitFabric) or fabric.plane_count > 1:
            return None
        if not isinstance(task, Collective) or not serves(task):
            return None
        several = "multicast" in fabric.circuit_columns
        return None if several and not heard(task) else (fabric, task)

    def prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
        require_carrier(fabric)
        keys(witness)
        question = asked(fabric, task)
        if question is None:
            message = f"the kind {name} is about {about} on one plane"
            raise WitnessError(message)
        _, collective = question
        return 0 if collective.rank_count == 1 else least_ps(*question)

    return BoundKind(name, prove)
