"""The search for the line of ports of optical switches that needs longest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lightloom.core.task import Demand
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.synth.bounds.witness_search import WitnessSearch
from lightloom.validate.certificates.completion_time.ocs_port_time import use_costs_ps

if TYPE_CHECKING:
    import numpy.typing as npt

    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

_HALVINGS = 60


def _find(fabric: AnyFabric, task: Task) -> Witness | None:
    """Return the node and the direction, by bisection in floating point."""
    if not isinstance(fabric, Ocs) or not isinstance(task, Demand) or not task.src:
        return None
    size = np.array(task.bytes, dtype=np.float64)
    data_ps = size * (BITS_PER_BYTE * PS_PER_S / fabric.bits_per_second_per_circuit)
    line = np.concatenate(
        [np.array(task.src, dtype=np.int64), fabric.nodes + np.array(task.dst)]
    )
    data_ps = np.tile(data_ps, 2)
    total = np.bincount(line, weights=data_ps)
    use_ps, blind_ps, free_ps = use_costs_ps(fabric)

    def excess(time_ps: float) -> npt.NDArray[np.floating[Any]]:
        """Return how much longer than `time_ps` allows each line keeps its ports."""
        uses = np.ceil(data_ps / (time_ps - blind_ps))
        cost = use_ps * np.bincount(line, weights=uses)
        return total + cost - free_ps - fabric.switches * time_ps

    # As long as anything can take: each partner at once, uses in a row.
    low = float(blind_ps)
    high = low + float(total.max()) + use_ps * float(np.bincount(line).max()) + 1.0
    worst = int(total.argmax())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        over = excess(middle)
        if over.max() > 0:
            low, worst = middle, int(over.argmax())
        else:
            high = middle
    direction, node = divmod(worst, fabric.nodes)
    return {"node": node, "direction": direction}


SEARCHES = WitnessSearch("line", _find)
