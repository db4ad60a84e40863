"""Random traffic on parallel optical switches."""

from __future__ import annotations

from lightloom.bench.families import Family
from lightloom.bench.families.random_pairs import random_demand
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.instance import Instance


def make(
    nodes: int, switches: int, partners: int, most_mb: int = 100, draw: int = 0
) -> Instance:
    """Return random traffic on switches.

    Parameters
    ----------
    nodes, switches
        The fabric.
    partners, most_mb
        How many others a node sends to, and the most megabytes of a pair.
    draw
        What the traffic is drawn from.
    """
    table = {"kind": "ocs", "nodes": nodes, "switches": switches}
    table["bits_per_second_per_node"] = 10**12
    fabric = load_fabric(table, "switches")
    demand = random_demand(nodes, partners, most_mb, [draw, nodes, switches, partners])
    name = f"switches {nodes}x{switches} p={partners} {most_mb}MB #{draw}"
    return Instance(fabric, demand, name)


FAMILY = Family("switches", "random traffic on parallel optical switches", make)
