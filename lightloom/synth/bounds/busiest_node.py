"""The search for the node with most to receive, to send, or to spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.synth.bounds.witness_search import WitnessSearch
from lightloom.validate.certificates.completion_time.requirements import (
    requirements_of,
    spread_on,
)

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


def _receiver(fabric: AnyFabric, task: Task) -> Witness | None:
    return _busiest(requirements_of(task, fabric.node_count).received_bytes())


def _sender(fabric: AnyFabric, task: Task) -> Witness | None:
    return _busiest(requirements_of(task, fabric.node_count).sent_bytes())


def _busiest(due: list[int]) -> Witness | None:
    """Return the first node with most bytes due."""
    most = max(due, default=0)
    return {"node": due.index(most)} if most else None


def _spreader(fabric: AnyFabric, task: Task) -> Witness | None:
    """Return the first node that must reach, or else hear of, most others."""
    sides = spread_on(fabric, requirements_of(task, fabric.node_count))
    most = max(max(side) for side in sides)
    direction = 0 if most in sides[0] else 1
    return {"node": sides[direction].index(most), "direction": direction}


SEARCHES = (
    WitnessSearch("receive", _receiver),
    WitnessSearch("send", _sender),
    WitnessSearch("growth", _spreader),
)
