"""Which operations must wait for which: data dependencies that nothing else implies."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.chunk_program import Place
    from lightloom.programs.operations import RankOperation

Cells: TypeAlias = tuple[str, int, int]
"""Chunks of a rank: (buffer, first, end)."""


def references(
    rows: Sequence[RankOperation],
    blocks: Sequence[int],
    cells: Sequence[tuple[Sequence[Cells], Sequence[Cells]]],
) -> list[list[int]]:
    """Return for each operation those of other thread blocks that it waits for.

    Read after write, write after read, write after write; what the order of thread
    blocks, messages and the other references imply is left out (vector clocks).

    `blocks`: thread block of each, counted over all ranks; its operations run in order.
    `cells`: what each reads, and what it writes.

    O(operations x thread blocks) in time and, with 4 bytes each, in memory. Chunks that
    no operation tells apart count as one.
    """
    clocks = np.zeros((len(rows), max(blocks, default=0) + 1), dtype=np.int32)
    last: dict[int, int] = {}
    accesses = _Accesses(rows, cells)
    found: list[list[int]] = []
    for number, (row, block) in enumerate(zip(rows, blocks, strict=True)):
        clock = clocks[number]
        if block in last:
            clock[:] = clocks[last[block]]
        if row.sender >= 0:
            np.maximum(clock, clocks[row.sender], out=clock)
        waits = []
        before = accesses.before(number, row.rank, *cells[number])
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
    """Who read and wrote every chunk last; a chunk stands for those up to the next."""

    def __init__(
        self,
        rows: Sequence[RankOperation],
        cells: Sequence[tuple[Sequence[Cells], Sequence[Cells]]],
    ) -> None:
        bounds: dict[tuple[int, str], set[int]] = defaultdict(set)
        for row, (reads, writes) in zip(rows, cells, strict=True):
            for buffer, first, end in (*reads, *writes):
                bounds[row.rank, buffer] |= {first, end}
        self._bounds = {place: sorted(mine) for place, mine in bounds.items()}
        self._written: dict[tuple[int, Place], int] = {}
        self._read: dict[tuple[int, Place], list[int]] = defaultdict(list)

    def before(
        self,
        number: int,
        rank: int,
        reads: Sequence[Cells],
        writes: Sequence[Cells],
    ) -> set[int]:
        """Return the operations that must have ended, and note what this one does."""
        found: set[int] = set()
        source = [place for cells in reads for place in self._places(rank, cells)]
        target = [place for cells in writes for place in self._places(rank, cells)]
        for cell in source:
            self._read[cell].append(number)
        for cell in target:
            found.update(self._read.pop(cell, ()))
        found.update(
            self._written[cell] for cell in source + target if cell in self._written
        )
        self._written |= dict.fromkeys(target, number)
        return found - {number}

    def _places(self, rank: int, cells: Cells) -> list[tuple[int, Place]]:
        """Return the chunks that stand for a range."""
        buffer, first, end = cells
        bounds = self._bounds[rank, buffer]
        inside = bounds[bisect_left(bounds, first) : bisect_left(bounds, end)]
        return [(rank, (buffer, chunk)) for chunk in inside]
