"""How far `auto` is from its lower bound, over collectives, sizes and tiles.

``python benchmarks/gaps.py [--only OP,OP] [--sizes KIB,KIB] [--cells FILE] [TILES
...]``: LIGHTPATH racks of 16, 64 and 256 tiles by default. Completion times do not
depend on the machine; the slowest cell of a row, in seconds of the processor, does.
With ``--cells`` every cell is appended to a file as it comes, and cells found there are
not measured again; ``--widest`` prints the largest gap of each rack and collective
instead.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from lightloom.core.task import Collective
from lightloom.core.units import KIB, format_bytes
from lightloom.instances.collectives import COLLECTIVES
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

Question = tuple[int, str, int]


@dataclass(frozen=True)
class Cell:
    """One question, `auto`'s answer to it, and how long finding that took."""

    tiles: int
    op: str
    size_bytes: int
    objective_ps: int
    bound_ps: int
    algorithm: str
    kind: str
    cpu_s: float

    @property
    def question(self) -> Question:
        """Return what was asked."""
        return self.tiles, self.op, self.size_bytes

    @property
    def gap_percent(self) -> float:
        """Return how far the completion time is above the bound, in percent of it."""
        return 100 * (self.objective_ps / self.bound_ps - 1)


def measure(tiles: int, op: str, size_bytes: int) -> Cell:
    """Synthesise a schedule and return its completion time and bound."""
    rows, cols = GRIDS[tiles]
    fabric = Lightpath(rows=rows, cols=cols)
    task = Collective(op, tuple(range(tiles)), size_bytes)
    begun = time.process_time()
    outcome = synthesise(Instance(fabric, task, "gaps"))
    spent = time.process_time() - begun
    assert outcome.incumbent is not None
    schedule = outcome.incumbent.schedule
    certificate = schedule.footer.certificate
    assert certificate is not None
    parameters = [f"{key}={v}" for key, v in schedule.algorithm.parameters.items()]
    return Cell(
        tiles,
        op,
        size_bytes,
        schedule.footer.completion_time_ps,
        certificate.bound,
        " ".join([schedule.algorithm.name, *parameters]),
        certificate.kind,
        round(spent, 2),
    )


def known(path: Path | None) -> dict[Question, Cell]:
    """Read the cells measured before; a line that was cut short does not count."""
    cells = {}
    if path is not None and path.exists():
        for line in path.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                cell = Cell(**json.loads(line))
                cells[cell.question] = cell
    return cells


def keep(cell: Cell, path: Path | None) -> None:
    """Append a cell to the file, one line each."""
    if path is not None:
        with path.open("a") as file:
            file.write(json.dumps(asdict(cell)) + "\n")


def rack_table(tiles: int, rows: dict[str, list[Cell]]) -> Table:
    """Tabulate every cell of one rack."""
    table = Table(title=f"auto on {tiles} tiles: us (certified gap in %)")
    table.add_column("collective")
    for cell in next(iter(rows.values())):
        table.add_column(format_bytes(cell.size_bytes), justify="right")
    table.add_column("slowest, s", justify="right")
    for op, cells in rows.items():
        texts = [f"{c.objective_ps / 1e6:,.1f} ({c.gap_percent:.1f})" for c in cells]
        table.add_row(op, *texts, f"{max(c.cpu_s for c in cells):.1f}")
    return table


def widest_table(racks: dict[int, dict[str, list[Cell]]]) -> Table:
    """Tabulate the largest gap of every rack and collective."""
    table = Table(title="auto: largest certified gap in % (size)")
    table.add_column("tiles")
    for op in next(iter(racks.values())):
        table.add_column(op, justify="right")
    for tiles, rows in racks.items():
        tops = [
            max(cells, key=lambda cell: cell.gap_percent) for cells in rows.values()
        ]
        texts = [f"{c.gap_percent:.1f} ({format_bytes(c.size_bytes)})" for c in tops]
        table.add_row(str(tiles), *texts)
    return table


def main() -> None:
    """Synthesise every cell and print a table for each rack, or one for all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tiles", nargs="*", type=int, default=[16, 64, 256])
    parser.add_argument("--only", default=",".join(COLLECTIVES))
    parser.add_argument("--sizes", default=",".join(str(s // KIB) for s in SIZES))
    parser.add_argument("--cells", type=Path)
    parser.add_argument("--widest", action="store_true")
    chosen = parser.parse_args()
    sizes = [int(size) * KIB for size in chosen.sizes.split(",")]
    console = Console(width=240)
    before = known(chosen.cells)
    racks: dict[int, dict[str, list[Cell]]] = {}
    for tiles in chosen.tiles:
        racks[tiles] = {}
        for op in chosen.only.split(","):
            racks[tiles][op] = []
            for size_bytes in sizes:
                cell = before.get((tiles, op, size_bytes))
                if cell is None:
                    cell = measure(tiles, op, size_bytes)
                    keep(cell, chosen.cells)
                racks[tiles][op].append(cell)
        if not chosen.widest:
            console.print(rack_table(tiles, racks[tiles]))
    if chosen.widest:
        console.print(widest_table(racks))


if __name__ == "__main__":
    main()
