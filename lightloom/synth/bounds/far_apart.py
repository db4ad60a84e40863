"""The search for the node that is farthest, and for the rings that carry most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.task import Collective
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.synth.bounds.witness_search import WitnessSearch
from lightloom.validate.certificates.completion_time.distance import circuits_apart
from lightloom.validate.certificates.completion_time.spans import (
    axes_of,
    crossed_bytes,
)

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


def _fullest(fabric: AnyFabric, task: Task) -> Witness | None:
    """Return the axis whose spans have most to carry."""
    if not isinstance(fabric, Ring | Ring2d):
        return None
    time = {
        axis: crossed_bytes(fabric, task, axis) / ring.wavelengths
        for axis, ring in enumerate(axes_of(fabric))
    }
    most = max(time, key=lambda axis: time[axis])
    return {"axis": most} if time[most] else None


SEARCHES = (
    WitnessSearch("distance", _farthest),
    WitnessSearch("spans", _fullest),
)
"""The searches of this module."""
