"""Collectives on a grid of light paths."""

from __future__ import annotations

from lightloom.bench.families import Family
from lightloom.core.task import Collective
from lightloom.core.units import format_bytes
from lightloom.instances.collectives import check_collective
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.instance import Instance


def make(
    rows: int,
    cols: int,
    op: str,
    lasers: int = 16,
    waveguides: int = 64,
    bytes_per_node: int = 1024,
) -> Instance:
    """Return an operation over all tiles of a grid.

    Parameters
    ----------
    rows, cols, lasers, waveguides
        The grid.
    op
        The operation.
    bytes_per_node
        The buffer, divided by the number of tiles.
    """
    grid = {"rows": rows, "cols": cols, "lasers": lasers, "waveguides": waveguides}
    fabric = load_fabric({"kind": "lightpath", **grid}, "grid")
    nodes = fabric.node_count
    task = Collective(op, tuple(range(nodes)), bytes_per_node * nodes)
    name = (
        f"{op} {rows}x{cols} L={lasers} W={waveguides}"
        f" {format_bytes(task.buffer_bytes)}"
    )
    check_collective(task, nodes, name)
    return Instance(fabric, task, name)


FAMILY = Family("collective", "a collective over all tiles of a grid", make)
