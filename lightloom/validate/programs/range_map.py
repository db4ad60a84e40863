"""Values of chunks in a row: what is written together is kept together."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import Generic, TypeVar

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
