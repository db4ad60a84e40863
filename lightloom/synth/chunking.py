"""The choice of the number of equal chunks that a buffer is cut into."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.instances.collectives import op_of

if TYPE_CHECKING:
    from lightloom.core.task import Collective

_FINER = 64
"""Blocks of at least this many chunks that differ by one differ by less than 2 %."""
_BLOCK = 2**16
"""Numbers whose remainders are taken at a time: an array that stays in the cache."""
_ELEMENT_BYTES = 4
"""Of a number that reductions add, commonly."""
_MOST_CHUNK_IDS = 2**62
"""Chunks of all ranks: sums of two ids still fit 63 bits."""


def choose_chunks(collective: Collective, wanted: int) -> Collective:
    """Return a collective with its chunk count chosen.

    A chunk count C is admissible if it divides the buffer and, where the operation
    has blocks, the number of ranks divides C. Reductions work on elements, commonly
    of 4 bytes: where the buffer is a whole number of them, so is a chunk, except
    where the operation's blocks are not.

    `wanted`: chunks an algorithm would like, at least 1.

    Returns the collective with C = `wanted` chunks if admissible; else with the least
    admissible C >= 64 `wanted`, so that parts which are uneven by a chunk differ
    little; else with the largest admissible C, which may be less than `wanted`.

    Raises `InputError`: blocks that the ranks do not divide the buffer into, or more
    chunk ids than 62 bits count.

    Deterministic. Below a millisecond for common sizes; at worst, a prime, 10 ms for
    2**40 bytes, and as the square root above.
    """
    op = op_of(collective)
    size, ranks = collective.buffer_bytes, collective.rank_count
    blocks = ranks if op.uses_blocks else 1
    if size < 1 or size % blocks:
        raise InputError(
            f"{op.name} over {ranks} ranks has no equal chunks",
            where="collective.buffer_bytes",
            found=size,
            allowed=f"a multiple of {blocks}",
        )
    chosen = collective
    if collective.chunks is None:
        whole = size % (_ELEMENT_BYTES * blocks) == 0
        units = size // _ELEMENT_BYTES if whole else size
        if units % wanted == 0 and wanted % blocks == 0:
            chunks = wanted
        else:
            chunks = blocks * _divisor(units // blocks, -(-wanted // blocks))
        chosen = msgspec.structs.replace(collective, chunks=chunks)
    if op.chunk_total(chosen) > _MOST_CHUNK_IDS:
        raise InputError(
            "too many chunks over all ranks",
            where="collective.chunks",
            found=chosen.chunk_count,
            allowed=f"at most {_MOST_CHUNK_IDS // ranks}",
        )
    return chosen


def _divisor(number: int, wanted: int) -> int:
    """Return the least divisor of at least 64 `wanted`, else the number itself."""
    least, root = wanted * _FINER, math.isqrt(number)
    for first in range(least, root + 1, _BLOCK):
        tried = np.arange(first, min(first + _BLOCK, root + 1))
        dividing = tried[number % tried == 0]
        if len(dividing):
            return int(dividing[0])
    # What is left is above the root: the number over its largest small divisor.
    for last in range(min(root, number // least, least - 1), 0, -_BLOCK):
        tried = np.arange(max(1, last + 1 - _BLOCK), last + 1)
        dividing = tried[number % tried == 0]
        if len(dividing):
            return number // int(dividing[-1])
    return number
