"""Level: data whose ends differ in a digit must cross that level of SiPAC.

Only a hop on level l changes digit l of where data are. All that a node sends on a
level leaves by one fibre, and all that it hears there arrives by one bus, so either
moves at no more than r = (wavelengths of a fibre) * (rate of one).

Witness of a demand ``{"level": l, "node": v, "direction": 0 or 1}``. A byte of a pair
on a switch of level l, whose ends differ in digit l alone, takes one circuit of level
l, or over a relay two: circuits of two levels would change two digits. So all X bytes
from v (0) or to it (1) of such pairs use that fibre or bus:
T >= (what portions and configurations cost) + ceil(X / r).

Witness of a collective ``{"level": l}``. Every chunk that one rank alone holds before
and one other rank alone after, where the two differ in digit l, is received on level
l at least once, by one of the n ranks; X bytes in all. In a portion the busiest of
them receives at least the average, so T >= (as above) + ceil(X / (n r)).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import exact_sums
from lightloom.core.units import transmission_ps
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.collective_needs import (
    CollectiveNeeds,
)
from lightloom.validate.certificates.completion_time.requirements import (
    DemandNeeds,
    base_ps,
    requirements_of,
)
from lightloom.validate.certificates.witness import WitnessError, keys, number

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    if not isinstance(fabric, Sipac):
        message = f"the kind level is about SiPAC, not about a {fabric.kind}"
        raise WitnessError(message)
    needs = requirements_of(task, fabric.node_count)
    rate = fabric.wavelengths * fabric.bits_per_second_per_wavelength
    if isinstance(needs, CollectiveNeeds):
        keys(witness, "level")
        level = number(witness, "level", fabric.levels)
        size_bytes = crossing_bytes(fabric, needs, level)
        rate *= needs.collective.rank_count
    else:
        keys(witness, "node", "direction", "level")
        node = number(witness, "node", fabric.node_count)
        level = number(witness, "level", fabric.levels)
        direction = number(witness, "direction", 2)
        size_bytes = fibre_bytes(fabric, needs, level, direction)[node]
    return base_ps(fabric, needs) + transmission_ps(size_bytes, rate)


def crossing_bytes(fabric: Sipac, needs: CollectiveNeeds, level: int) -> int:
    """Return the bytes with one holder before and one after that a level parts."""
    if needs.reduces:
        return 0
    alone = needs.wanted == 1
    nodes = np.array(needs.collective.nodes, dtype=np.int64)
    port = fabric.port(nodes, level)
    crosses = alone & (port[needs.origin] != port[needs.owner])
    return int(needs.chunks[crosses].sum()) * needs.collective.chunk_bytes


def fibre_bytes(
    fabric: Sipac, needs: DemandNeeds, level: int, direction: int
) -> list[int]:
    """Return the bytes that each node sends, or hears, on a level."""
    end = needs.dst if direction else needs.src
    mine = fabric.level_of(needs.src, needs.dst) == level
    return exact_sums(end[mine], needs.bytes[mine], fabric.node_count)


BOUND = BoundKind("level", _prove)
