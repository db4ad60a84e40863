"""Volume: all messages together keep some node busy.

No witness is needed. Let V be the least bytes that the n nodes of a collective must
receive in all (`CollectiveNeeds.volume_bytes`). In a portion the busiest node receives
at least the average, so the portions hold V / (n r) of data time one after another, and
T >= (what portions and configurations cost) + ceil(V / (n r)). For an all-reduce of B
bytes V = 2 (n - 1) B: gossip by one-way messages takes 2n - 2 of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.units import transmission_ps
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.collective_needs import (
    CollectiveNeeds,
)
from lightloom.validate.certificates.completion_time.requirements import (
    base_ps,
    requirements_of,
)
from lightloom.validate.certificates.completion_time.step_costs import (
    require_carrier,
)
from lightloom.validate.certificates.witness import WitnessError, keys

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    require_carrier(fabric)
    keys(witness)
    needs = requirements_of(task, fabric.node_count)
    if not isinstance(needs, CollectiveNeeds):
        message = "the kind volume is about collectives"
        raise WitnessError(message)
    rate = needs.collective.rank_count * fabric.node_bits_per_s
    return base_ps(fabric, needs) + transmission_ps(needs.volume_bytes(), rate)


BOUND = BoundKind("volume", _prove)
