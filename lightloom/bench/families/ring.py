"""Random traffic on a ring of wavelengths."""

from __future__ import annotations

from lightloom.bench.families import Family
from lightloom.bench.families.random_pairs import near_demand, random_demand
from lightloom.core.errors import InputError
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.instance import Instance


def make(
    nodes: int,
    wavelengths: int,
    partners: int,
    directions: int = 1,
    most_mb: int = 100,
    draw: int = 0,
    reach: int = 0,
    *,
    shared: bool = False,
) -> Instance:
    """Return random traffic on a ring.

    Parameters
    ----------
    nodes, wavelengths, directions
        The fabric.
    partners, most_mb
        How many others a node sends to, and the most megabytes of a pair.
    draw
        What the traffic is drawn from.
    reach
        Nodes that light passes, and how far traffic goes; 0 for all others.
    shared
        Whether transceivers are shared by the two directions.
    """
    if not 0 <= reach < nodes:
        raise InputError("invalid reach", found=reach, allowed=f"0 to {nodes - 1}")
    table = {"kind": "ring", "nodes": nodes, "wavelengths": wavelengths}
    table |= {"directions": directions, "reach": reach or nodes - 1}
    if shared:
        table["shared_transceivers"] = True
    fabric = load_fabric(table, "ring")
    seed = [draw, nodes, wavelengths, partners, directions]
    if reach:
        near = range(1, reach + 1)
        steps = sorted({step % nodes for one in near for step in (one, -one)})
        steps = steps if directions == 2 else list(near)
        demand = near_demand(nodes, steps, partners, most_mb, seed)
    else:
        demand = random_demand(nodes, partners, most_mb, seed)
    way = "both ways" if directions == 2 else "one way"
    way += f" reach {reach}" * (reach > 0) + " shared" * shared
    name = f"ring {nodes} W={wavelengths} {way} p={partners} {most_mb}MB #{draw}"
    return Instance(fabric, demand, name)


FAMILY = Family("ring", "random traffic on a ring of wavelengths", make)
