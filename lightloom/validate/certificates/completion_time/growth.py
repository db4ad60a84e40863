"""Growth: what one node knows takes portions to get around, however small it is.

Witness ``{"node": v, "direction": 0}``: the data of v must reach so many nodes; with
direction 1, v must hear of so many. See `reach_ps` (collectives, where data may be
forwarded) and `fan_ps` (demands, where they may not) for the argument.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.validate.certificates.completion_time.kind import (
    BoundKind,
    Witness,
    WitnessError,
    node_of,
)
from lightloom.validate.certificates.completion_time.requirements import (
    obligations,
    spread_on,
)
from lightloom.validate.certificates.completion_time.step_costs import (
    can_carry,
    require_carrier,
)

if TYPE_CHECKING:
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


def _find(fabric: AnyFabric, task: Task) -> Witness | None:
    if not can_carry(fabric):
        return None
    needs = obligations(task, fabric.node_count)
    sides = spread_on(fabric, needs)
    most = max(max(side) for side in sides)
    if not needs.spread_ps(fabric, most):
        return None
    direction = 0 if most in sides[0] else 1
    return {"node": sides[direction].index(most), "direction": direction}


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    require_carrier(fabric)
    node = node_of(witness, fabric.node_count, "direction")
    direction = witness["direction"]
    if direction not in (0, 1):
        message = f"direction {direction} is neither 0 (reach) nor 1 (hear)"
        raise WitnessError(message)
    needs = obligations(task, fabric.node_count)
    side = spread_on(fabric, needs)[0 if direction == 0 else 1]
    return needs.spread_ps(fabric, side[node])


BOUND = BoundKind("growth", _find, _prove)
