"""Ranks as points of a box: factors, digits, lines, and which pieces lie where."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from math import gcd, isqrt, prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray


@dataclass(frozen=True)
class Dimensions:
    """A box of ranks, numbered row by row: the last dimension runs fastest.

    `sizes`: size of each dimension, 2 or more.
    """

    sizes: tuple[int, ...]

    @classmethod
    def of(cls, shape: Sequence[int], ranks: int, *, fix: str = "") -> Dimensions:
        """Return the box of a shape, without its dimensions of one.

        Raises `InputError` if the product of the shape is not the number of ranks.
        """
        if prod(shape) != ranks:
            raise InputError(
                f"the product of the shape is {prod(shape)}, for {ranks} ranks",
                where="algorithm.shape",
                found=list(shape),
                allowed=f"factors of {ranks} whose product is {ranks}",
                fix=fix,
            )
        return cls(tuple(size for size in shape if size > 1))

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return prod(self.sizes)

    def stride(self, dimension: int) -> int:
        """Return how far apart neighbours along a dimension are."""
        return prod(self.sizes[dimension + 1 :])

    def digit(self, rank: IntArray, dimension: int) -> IntArray:
        """Return where ranks are along a dimension."""
        return rank // self.stride(dimension) % self.sizes[dimension]

    def moved(self, rank: IntArray, dimension: int, by: IntArray | int) -> IntArray:
        """Return the ranks so many places further round along a dimension."""
        here = self.digit(rank, dimension)
        there = (here + by) % self.sizes[dimension]
        place: IntArray = rank + (there - here) * self.stride(dimension)
        return place

    def corner(self, rank: IntArray, free: Sequence[int]) -> IntArray:
        """Return the ranks with their digits along some dimensions set to 0."""
        for dimension in free:
            rank = rank - self.digit(rank, dimension) * self.stride(dimension)
        return rank

    def inside(self, free: Sequence[int]) -> IntArray:
        """Return what to add to a corner for all ranks that differ in `free` only.

        Ascending, beginning with 0.
        """
        found = np.zeros(1, dtype=np.int64)
        for dimension in sorted(free):
            along = np.arange(self.sizes[dimension]) * self.stride(dimension)
            found = (found[:, None] + along).reshape(-1)
        return found

    def shares(self, rank: IntArray) -> IntArray:
        """Return the dimension that each rank's block begins with.

        So that of the blocks that differ in some neighbouring digits only, about as
        many begin with each: by the sum of digits where these are no fewer than
        dimensions, else by number modulo m, the least number from their count on that
        shares no divisor with their sizes, where what lies above goes by the quotient.
        """
        count = len(self.sizes)
        if min(self.sizes) >= count:
            total = sum(self.digit(rank, dimension) for dimension in range(count))
            return np.asarray(total) % count
        modulus = next(m for m in itertools.count(count) if gcd(m, self.ranks) == 1)
        left, share = rank, rank % modulus
        while (share >= count).any():
            left = np.where(share >= count, left // modulus, left)
            share = left % modulus
        return share

    def shares_of_ways(self, source: IntArray, target: IntArray) -> IntArray:
        """Return the dimension that what one rank has for another begins with.

        Ways that differ in all digits by the same amount go together: in these every
        digit has every value as often, where the dimensions have one size.
        """
        apart = [
            (self.digit(target, dimension) - self.digit(source, dimension)) % size
            for dimension, size in enumerate(self.sizes)
        ]
        bundle = np.zeros_like(apart[-1])
        for digit, size in zip(apart[:-1], self.sizes[:-1], strict=True):
            bundle = bundle * size + (digit - apart[-1]) % size
        share: IntArray = bundle % len(self.sizes)
        return share

    def order(self, first: int) -> tuple[int, ...]:
        """Return all dimensions, beginning with one and going round."""
        count = len(self.sizes)
        return tuple((first + turn) % count for turn in range(count))


@dataclass(frozen=True)
class PartRanges:
    """Where a part's piece for each rank lies in a buffer of ranks * parts pieces.

    `part`, `parts`: which part of how many. `order`: order in which dimensions are
    gathered. `blocks`: ``True``: rank i's piece is in block i, as the operation says.
    ``False``: pieces are laid out so that all that a rank has gathered is one range.
    """

    box: Dimensions
    part: int
    parts: int
    order: tuple[int, ...]
    blocks: bool

    @property
    def pieces(self) -> int:
        """Pieces of the part."""
        return prod(self.box.sizes[dimension] for dimension in self.order)

    def ranges(self, rank: IntArray, free: Sequence[int]) -> tuple[IntArray, IntArray]:
        """Return the pieces of all ranks that differ from these along `free` only.

        Returns first pieces, shape (ranks, ranges), and the lengths of the ranges,
        shape (ranges,).
        """
        if not self.blocks:
            size = prod(self.box.sizes[dimension] for dimension in free)
            place = self._place(rank) // size * size
            first = (self.part * self.pieces + place)[:, None]
            return first, np.full(1, size, dtype=np.int64)
        corner, inside = self.box.corner(rank, free), self.box.inside(free)
        if self.parts > 1:
            first = (corner[:, None] + inside) * self.parts + self.part
            return first, np.ones(len(inside), dtype=np.int64)
        begins = np.flatnonzero(np.diff(inside, prepend=-2) != 1)
        lengths = np.diff(begins, append=len(inside))
        return corner[:, None] + inside[begins], lengths

    def _place(self, rank: IntArray) -> IntArray:
        """Return the place of ranks when the first gathered dimension runs fastest."""
        place, stride = np.zeros_like(rank), 1
        for dimension in self.order:
            place = place + self.box.digit(rank, dimension) * stride
            stride *= self.box.sizes[dimension]
        return place


_Fit: TypeAlias = tuple[int, int, tuple[int, ...]]


@functools.cache
def prime_factors(number: int) -> tuple[int, ...]:
    """Return the prime factors of a number of ranks, ascending, with repetition.

    Trial division: meant for numbers of ranks, at most a few millions.
    """
    found: list[int] = []
    divisor = 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return (*found, number) if number > 1 else tuple(found)


def base_radices(ranks: int, base: int) -> tuple[int, ...]:
    """Return `base` as often as it divides, then the primes of the cofactor, ascending.

    256 in base 4 is 4 4 4 4, 48 is 4 4 3, 32 is 4 4 2, and 47 is 47.

    `ranks`: number of ranks, at least 1.
    """
    radices: list[int] = []
    while ranks % base == 0:
        radices.append(base)
        ranks //= base
    return (*radices, *prime_factors(ranks))


@functools.cache
def fitting_radices(ranks: int, ports: int) -> tuple[int, ...]:
    """Return the factorisation for rounds of at most `ports` peers, descending.

    A radix r counts as ceil((r - 1) / ports) rounds. Fewest rounds first, then the
    smallest sum of r - 1: what a rank sends in full exchange, in buffers.
    """
    return _fitting(ranks, ports)[2]


@functools.cache
def _fitting(number: int, ports: int) -> _Fit:
    """Return (rounds, sum of r - 1, radices descending) of the best factorisation."""
    if number == 1:
        return 0, 0, ()
    best: _Fit = (-(-(number - 1) // ports), number - 1, (number,))
    for radix in range(2, int(number**0.5) + 1):
        if number % radix == 0:
            # The least factor splits off first; the others are best on their own.
            rounds, sent, radices = _fitting(number // radix, ports)
            rounds += -(-(radix - 1) // ports)
            candidate = (
                rounds,
                sent + radix - 1,
                tuple(sorted((*radices, radix)))[::-1],
            )
            best = min(best, candidate)
    return best


def nearly_square(ranks: int) -> tuple[int, int]:
    """Return the factors of a number of ranks nearest to each other, ascending."""
    rows = next(r for r in range(isqrt(ranks), 0, -1) if ranks % r == 0)
    return rows, ranks // rows
