"""Busiest link: the bytes of a demand cross the links between their two ends.

For demands on packet fabrics, where the route between two nodes is given and nobody
forwards. Witness ``{"link": l}``. All bytes of the pairs whose route crosses l, X,
cross it in some step, at no more than its rate r, and there is a step:

    T  >=  alpha + latency + ceil(X / r).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import exact_sums
from lightloom.core.fabric import PacketFabric, step_ps
from lightloom.core.task import Demand
from lightloom.core.units import transmission_ps
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.step_costs import require_carrier
from lightloom.validate.certificates.witness import WitnessError, keys, number

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


def crossing_bytes(fabric: PacketFabric, demand: Demand) -> tuple[IntArray, list[int]]:
    """Return the links that a demand uses, ascending, and the bytes that cross each."""
    src, dst = (np.array(ends, dtype=np.int64) for ends in (demand.src, demand.dst))
    usage = fabric.link_usage(src, dst)
    links, place = np.unique(usage.resource, return_inverse=True)
    size_bytes = np.array(demand.bytes, dtype=np.int64)[usage.circuit]
    return links, exact_sums(place, size_bytes, len(links))


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    require_carrier(fabric)
    if not isinstance(fabric, PacketFabric) or not isinstance(task, Demand):
        message = "the kind busiest-link is about demands on packet fabrics"
        raise WitnessError(message)
    keys(witness, "link")
    links, crossing = crossing_bytes(fabric, task)
    used = dict(zip(links.tolist(), crossing, strict=True))
    link = number(witness, "link", max(used, default=0) + 1)
    if link not in used:
        message = f"no pair of the demand crosses link {link}"
        raise WitnessError(message)
    rate = int(fabric.link_bits_per_s(np.array([link]))[0])
    return step_ps(fabric) + transmission_ps(used[link], rate)


BOUND = BoundKind("busiest-link", _prove, straight=True)
