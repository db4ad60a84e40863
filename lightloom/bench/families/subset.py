"""Collectives of some of the nodes of a fabric of the catalogue."""

from __future__ import annotations

from lightloom.bench.families import Family
from lightloom.core.errors import InputError
from lightloom.core.task import Collective
from lightloom.core.units import format_bytes
from lightloom.instances.catalogue import fabrics
from lightloom.instances.collectives import check_collective
from lightloom.instances.instance import Instance


def make(fabric: str, op: str, nodes: str, buffer_bytes: int) -> Instance:
    """Return a collective of some nodes.

    Parameters
    ----------
    fabric, op
        Parts of a name that `lightloom instances` lists.
    nodes
        The nodes in the order of their ranks, blanks between them.
    buffer_bytes
        The buffer of the whole operation.
    """
    known = fabrics()
    if fabric not in known:
        allowed = "a fabric of `lightloom instances`"
        raise InputError("unknown fabric", found=fabric, allowed=allowed)
    if not all(node.isdecimal() for node in nodes.split()):
        what, allowed = "invalid nodes", "numbers with blanks between them"
        raise InputError(what, found=nodes, allowed=allowed)
    name = f"{fabric}[{nodes}]/{op}-{format_bytes(buffer_bytes)}"
    task = Collective(op, tuple(map(int, nodes.split())), buffer_bytes)
    check_collective(task, known[fabric].node_count, name)
    return Instance(known[fabric], task, name)


FAMILY = Family("subset", "a collective of some nodes of a fabric", make)
