"""The search for hearers: whoever must hear something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loom_extras.star import Star

from lightloom.synth.bounds.witness_search import WitnessSearch
from lightloom.validate.certificates.completion_time.requirements import requirements_of

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


def find(fabric: AnyFabric, task: Task) -> Witness | None:
    """Return all nodes that must hear something, ``None`` without a star."""
    if not isinstance(fabric, Star):
        return None
    received = requirements_of(task, fabric.node_count).received_bytes()
    nodes = [node for node, size_bytes in enumerate(received) if size_bytes]
    return {"nodes": nodes} if nodes else None


SEARCH = WitnessSearch("hearers", find)
