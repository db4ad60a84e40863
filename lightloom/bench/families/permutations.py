"""Requests of random permutations on a grid of light paths."""

from __future__ import annotations

import numpy as np

from lightloom.bench.families import Family
from lightloom.core.errors import InputError
from lightloom.core.task import Demand
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.instance import Instance


def make(rows: int, cols: int, copies: int = 1, draw: int = 0) -> Instance:
    """Return the union of random permutations, one request a pair, fixed points out.

    Parameters
    ----------
    rows, cols
        The grid.
    copies
        Permutations, at least 1.
    draw
        What they are drawn from.
    """
    if copies < 1 or draw < 0:
        what, allowed = "invalid permutations", "copies from 1, draw from 0"
        raise InputError(what, found=(copies, draw), allowed=allowed)
    grid = {"kind": "lightpath", "rows": rows, "cols": cols}
    fabric = load_fabric(grid, "grid")
    nodes = fabric.node_count
    rng = np.random.default_rng([draw, copies, rows, cols])
    pairs = [
        (src, dst)
        for _ in range(copies)
        for src, dst in enumerate(rng.permutation(nodes).tolist())
        if src != dst
    ]
    name = f"permutations {rows}x{cols} x{copies} #{draw}"
    demand = Demand.from_rows([(*pair, 1) for pair in pairs])
    return Instance(fabric, demand, name, tuple(pairs))


FAMILY = Family("permutations", "random permutations on a grid, to be routed", make)
