"""Random traffic on fabrics of the catalogue."""

from __future__ import annotations

from lightloom.bench.families import Family
from lightloom.bench.families.random_pairs import permuted_demand, random_demand
from lightloom.core.errors import InputError
from lightloom.instances.catalogue import demand_fabrics, fabrics
from lightloom.instances.instance import Instance

_DEMANDS = {"cyclic": random_demand, "random": permuted_demand}


def make(
    fabric: str,
    partners: int,
    most_mb: int = 100,
    draw: int = 0,
    pattern: str = "cyclic",
) -> Instance:
    """Return random traffic between the nodes of a fabric.

    Parameters
    ----------
    fabric
        Its name in `lightloom instances`.
    partners, most_mb
        How many others a node sends to, and the most megabytes of a pair.
    draw
        What the traffic is drawn from.
    pattern
        ``cyclic`` or ``random``, as the family ``switches`` takes it.
    """
    known = {**demand_fabrics(), **fabrics()}
    if fabric not in known:
        allowed = "a fabric of `lightloom instances`"
        raise InputError("unknown fabric", found=fabric, allowed=allowed)
    if pattern not in _DEMANDS:
        what, allowed = "unknown pattern", ", ".join(_DEMANDS)
        raise InputError(what, found=pattern, allowed=allowed)
    nodes = known[fabric].node_count
    demand = _DEMANDS[pattern](nodes, partners, most_mb, [draw, nodes, partners])
    name = f"traffic {fabric} {pattern} p={partners} {most_mb}MB #{draw}"
    return Instance(known[fabric], demand, name)


FAMILY = Family("traffic", "random traffic on a fabric of the catalogue", make)
