"""Values of chunks: who contributes once, who more often, told apart by small ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray

NOTHING = 0
"""Id of the value of a chunk that is not held."""


class Values:
    """Multisets of ranks, each stored once and named by an integer.

    A multiset is a pair of bit masks: the ranks that contribute, and the ranks that
    contribute at least twice. Counts are saturated at two. That loses nothing: a
    sum never lowers a count, so one that has reached two can only be corrected by
    replacing the whole value, and a correct value has no count above one.

    Parameters
    ----------
    ranks
        Number of ranks; both masks have this many bits.
    """

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._low = (1 << ranks) - 1
        self._masks = [b""]
        self._ids = {b"": NOTHING}

    @property
    def size_bytes(self) -> int:
        """Memory taken, roughly: each value, its hash entry and its list entry."""
        return len(self._masks) * (self._ranks // 8 + 200)

    def intern(self, once: int, twice: int = 0) -> int:
        """Return the id of the value with these masks (`twice` within `once`)."""
        mask = once | twice << self._ranks
        # Bytes, as the hash of an int is its value modulo 2**61 - 1: runs of bits,
        # which a ring makes, would nearly all collide.
        key = mask.to_bytes((mask.bit_length() + 7) // 8, "little")
        known = self._ids.setdefault(key, len(self._masks))
        if known == len(self._masks):
            self._masks.append(key)
        return known

    def masks(self, value: int) -> tuple[int, int]:
        """Return (ranks that contribute, ranks that contribute twice or more)."""
        mask = int.from_bytes(self._masks[value], "little")
        return mask & self._low, mask >> self._ranks

    def add(self, left: int, right: int) -> int:
        """Return the id of the sum of two values."""
        once, twice = self.masks(left)
        more_once, more_twice = self.masks(right)
        both = once & more_once
        return self.intern(once | more_once, twice | more_twice | both)

    def add_columns(self, left: IntArray, right: IntArray) -> IntArray:
        """Return the sum of every row, working once for each distinct pair."""
        low, high = np.minimum(left, right), np.maximum(left, right)
        pairs, where = np.unique(low << 32 | high, return_inverse=True)
        sums = [self.add(pair >> 32, pair & 0xFFFFFFFF) for pair in pairs.tolist()]
        return np.array(sums, dtype=np.int64)[where]
