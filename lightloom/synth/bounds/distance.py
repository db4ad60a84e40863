"""The search for the node that is farthest from the root."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.task import Collective
from lightloom.synth.bounds.witness_search import WitnessSearch
from lightloom.validate.certificates.completion_time.distance import circuits_apart

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


def _farthest(fabric: AnyFabric, task: Task) -> Witness | None:
    """Return the first node that most circuits are between it and the root."""
    apart = circuits_apart(fabric, task)
    if apart is None:
        return None
    assert isinstance(task, Collective)
    node = np.sort(np.array(task.nodes, dtype=np.int64))
    most = int(apart[node].argmax())
    return {"node": int(node[most])} if apart[node[most]] > 1 else None


SEARCHES = WitnessSearch("distance", _farthest)
