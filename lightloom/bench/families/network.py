"""A network alone, where what runs on it is not a demand."""

from __future__ import annotations

from lightloom.bench.families import Family
from lightloom.core.errors import InputError
from lightloom.core.task import Demand
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.instance import Instance


def make(kind: str, nodes: int, gbit_per_s: int = 8000) -> Instance:
    """Return a byte from each node to the next on an ideal switch or 16 optical ones.

    Parameters
    ----------
    kind
        ``ideal-switch`` or ``ocs``.
    nodes, gbit_per_s
        Nodes, and the rate of each.
    """
    if kind not in ("ideal-switch", "ocs") or nodes < 2:
        what, allowed = "invalid network", "ideal-switch or ocs of 2 nodes or more"
        raise InputError(what, found=f"{kind} of {nodes}", allowed=allowed)
    table = {"kind": kind, "nodes": nodes}
    table["bits_per_second_per_node"] = gbit_per_s * 10**9
    if kind == "ocs":
        table["switches"] = 16
    fabric = load_fabric(table, "network")
    pairs = [(node, (node + 1) % nodes, 1) for node in range(nodes)]
    name = f"{kind} {nodes} at {gbit_per_s} Gb/s"
    return Instance(fabric, Demand.from_rows(pairs), name)


FAMILY = Family("network", "an ideal switch, or 16 optical switches", make)
