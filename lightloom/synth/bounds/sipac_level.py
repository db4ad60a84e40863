"""The search for the level of SiPAC that most data must cross."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.instances.fabrics.sipac import Sipac
from lightloom.synth.bounds.witness_search import WitnessSearch
from lightloom.validate.certificates.completion_time.collective_needs import (
    CollectiveNeeds,
)
from lightloom.validate.certificates.completion_time.requirements import (
    requirements_of,
)
from lightloom.validate.certificates.completion_time.sipac_level import (
    crossing_bytes,
    fibre_bytes,
)

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


def _find(fabric: AnyFabric, task: Task) -> Witness | None:
    """Return the level, of a demand with its busiest fibre or bus."""
    if not isinstance(fabric, Sipac):
        return None
    needs = requirements_of(task, fabric.node_count)
    most, best = 0, None
    for level in range(fabric.levels):
        if isinstance(needs, CollectiveNeeds):
            size_bytes = crossing_bytes(fabric, needs, level)
            if size_bytes > most:
                most, best = size_bytes, {"level": level}
            continue
        for direction in (0, 1):
            due = fibre_bytes(fabric, needs, level, direction)
            if max(due, default=0) > most:
                most = max(due)
                ends = {"direction": direction, "node": due.index(most)}
                best = {"level": level, **ends}
    return best


SEARCHES = WitnessSearch("level", _find)
