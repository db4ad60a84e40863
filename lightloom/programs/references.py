"""Which operations must wait for which: data dependencies that nothing else implies."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.chunk_program import READS_SRC, WRITES_DST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.chunk_program import Place
    from lightloom.programs.operations import RankOperation

__all__ = ["references"]


def references(
    rows: Sequence[RankOperation],
    blocks: Sequence[int],
    cells: Sequence[tuple[Sequence[Place], Sequence[Place]]],
) -> list[list[int]]:
    """Return for each operation those of other thread blocks that it waits for.

    Read after write, write after read, write after write; what the order of thread
    blocks, messages and the other references imply is left out (vector clocks).

    Parameters
    ----------
    rows
        Operations in an order in which they can run.
    blocks
        Thread block of each, counted over all ranks; its operations run in order.
    cells
        What each reads, and what it writes.

    Notes
    -----
    O(operations x thread blocks) in time and, with 4 bytes each, in memory.
    """
    clocks = np.zeros((len(rows), max(blocks, default=0) + 1), dtype=np.int32)
    last: dict[int, int] = {}
    accesses = _Accesses()
    found: list[list[int]] = []
    for number, (row, block) in enumerate(zip(rows, blocks, strict=True)):
        clock = clocks[number]
        if block in last:
            clock[:] = clocks[last[block]]
        if row.sender >= 0:
            np.maximum(clock, clocks[row.sender], out=clock)
        waits = []
        before = accesses.before(number, row, *cells[number])
        for other in sorted(before, reverse=True):
            theirs = blocks[other]
            if clock[theirs] < clocks[other][theirs]:
                waits.append(other)
                np.maximum(clock, clocks[other], out=clock)
        found.append(waits)
        clock[block] += 1
        last[block] = number
    return found


class _Accesses:
    """Who read and wrote every chunk last."""

    def __init__(self) -> None:
        self._written: dict[tuple[int, Place], int] = {}
        self._read: dict[tuple[int, Place], list[int]] = defaultdict(list)

    def before(
        self,
        number: int,
        row: RankOperation,
        reads: Sequence[Place],
        writes: Sequence[Place],
    ) -> set[int]:
        """Return the operations that must have ended, and note what this one does."""
        found: set[int] = set()
        source = [(row.rank, place) for place in reads if row.kind in READS_SRC]
        target = [(row.rank, place) for place in writes if row.kind in WRITES_DST]
        for cell in source:
            self._read[cell].append(number)
        for cell in target:
            found.update(self._read.pop(cell, ()))
        found.update(
            self._written[cell] for cell in source + target if cell in self._written
        )
        self._written |= dict.fromkeys(target, number)
        return found - {number}
