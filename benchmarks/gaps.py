"""How far `auto` is from its lower bound, over collectives, sizes and tiles.

``python benchmarks/gaps.py [--only OP,OP] [--sizes KIB,KIB] [TILES ...]``: LIGHTPATH
racks of 16, 64 and 256 tiles by default. Completion times do not depend on the machine;
the slowest cell of a row, in seconds of the processor, does.
"""

from __future__ import annotations

import argparse
import time

from rich.console import Console
from rich.table import Table

from lightloom.core.task import Collective
from lightloom.core.units import KIB, format_bytes
from lightloom.instances.collectives import catalogue
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.synth.synthesise import synthesise

SIZES = tuple(4**power * KIB for power in range(11))
GRIDS = {
    16: (4, 4),
    32: (4, 8),
    64: (8, 8),
    128: (8, 16),
    256: (16, 16),
    512: (16, 32),
    1024: (32, 32),
}


def cell(tiles: int, op: str, size_bytes: int) -> tuple[str, float]:
    """Return completion time and certified gap, and how long finding them took."""
    if catalogue()[op].uses_blocks and size_bytes % tiles:
        return "-", 0.0
    rows, cols = GRIDS[tiles]
    fabric = Lightpath(rows=rows, cols=cols)
    task = Collective(op, tuple(range(tiles)), size_bytes)
    begun = time.process_time()
    outcome = synthesise(Instance("gaps", fabric, task))
    spent = time.process_time() - begun
    assert outcome.objective is not None
    assert outcome.bound is not None
    gap = 100 * (outcome.objective - outcome.bound) / outcome.objective
    return f"{outcome.objective / 1e6:,.1f} ({gap:.1f})", spent


def main() -> None:
    """Synthesise every cell and print a table for each rack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tiles", nargs="*", type=int, default=[16, 64, 256])
    parser.add_argument("--only", default=",".join(catalogue()))
    parser.add_argument("--sizes", default=",".join(str(s // KIB) for s in SIZES))
    chosen = parser.parse_args()
    sizes = [int(size) * KIB for size in chosen.sizes.split(",")]
    console = Console(width=240)
    for tiles in chosen.tiles:
        table = Table(title=f"auto on {tiles} tiles: us (certified gap in %)")
        table.add_column("collective")
        for size_bytes in sizes:
            table.add_column(format_bytes(size_bytes), justify="right")
        table.add_column("slowest, s", justify="right")
        for op in chosen.only.split(","):
            cells = [cell(tiles, op, size_bytes) for size_bytes in sizes]
            slowest = max(spent for _, spent in cells)
            table.add_row(op, *(text for text, _ in cells), f"{slowest:.1f}")
        console.print(table)


if __name__ == "__main__":
    main()
