"""The search for the line of ports whose uses, switch by switch, need longest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lightloom.core.task import Demand
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.synth.bounds.witness_search import WitnessSearch
from lightloom.validate.certificates.completion_time.switch_uses import (
    least_uses_ps,
    use_costs_ps,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from lightloom.core.certificate import Witness
    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

_TRIED = 8
"""Lines that are worked out, those with most data and reconfigurations first."""
_HALVINGS = 60
"""As many as tell floating point numbers apart."""


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
    tried = np.argsort(-cost, kind="stable")[:_TRIED].tolist()
    longest = _longest_line(fabric, line, np.tile(data_ps, 2))
    for worst in [*tried, *({longest} - {*tried})]:
        direction, node = divmod(worst, fabric.nodes)
        mine = np.flatnonzero(ends[direction] == node).tolist()
        bound_ps = least_uses_ps(fabric, [task.bytes[row] for row in mine])
        if best is None or bound_ps > best[0]:
            best = bound_ps, node, direction
    assert best is not None
    return {"node": best[1], "direction": best[2]}


def _longest_line(fabric: Ocs, line: IntArray, data_ps: FloatArray) -> int:
    """Return the line whose uses need longest, by bisection in floating point."""
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
    return worst


SEARCHES = WitnessSearch("switch-uses", _find)
