"""Rounds, slots, bounds and seconds of Algorithm 1's model by structure.

Run ``python benchmarks/rounds.py``: one run of each instance with seed 0, every
schedule verified. Nothing here is a test.
"""

from __future__ import annotations

import itertools
import os
import platform
import time
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from lightloom.core.task import Collective
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.problems.fewest_rounds import (
    METHODS,
    FewRounds,
    all_to_all_slots,
    few_rounds,
)
from lightloom.validate import verify

if TYPE_CHECKING:
    from collections.abc import Iterator

SLOT_GRIDS = ((4, 4), (4, 8), (6, 8), (8, 8), (5, 5), (16, 16))
SLOT_WAVEGUIDES = (1, 2, 3, 4, 8)
SMALL = ((2, 2), (2, 3), (2, 4), (3, 3), (3, 4), (4, 4))
LASERS = range(1, 9)
OTHERS = ("broadcast", "scatter", "gather", "reduce", "reduce-scatter", "all-reduce")


def grid(rows: int, cols: int, lasers: int, waveguides: int) -> Lightpath:
    """Return a grid whose edges all have the same waveguides."""
    return Lightpath(rows=rows, cols=cols, lasers=lasers, waveguides=waveguides)


def slots_table() -> Table:
    """Return the table of all-to-all in slots."""
    table = _table("All-to-all in slots", "grid", "W", "slots", "bound", "method")
    for rows, cols in SLOT_GRIDS:
        for waveguides in SLOT_WAVEGUIDES:
            fabric = grid(rows, cols, 1, waveguides)
            start = time.perf_counter()
            slots = all_to_all_slots(fabric)
            seconds = time.perf_counter() - start
            _add(
                table,
                (f"{rows}x{cols}", waveguides),
                (slots.slot_count, slots.bound, slots.kind),
                slots.method,
                seconds,
            )
    return table


def small_table() -> Table:
    """Return the table of every collective on small grids, and the gaps left."""
    table = Table(title=f"Rounds with 1 to {max(LASERS)} lasers, one or two waveguides")
    for name in ("collective", *(f"{rows}x{cols}" for rows, cols in SMALL), "gaps"):
        table.add_column(name)
    for op in ("all-gather", "all-to-all", *OTHERS):
        counts, gaps = [], []
        for rows, cols in SMALL:
            certified = 0
            for lasers, waveguides in itertools.product(LASERS, (1, 2)):
                found = _solved((rows, cols, lasers, waveguides), op)
                certified += found.proved
                if not found.proved:
                    where = f"{rows}x{cols} L={lasers} W={waveguides}"
                    gaps.append(f"{where}: {found.rounds} ({found.bound.rounds})")
            counts.append(f"{certified} of {2 * len(LASERS)}")
        table.add_row(op, *counts, "; ".join(gaps))
    return table


def all_gathers() -> Iterator[tuple[int, int, int, int]]:
    """Yield (rows, cols, lasers, waveguides) of the all-gather instances."""
    for waveguides in (1, 2):
        for lasers in (4, 8, 16):
            yield 4, 8, lasers, waveguides
    for side in (8, 16):
        for waveguides in (1, 2, 4, 8):
            yield side, side, 16, waveguides


def rounds_table() -> Table:
    """Return the table of all-gather, and what else is made on larger grids."""
    columns = ("grid", "L", "W", "collective", "rounds", "bound", "method")
    table = _table("Rounds, one chunk a circuit", *columns)
    for shape in all_gathers():
        _row(table, shape)
    for op in OTHERS:
        _row(table, (16, 16, 16, 1), op)
    for op, lasers in itertools.product(("all-to-all", *OTHERS), (4, 8, 16)):
        _row(table, (4, 8, lasers, 1), op)
    for op, lasers in itertools.product(
        ("all-gather", "all-to-all", *OTHERS), (1, 2, 4, 8, 16)
    ):
        _row(table, (5, 5, lasers, 1), op)
    for side, waveguides in ((8, 1), (8, 2), (8, 4), (16, 1), (16, 4)):
        _row(table, (side, side, 16, waveguides), "all-to-all")
    return table


def squares_table() -> Table:
    """Return the table of divide and conquer."""
    columns = ("grid", "L", "W", "collective", "rounds", "bound", "method")
    table = _table("Divide and conquer", *columns)
    for rows, cols in ((2, 2), (2, 4), (4, 4), (4, 8), (8, 8), (16, 16)):
        for lasers, waveguides in ((2, 1), (16, 1), (16, 8)):
            for op in ("all-gather", "all-reduce"):
                _row(table, (rows, cols, lasers, waveguides), op, METHODS[1])
    return table


def _row(
    table: Table,
    shape: tuple[int, int, int, int],
    op: str = "all-gather",
    method: str = METHODS[0],
) -> None:
    """Solve, verify and add one (rows, cols, lasers, waveguides) instance."""
    rows, cols, lasers, waveguides = shape
    start = time.process_time()
    found = _solved(shape, op, method)
    seconds = time.process_time() - start
    names = (f"{rows}x{cols}", lasers, waveguides, op)
    numbers = (found.rounds, found.bound.rounds, found.bound.kind)
    _add(table, names, numbers, found.method, seconds)


def _solved(
    shape: tuple[int, int, int, int], op: str, method: str = METHODS[0]
) -> FewRounds:
    """Return the verified answer of one (rows, cols, lasers, waveguides) instance."""
    fabric = grid(*shape)
    nodes = tuple(range(fabric.node_count))
    task = Collective(op, nodes, len(nodes) * 1024)
    found = few_rounds(Instance(fabric, task, "benchmark"), method=method)
    if not verify(found.schedule()).valid:
        message = f"{op} on {shape} does not verify"
        raise RuntimeError(message)
    return found


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title)
    for name in (*columns, "status", "seconds"):
        table.add_column(name)
    return table


def _add(
    table: Table,
    names: tuple[object, ...],
    numbers: tuple[int, int, str],
    method: str,
    seconds: float,
) -> None:
    value, bound, kind = numbers
    gap = f"gap {value - bound} ({100 * (value - bound) / max(bound, 1):.1f} %)"
    table.add_row(
        *map(str, names),
        str(value),
        f"{bound} ({kind})",
        method,
        "certified" if value == bound else gap,
        f"{seconds:.3f}",
    )


def main() -> None:
    """Print the machine and the tables."""
    console = Console(width=140)
    console.print(
        f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()},"
        f" Python {platform.python_version()}, numpy {np.__version__}"
    )
    for make in (small_table, slots_table, squares_table, rounds_table):
        console.print(make())


if __name__ == "__main__":
    main()
