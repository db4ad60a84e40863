"""Growth: what one node knows takes portions to get around, however small it is.

Witness ``{"node": v, "direction": 0}``: the data of v must reach so many nodes; with
direction 1, v must hear of so many. See `reach_ps` (collectives, and demands that allow
relays, where data may be forwarded) and `fan_ps` (other demands) for the argument.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.requirements import (
    requirements_of,
    spread_on,
)
from lightloom.validate.certificates.completion_time.step_costs import (
    require_carrier,
)
from lightloom.validate.certificates.witness import keys, number

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    require_carrier(fabric)
    keys(witness, "node", "direction")
    node = number(witness, "node", fabric.node_count)
    needs = requirements_of(task, fabric.node_count)
    side = spread_on(fabric, needs)[number(witness, "direction", 2)]
    return needs.spread_ps(fabric, side[node])


BOUND = BoundKind("growth", _prove)
