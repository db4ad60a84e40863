"""Races: accesses to one chunk of which neither happens before the other.

A step happens before another if the order of a thread block (with a barrier of its
threads between), a reference, or a message says so, or several of these one after
another. Full connections also make steps wait,
but for how long depends on sizes, so they count for nothing here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lightloom.core.violation import Violation
from lightloom.validate.programs.values import RangeMap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from lightloom.validate.programs.execution import Flat, ProgramRun
    from lightloom.validate.programs.layout import BufferLayout

_Clock: TypeAlias = "NDArray[np.signedinteger]"
_Use: TypeAlias = "tuple[int | None, tuple[int, ...]]"
"""The step that wrote a chunk last, and those that have read it since."""
_MOST_CELLS = 2**29
"""Entries of the table of clocks at a time; larger programs take several turns."""


def check_races(
    layout: BufferLayout, flat: Flat, run: ProgramRun, *, ways: Sequence[bool]
) -> Iterator[Violation]:
    """Yield pairs of accesses to a chunk, one of them a write, in no order.

    Vector clocks: entry b of a step's clock is how many steps of thread block b
    happened before it or are it; without a barrier it says nothing of itself.
    O(steps x thread blocks). Of the pairs of a chunk only those are looked at from
    which the others follow: an access and the last write, a write and the reads since.
    """
    blocks = len(flat.rank)
    turn = max(1, _MOST_CELLS // max(len(flat.actions), 1))
    for first in range(0, blocks, turn):
        last = min(blocks, first + turn)
        clocks = _clocks(flat, run, first, last)
        for in_place in ways:
            yield from _races(layout, flat, run, clocks, first, last, in_place=in_place)


def _clocks(flat: Flat, run: ProgramRun, first: int, last: int) -> list[_Clock]:
    """Return the clocks of all steps, as far as they count blocks first to last - 1."""
    longest = int(np.diff(flat.first).max(initial=0))
    kind = "i2" if longest < 2**15 else "i4"
    nothing: _Clock = np.zeros(last - first, dtype=kind)
    clocks: list[_Clock] = [nothing] * len(flat.actions)
    fence = [-1] * len(flat.rank)
    launch = [0] * len(flat.rank)
    for step in run.order:
        block, action = flat.block[step], flat.actions[step]
        before = list(action.waits_for)
        if action.fence:
            before += range(max(fence[block] + 1, flat.first[block]), step)
        for sender in run.senders[step]:
            weak = action.relaxed or flat.actions[sender].relaxed
            before.append(launch[flat.block[sender]] if weak else sender)
        clock = clocks[fence[block]] if fence[block] >= 0 else nothing
        told = {id(clocks[other]): clocks[other] for other in before}
        if told or action.fence:
            clock = clock.copy()
        for other_clock in told.values():
            np.maximum(clock, other_clock, out=clock)
        if action.fence:
            fence[block] = step
            if first <= block < last:
                clock[block - first] = step - flat.first[block] + 1
        if step == flat.first[block]:
            launch[block] = step
        clocks[step] = clock
    return clocks


def _races(
    layout: BufferLayout,
    flat: Flat,
    run: ProgramRun,
    clocks: list[_Clock],
    first: int,
    last: int,
    *,
    in_place: bool,
) -> Iterator[Violation]:
    """Yield the races with steps of the thread blocks that the clocks count."""
    uses: dict[tuple[int, str], RangeMap[_Use]] = {}
    seen: set[tuple[int, int]] = set()
    for step in run.order:
        for place, low, high, writes in _accesses(
            layout, flat, step, in_place=in_place
        ):
            known = uses.setdefault(place, RangeMap((None, ())))
            for start, end, (written, read) in known.within(low, high):
                now: _Use = (step, ()) if writes else (written, (*read, step))
                known.assign(start, end, now)
                for other in (written, *read) if writes else (written,):
                    if other is None or not first <= flat.block[other] < last:
                        continue
                    theirs = flat.block[other]
                    after = clocks[step][theirs - first] > other - flat.first[theirs]
                    if other != step and not after and (other, step) not in seen:
                        seen.add((other, step))
                        spot = (place[1], start)
                        yield _race(flat, other, step, spot, in_place=in_place)


def _accesses(
    layout: BufferLayout,
    flat: Flat,
    number: int,
    *,
    in_place: bool,
) -> Iterator[tuple[tuple[int, str], int, int, bool]]:
    """Yield what a step reads, then what it writes: (buffer, first, end, whether)."""
    action = flat.actions[number]
    reads, writes = (
        [
            (rank, *layout.memory(rank, (buffer, chunk), in_place=in_place))
            for rank, buffer, chunk in spots
        ]
        for spots in (action.reads, action.writes)
    )
    onto_itself = reads == writes and len(reads) == 1 and not action.takes
    if not onto_itself:
        for spots, writing in ((reads, False), (writes, True)):
            for rank, buffer, chunk in spots:
                yield (rank, buffer), chunk, chunk + action.count, writing
    for rank, buffer, chunks in action.claims:
        if not (in_place and buffer == "i"):
            yield (rank, buffer), 0, chunks, True


def _race(
    flat: Flat,
    one: int,
    other: int,
    place: tuple[str, int],
    *,
    in_place: bool,
) -> Violation:
    way = "in place" if in_place else "out of place"
    name = {"p": "the packets s"}.get(place[0], place[0])
    message = (
        f"{way}: {flat.actions[one].kind} of {flat.where(one)} and"
        f" {flat.actions[other].kind} both use {name}[{place[1]}], one writes, and"
        " nothing orders them"
    )
    where = flat.where(other)
    return Violation("program-race", flat.numbers[other], where, message)
