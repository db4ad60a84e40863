"""Divisors of integers below 2**60, fast whatever their factors."""

from __future__ import annotations

import functools
from math import gcd, isqrt

import numpy as np

# Past the cube root of 2**60 no more than two prime factors are left.
_SMALL = 2**20
# Deterministic Miller-Rabin bases below 3.3 * 10**24 (Sorenson, Webster 2015).
_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)


def divisors(number: int) -> list[int]:
    """Return the divisors of a number from 1 to 2**60, ascending.

    Trial division by the primes below 2**20 at once, then Pollard's rho for what
    has two larger ones: some 50 ms at worst. There are at most 103,680 divisors.
    """
    found = [1]
    for prime, power in _factorised(number):
        powers = [prime**exponent for exponent in range(power + 1)]
        found = [divisor * factor for divisor in found for factor in powers]
    return sorted(found)


def _factorised(number: int) -> list[tuple[int, int]]:
    """Return (prime, exponent) pairs."""
    found: list[tuple[int, int]] = []
    primes = _primes()
    for prime in primes[number % primes == 0].tolist():
        power = 0
        while number % prime == 0:
            number //= prime
            power += 1
        found.append((prime, power))
    if number == 1:
        return found
    root = isqrt(number)
    if root * root == number:
        return [*found, (root, 2)]
    if _is_prime(number):
        return [*found, (number, 1)]
    factor = _split(number)
    return [*found, (factor, 1), (number // factor, 1)]


@functools.cache
def _primes() -> np.typing.NDArray[np.int64]:
    """Return the primes below 2**20."""
    prime = np.ones(_SMALL, dtype=bool)
    prime[:2] = False
    for divisor in range(2, isqrt(_SMALL) + 1):
        if prime[divisor]:
            prime[divisor * divisor :: divisor] = False
    return np.flatnonzero(prime)


def _is_prime(number: int) -> bool:
    """Tell whether an odd number without small factors is prime."""
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for witness in _WITNESSES:
        power = pow(witness, odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


def _split(number: int) -> int:
    """Return a proper factor of a product of two different primes (Pollard's rho)."""
    shift = 0
    while True:
        shift += 1
        slow = fast = 2
        factor = 1
        while factor == 1:
            slow = (slow * slow + shift) % number
            fast = (fast * fast + shift) % number
            fast = (fast * fast + shift) % number
            factor = gcd(slow - fast, number)
        if factor != number:
            return factor
