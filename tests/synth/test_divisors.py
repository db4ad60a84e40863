"""Divisors: against trial division, and numbers that trial division cannot do."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.synth.divisors import divisors


@settings(deadline=None)
@given(st.integers(1, 3000))
def test_divisors_of_small_numbers(number: int) -> None:
    """All divisors, ascending, none else."""
    assert divisors(number) == [d for d in range(1, number + 1) if number % d == 0]


@pytest.mark.parametrize(
    ("number", "count"),
    [
        (1, 1),
        (2**60, 61),
        (1073741789**2, 3),
        (1073741789 * 1073741783, 4),
        (3 * 1048583 * 1048589, 8),
        (2**59 - 55, 2),
        (897612484786617600, 103680),
    ],
)
def test_divisors_of_large_numbers(number: int, count: int) -> None:
    """Squares and products of large primes, a large prime, a smooth number."""
    found = divisors(number)
    assert len(found) == len(set(found)) == count
    assert all(number % divisor == 0 for divisor in found)
