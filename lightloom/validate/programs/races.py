"""Races: accesses to one chunk of which neither happens before the other.

A step happens before another if the order of a thread block, a reference, or a message
says so, or several of these one after another. Full connections also make steps wait,
but for how long depends on sizes, so they count for nothing here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.chunk_program import COPY, READS_SRC, WRITES_DST
from lightloom.core.violation import Violation
from lightloom.validate.programs.execution import NONE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from lightloom.core.chunk_program import Place
    from lightloom.validate.programs.execution import Flat, ProgramRun
    from lightloom.validate.programs.layout import BufferLayout

__all__ = ["check_races"]

_MOST_CELLS = 2**28
"""Entries of the table of clocks at a time; larger programs take several turns."""


def check_races(
    layout: BufferLayout, flat: Flat, run: ProgramRun, *, in_place: bool
) -> Iterator[Violation]:
    """Yield pairs of accesses to a chunk, one of them a write, in no order.

    Parameters
    ----------
    layout
        What the operation of the program asks.
    flat
        The program as lists.
    run
        A run that came to its end.
    in_place
        Whether input and output are the same memory.

    Notes
    -----
    Vector clocks: entry b of a step's clock is how many steps of thread block b
    happened before it or are it. O(steps x thread blocks). Of the pairs of a chunk
    only those are looked at from which the others follow: an access and the last
    write, a write and the reads since.
    """
    blocks = len(flat.rank)
    turn = max(1, _MOST_CELLS // max(len(flat.steps), 1))
    first = 0
    while first < blocks:
        last = min(blocks, first + turn)
        while last < blocks and flat.rank[last] == flat.rank[last - 1]:
            last += 1
        clocks = _clocks(flat, run, first, last)
        yield from _races(layout, flat, run, clocks, first, last, in_place)
        first = last


def _clocks(flat: Flat, run: ProgramRun, first: int, last: int) -> NDArray[np.int32]:
    """Return the clocks of all steps, as far as they count blocks first to last - 1."""
    clocks = np.zeros((len(flat.steps), last - first), dtype=np.int32)
    for step in run.order:
        block = flat.block[step]
        clock = clocks[step]
        if step > flat.first[block]:
            clock[:] = clocks[step - 1]
        for before in (flat.waits_for[step], run.sender[step]):
            if before != NONE:
                np.maximum(clock, clocks[before], out=clock)
        if first <= block < last:
            clock[block - first] = step - flat.first[block] + 1
    return clocks


def _races(
    layout: BufferLayout,
    flat: Flat,
    run: ProgramRun,
    clocks: NDArray[np.int32],
    first: int,
    last: int,
    in_place: bool,  # noqa: FBT001  (private)
) -> Iterator[Violation]:
    """Yield the races of the GPUs whose thread blocks the clocks count."""
    written: dict[tuple[int, Place], int] = {}
    read: dict[tuple[int, Place], list[int]] = {}
    seen: set[tuple[int, int]] = set()
    for step in run.order:
        block = flat.block[step]
        if not first <= block < last:
            continue
        for cell, writes in _accesses(layout, flat, step, in_place):
            before = [written[cell]] if cell in written else []
            if writes:
                before += read.pop(cell, [])
                written[cell] = step
            else:
                read.setdefault(cell, []).append(step)
            for other in before:
                theirs = flat.block[other]
                ordered = clocks[step, theirs - first] > other - flat.first[theirs]
                if theirs != block and not ordered and (other, step) not in seen:
                    seen.add((other, step))
                    yield _race(flat, other, step, cell[1], in_place=in_place)


def _accesses(
    layout: BufferLayout,
    flat: Flat,
    number: int,
    in_place: bool,  # noqa: FBT001  (private)
) -> Iterator[tuple[tuple[int, Place], bool]]:
    """Yield what a step reads, then what it writes: (cell, whether it writes)."""
    step = flat.steps[number]
    rank = flat.rank[flat.block[number]]
    for turn in range(step.count):
        source, target = (
            layout.memory(rank, (buffer, offset + turn), in_place=in_place)
            for buffer, offset in (step.src, step.dst)
        )
        if step.kind == COPY and source == target:
            continue  # a copy of a chunk onto itself
        if step.kind in READS_SRC:
            yield (rank, source), False
        if step.kind in WRITES_DST:
            yield (rank, target), True


def _race(
    flat: Flat, one: int, other: int, place: Place, *, in_place: bool
) -> Violation:
    way = "in place" if in_place else "out of place"
    message = (
        f"{way}: {flat.steps[one].kind} of {flat.where(one)} and"
        f" {flat.steps[other].kind} both use {place[0]}[{place[1]}], one writes, and"
        " nothing orders them"
    )
    where = flat.where(other)
    return Violation("program-race", flat.number(other), where, message)
