"""Receive and send: some node must take in, or give out, its data at its own rate.

Witness ``{"node": d}``. Let X be the bytes that d must receive, or send, and r the most
that a node receives, or sends. By `step_costs`, T >= (what portions and configurations
cost) + ceil(X / r).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.units import transmission_ps
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.requirements import (
    base_ps,
    requirements_of,
)
from lightloom.validate.certificates.completion_time.step_costs import (
    require_carrier,
)
from lightloom.validate.certificates.witness import keys, number

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


def _received(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    return _prove(fabric, task, witness, sends=False)


def _sent(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    return _prove(fabric, task, witness, sends=True)


def _prove(fabric: AnyFabric, task: Task, witness: Witness, *, sends: bool) -> int:
    require_carrier(fabric)
    keys(witness, "node")
    node = number(witness, "node", fabric.node_count)
    needs = requirements_of(task, fabric.node_count)
    size_bytes = (needs.sent_bytes() if sends else needs.received_bytes())[node]
    return base_ps(fabric, needs) + transmission_ps(size_bytes, fabric.node_bits_per_s)


BOUND = (BoundKind("receive", _received), BoundKind("send", _sent))
