"""Values: what every chunk holds, as the contributions that were added to it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeAlias, TypeVar

from lightloom.core.violation import Violation
from lightloom.validate.programs.form import place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.validate.programs.execution import Flat, ProgramRun, Spot
    from lightloom.validate.programs.form import BufferLayout


_MOST_SHOWN = 3
"""Wrong chunks that a message describes."""


class _Value(NamedTuple):
    """What a range holds, or a part of a message: chunk c has input chunk c + shift.

    `ranks` are those whose chunk was added, one bit each; 0 where nothing is.
    """

    shift: int
    ranks: int


_Part: TypeAlias = tuple[int, int, _Value]
"""First chunk, last chunk + 1, and the value."""
_NOTHING = _Value(0, 0)


def check_values(
    layout: BufferLayout, flat: Flat, run: ProgramRun, *, in_place: bool
) -> Iterator[Violation]:
    """Yield reads of nothing, sums that count twice, and results that are wrong.

    A value is an input chunk and the ranks of which it was added, one bit each.
    """
    memory = _Memory(layout, flat, in_place=in_place)
    for step in run.order:
        yield from memory.execute(step, run.senders[step])
    way = "in place" if in_place else "out of place"
    for rank in range(layout.ranks):
        wrong = []
        for first, end, chunk, ranks in layout.results(rank):
            due = _Value(chunk - first, ranks)
            for low, high, held in memory.at((rank, "o", first), end - first):
                held_there = held._replace(shift=held.shift - first)
                if held_there != due:
                    wrong.append((first + low, high - low, held_there, due))
        count = sum(chunks for _, chunks, *_ in wrong)
        for chunk, _, held, due in wrong[:_MOST_SHOWN]:
            message = _difference(
                (chunk + held.shift, held.ranks), (chunk + due.shift, due.ranks)
            )
            where = f"{place_of(rank)} o[{chunk}]"
            more = f" ({count} chunks of this GPU)" if count > 1 else ""
            yield Violation("program-result", None, where, f"{way}: {message}{more}")


class _Memory:
    """What every place of every GPU holds while a program runs."""

    def __init__(self, layout: BufferLayout, flat: Flat, *, in_place: bool) -> None:
        self._layout, self._flat, self._in_place = layout, flat, in_place
        self._held: dict[tuple[int, str], RangeMap[_Value]] = {}
        self._sent: dict[int, list[_Part]] = {}
        for rank in range(layout.ranks):
            chunks = layout.sizes(rank)[0]
            if chunks:
                held, first = self._buffer((rank, "i", 0))
                held.assign(first, first + chunks, _Value(-first, 1 << rank))

    def _buffer(self, spot: Spot) -> tuple[RangeMap[_Value], int]:
        """Return what holds a place, and its chunk there."""
        rank, *_ = spot
        buffer, first = self._layout.memory(rank, spot[1:], in_place=self._in_place)
        return self._held.setdefault((rank, buffer), RangeMap(_NOTHING)), first

    def at(self, spot: Spot, count: int) -> list[_Part]:
        """Return what some chunks hold, counted from the first."""
        held, first = self._buffer(spot)
        return [
            (low - first, high - first, value._replace(shift=value.shift + first))
            for low, high, value in held.within(first, first + count)
        ]

    def execute(self, number: int, senders: tuple[int, ...]) -> Iterator[Violation]:
        """Run a step; yield reads of nothing, and sums that are wrong."""
        action = self._flat.actions[number]
        terms = [self.at(spot, action.count) for spot in action.reads]
        for spot, held in zip(action.reads, terms, strict=True):
            nothing = [low for low, _, value in held if not value.ranks]
            if nothing:
                place = f"{spot[1]}[{spot[2] + nothing[0]}]"
                what = f"{action.kind} reads {place}, which holds nothing"
                yield self._violation(number, what)
        if action.message and senders:
            terms.append(self._sent.pop(senders[0]))
        if not terms:
            return
        total = terms[0]
        for added in terms[1:]:
            wrong = _wrong_sum(total, added)
            if wrong:
                yield self._violation(number, f"{action.kind} {wrong}")
            total = _sum(total, added)
        for spot in action.writes:
            buffer, first = self._buffer(spot)
            for low, high, value in total:
                moved = value._replace(shift=value.shift - first)
                buffer.assign(first + low, first + high, moved)
        if action.message and action.gives:
            self._sent[number] = total

    def _violation(self, number: int, message: str) -> Violation:
        flat = self._flat
        where = flat.where(number)
        return Violation("program-value", flat.numbers[number], where, message)


def _common(
    one: list[_Part], other: list[_Part]
) -> Iterator[tuple[int, int, _Value, _Value]]:
    """Yield the ranges in which both have one value each."""
    left, right = iter(one), iter(other)
    a, b = next(left, None), next(right, None)
    low = 0
    while a is not None and b is not None:
        high = min(a[1], b[1])
        yield low, high, a[2], b[2]
        low = high
        if a[1] == high:
            a = next(left, None)
        if b[1] == high:
            b = next(right, None)


def _sum(one: list[_Part], other: list[_Part]) -> list[_Part]:
    """Return the sums of two lists of values, nothing where either is."""
    return [
        (low, high, _Value(a.shift, (a.ranks | b.ranks) if a.ranks and b.ranks else 0))
        for low, high, a, b in _common(one, other)
    ]


def _wrong_sum(one: list[_Part], other: list[_Part]) -> str:
    """Return how a sum counts twice, or mixes chunks; empty if it does neither."""
    for low, _, a, b in _common(one, other):
        if not (a.ranks and b.ranks):
            continue  # named where it is read
        if a.shift != b.shift:
            return f"adds chunk {low + b.shift} of inputs to chunk {low + a.shift}"
        if a.ranks & b.ranks:
            count = (a.ranks & b.ranks).bit_count()
            return f"counts {count} ranks twice in chunk {low} of the step"
    return ""


def _difference(held: tuple[int, int], asked: tuple[int, int]) -> str:
    """Return in words how a value differs from the one that is asked."""
    if not held[1]:
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


ValueT = TypeVar("ValueT")


class RangeMap(Generic[ValueT]):
    """A value for every chunk of a buffer, in as few ranges as were assigned.

    `default`: of chunks to which nothing was assigned.

    A range that was assigned as it is asked for takes constant time, any other the
    logarithm of the number of ranges and the ranges that it meets.
    """

    def __init__(self, default: ValueT) -> None:
        self._default = default
        self._starts: list[int] = []
        self._ranges: dict[int, tuple[int, ValueT]] = {}

    def within(self, first: int, end: int) -> list[tuple[int, int, ValueT]]:
        """Return (first, end, value) of all chunks of a range, in order."""
        known = self._ranges.get(first)
        if known is not None and known[0] == end:
            return [(first, end, known[1])]
        found = []
        at = first
        for start in self._met(first, end):
            until, value = self._ranges[start]
            if at < start:
                found.append((at, start, self._default))
            found.append((max(first, start), min(until, end), value))
            at = until
        if at < end:
            found.append((at, end, self._default))
        return found

    def assign(self, first: int, end: int, value: ValueT) -> None:
        """Give all chunks of a range one value."""
        known = self._ranges.get(first)
        if known is None or known[0] != end:
            for start in self._met(first, end):
                until, old = self._ranges.pop(start)
                self._starts.pop(bisect_left(self._starts, start))
                if start < first:
                    self._insert(start, first, old)
                if until > end:
                    self._insert(end, until, old)
            insort(self._starts, first)
        self._ranges[first] = end, value

    def _insert(self, first: int, end: int, value: ValueT) -> None:
        insort(self._starts, first)
        self._ranges[first] = end, value

    def _met(self, first: int, end: int) -> list[int]:
        """Return the starts of the ranges that have chunks in common with one."""
        low = bisect_right(self._starts, first)
        if low and self._ranges[self._starts[low - 1]][0] > first:
            low -= 1
        return self._starts[low : bisect_left(self._starts, end)]
