"""The search for the link that the bytes of a demand keep busy longest."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from lightloom.core.fabric import PacketFabric
from lightloom.core.task import Demand
from lightloom.synth.bounds.witness_search import WitnessSearch
from lightloom.validate.certificates.completion_time.busiest_link import crossing_bytes

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


def _busiest(fabric: AnyFabric, task: Task) -> Witness | None:
    """Return the first of the busiest links."""
    if not isinstance(fabric, PacketFabric) or not isinstance(task, Demand):
        return None
    links, crossing = crossing_bytes(fabric, task)
    rates = fabric.link_bits_per_s(links).tolist()
    busy = [Fraction(size, rate) for size, rate in zip(crossing, rates, strict=True)]
    return {"link": int(links[busy.index(max(busy))])} if busy else None


SEARCHES = (WitnessSearch("busiest-link", _busiest),)
