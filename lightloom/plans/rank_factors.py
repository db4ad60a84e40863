"""Factors of a number of ranks: the radices an algorithm may count them in."""

from __future__ import annotations

import functools
from math import isqrt
from typing import TypeAlias

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
