"""Level: data whose ends differ in a digit must cross that level of SiPAC.

Only a hop on level l changes digit l of where data are. All that a node sends on a
level leaves by one fibre, and all that it hears there arrives by one bus, so either
moves at no more than r = (wavelengths of a fibre) * (rate of one).

Witness of a demand ``{"level": l, "node": v, "direction": 0 or 1}``. Demands go
straight, so all X bytes from v (0) or to it (1) of pairs on a switch of level l use
that fibre or bus: T >= (what portions and configurations cost) + ceil(X / r).

Witness of a collective ``{"level": l}``. Every chunk that one rank alone holds before
and one other rank alone after, where the two differ in digit l, is received on level
l at least once, by one of the n ranks; X bytes in all. In a portion the busiest of
them receives at least the average, so T >= (as above) + ceil(X / (n r)).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.exact_sums import exact_sums
from lightloom.core.units import transmission_ps
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.validate.certificates.completion_time.kind import (
    BoundKind,
    Witness,
    WitnessError,
    node_of,
)
from lightloom.validate.certificates.completion_time.requirements import (
    CollectiveNeeds,
    DemandNeeds,
    base_ps,
    obligations,
)

if TYPE_CHECKING:
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


def _find(fabric: AnyFabric, task: Task) -> Witness | None:
    if not isinstance(fabric, Sipac):
        return None
    needs = obligations(task, fabric.node_count)
    most, best = 0, None
    for level in range(fabric.levels):
        if isinstance(needs, CollectiveNeeds):
            size_bytes = _crossing_bytes(fabric, needs, level)
            if size_bytes > most:
                most, best = size_bytes, {"level": level}
            continue
        for direction in (0, 1):
            due = _fibre_bytes(fabric, needs, level, direction)
            if max(due, default=0) > most:
                most = max(due)
                ends = {"direction": direction, "node": due.index(most)}
                best = {"level": level, **ends}
    return None if best is None else dict(best)


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    if not isinstance(fabric, Sipac):
        message = f"the kind level is about SiPAC, not about a {fabric.kind}"
        raise WitnessError(message)
    needs = obligations(task, fabric.node_count)
    rate = fabric.wavelengths * fabric.bits_per_second_per_wavelength
    if isinstance(needs, CollectiveNeeds):
        if list(witness) != ["level"]:
            message = f"the witness has keys {sorted(witness)}, allowed: a level"
            raise WitnessError(message)
        level = _number(witness, "level", fabric.levels)
        size_bytes = _crossing_bytes(fabric, needs, level)
        rate *= needs.collective.rank_count
    else:
        node = node_of(witness, fabric.node_count, "direction", "level")
        level = _number(witness, "level", fabric.levels)
        direction = _number(witness, "direction", 2)
        size_bytes = _fibre_bytes(fabric, needs, level, direction)[node]
    return base_ps(fabric, needs) + transmission_ps(size_bytes, rate)


def _crossing_bytes(fabric: Sipac, needs: CollectiveNeeds, level: int) -> int:
    """Return the bytes with one holder before and one after that a level parts."""
    if needs.reduces:
        return 0
    alone = needs.wanted == 1
    nodes = np.array(needs.collective.nodes, dtype=np.int64)
    port = fabric.port(nodes, level)
    crosses = alone & (port[needs.origin] != port[needs.owner])
    return int(needs.chunks[crosses].sum()) * needs.collective.chunk_bytes


def _fibre_bytes(
    fabric: Sipac, needs: DemandNeeds, level: int, direction: int
) -> list[int]:
    """Return the bytes that each node sends, or hears, on a level."""
    end = needs.dst if direction else needs.src
    mine = fabric.level_of(needs.src, needs.dst) == level
    return exact_sums(end[mine], needs.bytes[mine], fabric.node_count)


def _number(witness: Witness, key: str, count: int) -> int:
    number = witness[key]
    if not isinstance(number, int) or not 0 <= number < count:
        message = f"{key} {number} is not among 0 to {count - 1}"
        raise WitnessError(message)
    return number


BOUND = BoundKind("level", _find, _prove)
