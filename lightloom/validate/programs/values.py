"""Values: what every chunk holds, as the contributions that were added to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from lightloom.core.chunk_program import READS_SRC, REDUCES, SENDS, WRITES_DST
from lightloom.core.violation import Violation
from lightloom.validate.programs.form import place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.chunk_program import ChunkProgram, Place
    from lightloom.validate.programs.execution import Flat, ProgramRun
    from lightloom.validate.programs.layout import BufferLayout

__all__ = ["check_values"]

_Value: TypeAlias = "tuple[int, int] | None"
"""(Input chunk, ranks added, one bit each), ``None`` where nothing was written."""
_MOST_SHOWN = 3


def check_values(
    program: ChunkProgram,
    layout: BufferLayout,
    flat: Flat,
    run: ProgramRun,
    *,
    in_place: bool,
) -> Iterator[Violation]:
    """Yield reads of nothing, sums that count twice, and results that are wrong.

    A value is an input chunk and the ranks of which it was added, one bit each.

    Parameters
    ----------
    program
        Of sound form.
    layout
        What its operation asks.
    flat
        The program as lists.
    run
        A run that came to its end.
    in_place
        Whether input and output are the same memory.
    """
    memory = _Memory(program, layout, flat, in_place=in_place)
    for step in run.order:
        yield from memory.execute(step, run.sender[step])
    way = "in place" if in_place else "out of place"
    for rank in program.ranks:
        wrong = []
        for chunk, contributions in layout.results(rank.id):
            first = contributions[0][1]
            asked = (first, sum(1 << other for other, _ in contributions))
            held = memory.at(rank.id, ("o", chunk))
            if held != asked:
                wrong.append((chunk, held, asked))
        for chunk, held, asked in wrong[:_MOST_SHOWN]:
            message = _difference(held, asked)
            where = f"{place_of(rank.id)} o[{chunk}]"
            more = f" ({len(wrong)} chunks of this GPU)" if len(wrong) > 1 else ""
            yield Violation("program-result", None, where, f"{way}: {message}{more}")


class _Memory:
    """What every place of every GPU holds while a program runs."""

    def __init__(
        self, program: ChunkProgram, layout: BufferLayout, flat: Flat, *, in_place: bool
    ) -> None:
        self._layout, self._flat, self._in_place = layout, flat, in_place
        self._held: dict[tuple[int, Place], tuple[int, int]] = {}
        self._sent: dict[int, list[_Value]] = {}
        for rank in program.ranks:
            for chunk in range(layout.sizes(rank.id)[0]):
                self._held[self._cell(rank.id, ("i", chunk))] = (chunk, 1 << rank.id)

    def _cell(self, rank: int, place: Place) -> tuple[int, Place]:
        return rank, self._layout.memory(rank, place, in_place=self._in_place)

    def at(self, rank: int, place: Place) -> _Value:
        """Return what a place holds."""
        return self._held.get(self._cell(rank, place))

    def execute(self, number: int, sender: int) -> Iterator[Violation]:
        """Run a step; yield reads of nothing, and sums that are wrong."""
        flat, step = self._flat, self._flat.steps[number]
        rank = flat.rank[flat.block[number]]
        source, target = (
            [(buffer, first + turn) for turn in range(step.count)]
            for buffer, first in (step.src, step.dst)
        )
        held = self._sent.pop(sender, None)
        if step.kind in READS_SRC:
            read = [self.at(rank, place) for place in source]
            if None in read:
                buffer, chunk = source[read.index(None)]
                message = f"{step.kind} reads {buffer}[{chunk}], which holds nothing"
                where = flat.where(number)
                yield Violation("program-value", flat.number(number), where, message)
            if step.kind in REDUCES:
                if held is None:  # of its own memory: re and ra
                    held = [self.at(rank, place) for place in target]
                yield from _twice(flat, number, held, read)
                held = [_sum(*pair) for pair in zip(held, read, strict=True)]
            else:
                held = read
        if step.kind in WRITES_DST:
            assert held is not None
            for place, value in zip(target, held, strict=True):
                self._write(rank, place, value)
        if step.kind in SENDS:
            assert held is not None
            self._sent[number] = held

    def _write(self, rank: int, place: Place, value: _Value) -> None:
        cell = self._cell(rank, place)
        if value is None:
            self._held.pop(cell, None)
        else:
            self._held[cell] = value


def _sum(one: _Value, other: _Value) -> _Value:
    """Return the sum of two values of one input chunk."""
    return None if one is None or other is None else (one[0], one[1] | other[1])


def _twice(
    flat: Flat, number: int, one: list[_Value], other: list[_Value]
) -> Iterator[Violation]:
    """Yield the first sum that counts twice, mixes chunks, or lacks a value."""
    for place, (held, added) in enumerate(zip(one, other, strict=True)):
        if held is None:
            message = f"{flat.steps[number].kind} adds to a chunk that holds nothing"
        elif added is None:
            continue
        elif held[0] != added[0]:
            message = f"adds chunk {added[0]} of inputs to chunk {held[0]}"
        elif held[1] & added[1]:
            count = (held[1] & added[1]).bit_count()
            message = f"chunk {place} of the step counts {count} ranks twice"
        else:
            continue
        where = flat.where(number)
        yield Violation("program-value", flat.number(number), where, message)
        return


def _difference(held: _Value, asked: tuple[int, int]) -> str:
    """Return in words how a value differs from the one that is asked."""
    if held is None:
        return "holds nothing"
    if held[0] != asked[0]:
        return f"holds chunk {held[0]} of an input, not chunk {asked[0]}"
    texts = []
    for what, bits in (
        ("lacks", asked[1] & ~held[1]),
        ("has too much", held[1] & ~asked[1]),
    ):
        if bits:
            rank = (bits & -bits).bit_length() - 1
            others = bits.bit_count() - 1
            more = f" and {others} more" if others else ""
            texts.append(f"{what} chunk {asked[0]} of gpu {rank}{more}")
    return ", ".join(texts)
