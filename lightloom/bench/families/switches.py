"""Random traffic on parallel optical switches."""

from __future__ import annotations

from lightloom.bench.families import Family
from lightloom.bench.families.random_pairs import permuted_demand, random_demand
from lightloom.core.errors import InputError
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.instance import Instance

_DEMANDS = {"cyclic": random_demand, "random": permuted_demand}


def make(
    nodes: int,
    switches: int,
    partners: int,
    most_mb: int = 100,
    draw: int = 0,
    pattern: str = "cyclic",
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
    pattern
        ``cyclic``: cyclic shifts of shuffled nodes, which share ports evenly;
        ``random``: random permutations, three pairs in ten left out.
    """
    if pattern not in _DEMANDS:
        what, allowed = "unknown pattern", ", ".join(_DEMANDS)
        raise InputError(what, found=pattern, allowed=allowed)
    table = {"kind": "ocs", "nodes": nodes, "switches": switches}
    table["bits_per_second_per_node"] = 10**12
    fabric = load_fabric(table, "switches")
    seed = [draw, nodes, switches, partners]
    demand = _DEMANDS[pattern](nodes, partners, most_mb, seed)
    name = f"switches {nodes}x{switches} p={partners} {most_mb}MB #{draw}"
    if pattern != "cyclic":
        name += f" {pattern}"
    return Instance(fabric, demand, name)


FAMILY = Family("switches", "random traffic on parallel optical switches", make)
