"""How far `auto` is from its lower bound, over collectives, sizes and tiles.

``python benchmarks/gaps.py [TILES ...]``: named LIGHTPATH racks, 16, 64 and 256 by
default; 1024 takes an hour. Completion times do not depend on the machine.
"""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

from lightloom.core.task import Collective
from lightloom.core.units import KIB, format_bytes
from lightloom.instances.collectives import catalogue
from lightloom.instances.instance import Instance
from lightloom.instances.named import fabrics
from lightloom.synth.synthesise import synthesise

SIZES = tuple(4**power * KIB for power in range(11))
TILES = ("16", "64", "256")


def cell(tiles: str, op: str, size_bytes: int) -> str:
    """Return the completion time in microseconds and its certified gap in percent."""
    fabric = fabrics()[f"lightpath-{tiles}"]
    if catalogue()[op].uses_blocks and size_bytes % fabric.node_count:
        return "-"
    task = Collective(op, tuple(range(fabric.node_count)), size_bytes)
    outcome = synthesise(Instance("gaps", fabric, task))
    assert outcome.objective is not None
    assert outcome.bound is not None
    gap = 100 * (outcome.objective - outcome.bound) / outcome.objective
    return f"{outcome.objective / 1e6:,.1f} ({gap:.1f})"


def main() -> None:
    """Synthesise every cell and print a table for each rack."""
    console = Console(width=240)
    for tiles in sys.argv[1:] or TILES:
        table = Table(title=f"auto on {tiles} tiles: us (certified gap in %)")
        table.add_column("collective")
        for size_bytes in SIZES:
            table.add_column(format_bytes(size_bytes), justify="right")
        for op in catalogue():
            table.add_row(op, *(cell(tiles, op, size_bytes) for size_bytes in SIZES))
        console.print(table)


if __name__ == "__main__":
    main()
