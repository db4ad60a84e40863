"""Nodes of a collective as a box: the digits that it spans on a SiPAC fabric."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InfeasibleError, InputError

if TYPE_CHECKING:
    from lightloom.instances.fabrics.sipac import Sipac


def box_of(
    fabric: Sipac, nodes: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return nodes in the order of a box, and its shape, the last digit fastest.

    Nodes form a box if they have some ports of every level in all combinations. Ranks
    in that order differ along one dimension exactly if they share a switch.

    Raises `InfeasibleError` if some nodes cannot hear of others at all: only nodes of
    the collective forward, and no chain of shared switches joins them; `InputError` if
    the nodes are no box.
    """
    node = np.sort(np.array(nodes, dtype=np.int64))
    spans = [
        np.unique(fabric.port(node, level)) for level in reversed(range(fabric.levels))
    ]
    shape = tuple(len(span) for span in spans)
    if prod(shape) == len(node):
        return tuple(node.tolist()), shape
    _require_connected(fabric, nodes)
    ports = ", ".join(str(span.tolist()) for span in spans)
    raise InputError(
        "invalid nodes: they are not all combinations of some ports",
        where="collective.nodes",
        found=f"{len(node)} nodes on ports {ports} of levels {fabric.level} to 0",
        allowed=f"{prod(shape)} nodes, or a full switch, or all nodes",
    )


def _require_connected(fabric: Sipac, nodes: tuple[int, ...]) -> None:
    """Raise unless shared switches join all nodes."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    node = np.array(nodes, dtype=np.int64)
    switches = []
    for level in range(fabric.levels):
        number = node - fabric.port(node, level) * fabric.radix**level
        switches.append(level * fabric.node_count + number)
    _, switch = np.unique(np.concatenate(switches), return_inverse=True)
    row = np.tile(np.arange(len(node)), fabric.levels)
    size = len(node) + int(switch.max()) + 1
    joins = coo_array(
        (np.ones(len(row), dtype=np.int8), (row, len(node) + switch)), (size, size)
    )
    _, part = connected_components(joins, directed=False)
    apart = np.flatnonzero(part[: len(node)] != part[0])
    if len(apart):
        what = "shared switches do not connect the nodes"
        found = f"nodes {nodes[0]} and {nodes[apart[0]]}"
        raise InfeasibleError(what, where="collective.nodes", found=found)
