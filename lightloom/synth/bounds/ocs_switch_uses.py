"""The search for the line of ports whose uses, switch by switch, need longest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.task import Demand
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.synth.bounds.witness_search import WitnessSearch
from lightloom.validate.certificates.completion_time.ocs_port_time import use_costs_ps
from lightloom.validate.certificates.completion_time.ocs_switch_uses import (
    least_uses_ps,
)

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

_TRIED = 8
"""Lines that are worked out, those with most data and reconfigurations first."""


def _find(fabric: AnyFabric, task: Task) -> Witness | None:
    """Return the node and the direction of the best of some lines."""
    if not isinstance(fabric, Ocs) or not isinstance(task, Demand) or not task.src:
        return None
    size = np.array(task.bytes, dtype=np.float64)
    ends = [np.array(end, dtype=np.int64) for end in (task.src, task.dst)]
    use_ps, _, _ = use_costs_ps(fabric)
    data_ps = size * (BITS_PER_BYTE * PS_PER_S / fabric.bits_per_second_per_circuit)
    line = np.concatenate([ends[0], fabric.nodes + ends[1]])
    cost = np.bincount(line, weights=np.tile(data_ps + use_ps, 2))
    best: tuple[int, int, int] | None = None
    for worst in np.argsort(-cost, kind="stable")[:_TRIED].tolist():
        direction, node = divmod(worst, fabric.nodes)
        mine = np.flatnonzero(ends[direction] == node).tolist()
        bound_ps = least_uses_ps(fabric, [task.bytes[row] for row in mine])
        if best is None or bound_ps > best[0]:
            best = bound_ps, node, direction
    assert best is not None
    return {"node": best[1], "direction": best[2]}


SEARCHES = WitnessSearch("switch-uses", _find)
