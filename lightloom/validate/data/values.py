"""Values of chunks, told apart by small ids, and the cells of ranks that hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import alike_groups, distinct, distinct_and_places

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt

    from lightloom.core.columns import IntArray

    Places: TypeAlias = tuple[IntArray, IntArray]


NOTHING = 0
"""Id of the value of a chunk that is not held."""

_MOST_RANKS_OF_RUNS = 2**15
"""With more ranks the ids of runs would not fit 32 bits."""


class Values:
    """Multisets of ranks, each stored once and named by an integer.

    A multiset is a pair of bit masks: the ranks that contribute, and the ranks that
    contribute at least twice. Counts are saturated at two. That loses nothing: a
    sum never lowers a count, so one that has reached two can only be corrected by
    replacing the whole value, and a correct value has no count above one.

    A *run*, ranks that follow one another round the circle of all ranks, each counted
    once, is not stored: its id says where it starts and how long it is. Rings make
    one for almost every transfer, and columns of runs add without a loop.

    `ranks`: number of ranks; both masks have this many bits.
    """

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._low = (1 << ranks) - 1
        self._run_ids = ranks**2 if ranks <= _MOST_RANKS_OF_RUNS else 0
        self._masks: list[bytes] = []
        self._ids: dict[bytes, int] = {}

    @property
    def size_bytes(self) -> int:
        """Memory taken, roughly: each value, its hash entry and its list entry."""
        return len(self._masks) * (self._ranks // 8 + 200)

    def intern(self, once: int, twice: int = 0) -> int:
        """Return the id of the value with these masks (`twice` within `once`).

        `once`, `twice`: bit masks of the ranks that contribute, and of those that do so
        twice or more.
        """
        if not once:
            return NOTHING
        if self._run_ids and not twice and (run := self._run(once)):
            return run
        mask = once | twice << self._ranks
        # Bytes, as the hash of an int is its value modulo 2**61 - 1: regular sets of
        # bits, which many algorithms make, would nearly all collide.
        key = mask.to_bytes((mask.bit_length() + 7) // 8, "little")
        place = self._ids.setdefault(key, len(self._masks))
        if place == len(self._masks):
            self._masks.append(key)
        return 1 + self._run_ids + place

    def masks(self, value: int) -> tuple[int, int]:
        """Return (ranks that contribute, ranks that contribute twice or more)."""
        if value == NOTHING:
            return 0, 0
        if value <= self._run_ids:
            start, beyond_first = divmod(value - 1, self._ranks)
            mask = ((2 << beyond_first) - 1) << start
            return (mask | mask >> self._ranks) & self._low, 0
        mask = int.from_bytes(self._masks[value - 1 - self._run_ids], "little")
        return mask & self._low, mask >> self._ranks

    def add(self, left: int, right: int) -> int:
        """Return the id of the sum of two values."""
        once, twice = self.masks(left)
        more_once, more_twice = self.masks(right)
        both = once & more_once
        return self.intern(once | more_once, twice | more_twice | both)

    def add_columns(self, left: IntArray, right: IntArray) -> IntArray:
        """Return the sum of every row, working once for each distinct pair.

        `left`, `right`: ids of values, of one shape (rows,).
        """
        if not self._run_ids:
            return self._add_pairs(left, right)
        ranks = self._ranks
        start, length = self._run_columns(left)
        other_start, other_length = self._run_columns(right)
        total = length + other_length
        ahead = (start + length) % ranks == other_start
        behind = (other_start + other_length) % ranks == start
        joined = (ahead | behind) & (length > 0) & (other_length > 0)
        joined &= total <= ranks
        start = np.where(ahead, start, other_start)
        start[total == ranks] = 0
        sums = start * ranks + total
        rest = np.flatnonzero(~joined)
        if len(rest):
            sums[rest] = self._add_pairs(left[rest], right[rest])
        return sums

    def sums(self, values: IntArray, starts: IntArray) -> IntArray:
        """Return the sum of every group of rows, working once for groups alike.

        `starts`: first row of each group, ascending, the first of them 0.
        """
        like = alike_groups(values, starts)
        ends = np.append(starts[1:], len(values))
        sums = np.empty(len(starts), dtype=np.int64)
        for group in distinct(like).tolist():
            once = twice = 0
            for value in values[starts[group] : ends[group]].tolist():
                more_once, more_twice = self.masks(value)
                twice |= more_twice | once & more_once
                once |= more_once
            sums[group] = self.intern(once, twice)
        return sums[like]

    def _add_pairs(self, left: IntArray, right: IntArray) -> IntArray:
        """Return the sum of every row, whatever the values."""
        low, high = np.minimum(left, right), np.maximum(left, right)
        pairs, where = distinct_and_places(low << 32 | high)
        sums = [self.add(pair >> 32, pair & 0xFFFFFFFF) for pair in pairs.tolist()]
        return np.array(sums, dtype=np.int64)[where]

    def _run_columns(self, values: IntArray) -> tuple[IntArray, IntArray]:
        """Return start and length of the run each value is; length 0 if it is none."""
        is_run = (values > NOTHING) & (values <= self._run_ids)
        start = (values - 1) // self._ranks
        return start, np.where(is_run, values - start * self._ranks, 0)

    def _run(self, once: int) -> int:
        """Return the id of a set of ranks that is a run, `NOTHING` if it is none."""
        length = once.bit_count()
        start = (once & -once).bit_length() - 1
        if once >> start != (1 << length) - 1:
            gap = self._low ^ once
            gap_start = (gap & -gap).bit_length() - 1
            if gap >> gap_start != (1 << self._ranks - length) - 1:
                return NOTHING
            start = gap_start + self._ranks - length
        return start * self._ranks + length


class DenseCells:
    """A cell for every rank and every atom of a block.

    `ranks`, `width`: ranks, and atoms of the block. `memory`: scratch of shape (2, at
    least ranks * width), used again for every block.

    `ids`: value ids by cell, `NOTHING` at first. `writer`: scratch by cell, of any
    content.
    """

    def __init__(self, ranks: int, width: int, memory: npt.NDArray[np.int32]) -> None:
        self._width = width
        count = ranks * width
        self.ids, self.writer = memory[0, :count], memory[1, :count]
        self.ids[:] = NOTHING

    def __getitem__(self, place: Places) -> npt.NDArray[np.int32]:
        """Return the value ids at (ranks, atoms)."""
        return self.ids[self.cell(*place)]

    def cell(self, rank: IntArray, atom: IntArray) -> IntArray:
        """Return the cells of ranks and atoms."""
        return rank * self._width + atom

    def fill(self, rank: int, lo: int, hi: int, value: int) -> None:
        """Let a rank hold a value of the atoms ``lo:hi``."""
        start = rank * self._width
        self.ids[start + lo : start + hi] = value


class SparseCells:
    """Only those cells that hold something at some time, or must in the end.

    `places`: (ranks, atoms) that have a cell, in any order, repeated or not. All others
    hold nothing, for good.
    """

    def __init__(self, width: int, places: list[Places]) -> None:
        self._width = width
        self._keys = distinct(*(rank * width + atom for rank, atom in places))
        self.ids = np.full(len(self._keys) + 1, NOTHING, dtype=np.int32)
        self.writer = np.zeros(len(self._keys), dtype=np.int32)

    def __getitem__(self, place: Places) -> npt.NDArray[np.int32]:
        """Return the value ids at (ranks, atoms), with or without a cell."""
        rank, atom = place
        key = rank * self._width + atom
        cell = np.searchsorted(self._keys, key)
        absent = len(self._keys)
        there = self._keys[np.minimum(cell, absent - 1)] == key
        return self.ids[np.where(there, cell, absent)]

    def cell(self, rank: IntArray, atom: IntArray) -> IntArray:
        """Return the cells of ranks and atoms, each of which has one."""
        return np.searchsorted(self._keys, rank * self._width + atom)

    def fill(self, rank: int, lo: int, hi: int, value: int) -> None:
        """Let a rank hold a value of the atoms ``lo:hi``, each of which has a cell."""
        ends = [rank * self._width + lo, rank * self._width + hi]
        a, b = np.searchsorted(self._keys, ends)
        self.ids[a:b] = value
