"""How far `auto` is from its lower bound, over collectives and sizes.

``python benchmarks/gaps.py [TILES]``: one of the named LIGHTPATH racks, 256 by default.
Completion times do not depend on the machine.
"""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

from lightloom.core.task import Collective
from lightloom.core.units import GIB, KIB, MIB, format_bytes
from lightloom.instances.collectives import catalogue
from lightloom.instances.instance import Instance
from lightloom.instances.named import fabrics
from lightloom.synth.synthesise import synthesise

SIZES = (KIB, 16 * KIB, 256 * KIB, 4 * MIB, 64 * MIB, GIB)


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
    """Synthesise every cell and print the table."""
    tiles = sys.argv[1] if len(sys.argv) > 1 else "256"
    table = Table(title=f"auto on {tiles} tiles: us (certified gap in %)")
    table.add_column("collective")
    for size_bytes in SIZES:
        table.add_column(format_bytes(size_bytes), justify="right")
    for op in catalogue():
        table.add_row(op, *(cell(tiles, op, size_bytes) for size_bytes in SIZES))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
