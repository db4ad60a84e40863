"""Units: integers in picoseconds, bytes and bits per second."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray

KIB = 2**10
"""Bytes of a kibibyte."""
MIB = 2**20
"""Bytes of a mebibyte."""
GIB = 2**30
"""Bytes of a gibibyte."""
MEGA = 10**6
"""The decimal prefix."""
GIGA = 10**9
"""The decimal prefix."""
TERA = 10**12
"""The decimal prefix."""
BITS_PER_BYTE = 8
"""Of every rate here."""
PS_PER_S = 10**12
"""Picoseconds of a second."""
PS_PER_MS = 10**9
"""Picoseconds of a millisecond."""
PS_PER_US = 10**6
"""Picoseconds of a microsecond."""
PS_PER_NS = 10**3
"""Picoseconds of a nanosecond."""
MOST_PS = 10**15
"""Longest time that is read, 17 minutes: thousands of them add up in 63 bits."""
MOST_BYTES = 2**60 - 1
"""Largest size that is read, in bytes: its bits still fit 63 bits."""
INT64_MAX = 2**63 - 1
"""Largest number of a column."""


def transmission_ps(size_bytes: int, bits_per_s: int) -> int:
    """Return the time to put `size_bytes` on a wire, rounded up to the picosecond.

    Parameters
    ----------
    size_bytes
        Data in bytes, at least 0.
    bits_per_s
        Rate in bits per second, at least 1.

    Examples
    --------
    >>> transmission_ps(1, 8 * 10**12), transmission_ps(10, 3 * 10**12)
    (1, 27)
    """
    return -(-size_bytes * BITS_PER_BYTE * PS_PER_S // bits_per_s)


def transmission_ps_columns(size_bytes: IntArray, bits_per_s: IntArray) -> IntArray:
    """Return `transmission_ps` of every row, exactly, whatever the magnitudes.

    Both columns have shape (rows,); the result too. Distinct (size, rate) pairs
    are few in any schedule, so each is computed once in unbounded integers.

    Parameters
    ----------
    size_bytes
        Bytes of each transfer, from 0; of shape (rows,).
    bits_per_s
        Rate of each transfer, at least 1; of shape (rows,).

    Raises
    ------
    InputError
        If a duration does not fit 63 bits.
    """
    sizes, size_number = _numbered(size_bytes)
    rates, rate_number = _numbered(bits_per_s)
    pairs, where = _numbered(size_number * len(rates) + rate_number)
    places = (divmod(pair, len(rates)) for pair in pairs.tolist())
    durations = [transmission_ps(int(sizes[a]), int(rates[b])) for a, b in places]
    if any(duration > INT64_MAX for duration in durations):
        what = "a transfer lasts longer than 2**63 - 1 ps, which is 106 days"
        raise InputError(what, fix="use a higher rate or fewer bytes")
    return np.array(durations, dtype=np.int64)[where]


def _numbered(column: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct values, sorted, and the number of each row's among them.

    What ``np.unique`` returns; that one sorts rows, which is several times slower
    where distinct values are few.
    """
    ordered = np.sort(column)
    first = np.ones(len(ordered), dtype=np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    distinct = ordered[first]
    return distinct, np.searchsorted(distinct, column)


def format_ps(time_ps: int) -> str:
    """Return a time for people, in microseconds with thousands separated.

    Less than a nanosecond is told in picoseconds, so that only 0 reads as 0.
    """
    if 0 < time_ps < PS_PER_US // 1000:
        return f"{time_ps} ps"
    return f"{time_ps / PS_PER_US:,.3f} us"


_SIZES = {
    "GiB": GIB,
    "MiB": MIB,
    "KiB": KIB,
    "GB": 10**9,
    "MB": 10**6,
    "kB": 10**3,
    "B": 1,
}


def format_bytes(size_bytes: int) -> str:
    """Return a size for people: exact, in the unit of which it is fewest."""
    whole = [name for name, unit in _SIZES.items() if size_bytes % unit == 0]
    name = min(whole, key=lambda name: size_bytes // _SIZES[name])
    return f"{size_bytes // _SIZES[name]} {name}" if size_bytes else "0 B"
