"""Random traffic on a ring of wavelengths."""

from __future__ import annotations

from lightloom.bench.families import Family
from lightloom.bench.families.random_pairs import random_demand
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.instance import Instance


def make(
    nodes: int,
    wavelengths: int,
    partners: int,
    directions: int = 1,
    most_mb: int = 100,
    draw: int = 0,
) -> Instance:
    """Return random traffic on a ring every node of which reaches every other.

    Parameters
    ----------
    nodes, wavelengths, directions
        The fabric.
    partners, most_mb
        How many others a node sends to, and the most megabytes of a pair.
    draw
        What the traffic is drawn from.
    """
    table = {"kind": "ring", "nodes": nodes, "wavelengths": wavelengths}
    table |= {"directions": directions, "reach": nodes - 1}
    fabric = load_fabric(table, "ring")
    seed = [draw, nodes, wavelengths, partners, directions]
    demand = random_demand(nodes, partners, most_mb, seed)
    way = "both ways" if directions == 2 else "one way"
    name = f"ring {nodes} W={wavelengths} {way} p={partners} {most_mb}MB #{draw}"
    return Instance(fabric, demand, name)


FAMILY = Family("ring", "random traffic on a ring of wavelengths", make)
