"""Ranks as numbers in mixed radix; in a round, peers differ in one digit.

In a round of radix r every rank drives r - 1 peers; port d - 1 leads to the rank
whose digit is greater by d (modulo r), so that each port is a permutation.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.plans.partition import Partition
from lightloom.plans.plan import RoundOutline
from lightloom.plans.rank_factors import fitting_radices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round


@dataclass(frozen=True)
class Digit:
    """A digit of the ranks: its radix, and how far apart neighbouring values are."""

    radix: int
    stride: int

    def of(self, rank: IntArray) -> IntArray:
        """Return the value of the digit."""
        return rank // self.stride % self.radix

    def peers(self, rank: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return (ports, values at the peers, peers); rows are ports, columns ranks."""
        mine = self.of(rank)
        port = np.arange(self.radix - 1, dtype=np.int64)[:, None]
        theirs = (mine + port + 1) % self.radix
        return port, theirs, rank + (theirs - mine) * self.stride


def checked_radices(
    radices: tuple[int, ...] | None, ranks: int, ports: int
) -> tuple[int, ...]:
    """Return radices, or those of fewest rounds where none are given.

    `radices`: factors of the number of ranks, or ``None``.

    Raises `InputError` if the product of the radices is not the number of ranks.
    """
    fitting = fitting_radices(ranks, ports)
    if radices is None:
        return fitting
    if prod(radices) != ranks:
        raise InputError(
            f"the product of the radices is {prod(radices)}, for {ranks} ranks",
            where="algorithm.radices",
            found=list(radices),
            allowed=f"factors of {ranks} whose product is {ranks}",
            fix=f"try {list(fitting)}",
        )
    return radices


def digits_of(
    ranks: int, radices: Sequence[int], *, near_first: bool = False
) -> list[Digit]:
    """Return the digits that ranks have in some radices."""
    digits: list[Digit] = []
    stride = 1 if near_first else ranks
    for radix in radices:
        stride = stride if near_first else stride // radix
        digits.append(Digit(radix, stride))
        stride = stride * radix if near_first else stride
    return digits


def halving_and_doubling(
    digits: Sequence[Digit], collective: Collective
) -> tuple[list[Round], list[Round]]:
    """Return a reduce-scatter round for each digit, and the all-gather rounds back."""
    rank = np.arange(collective.rank_count, dtype=np.int64)
    part, parts = np.zeros_like(rank), 1
    down: list[Round | None] = []
    up: list[Round | None] = []
    for digit in digits:
        port, theirs, peer = digit.peers(rank)
        parts *= digit.radix
        part = part * digit.radix
        cut = Partition(parts, collective.chunk_count)
        if collective.op != "all-gather":
            down.append(
                cut.round(rank, peer, part + theirs, 1, port=port, op=Op.REDUCE)
            )
        part = part + digit.of(rank)
        if collective.op != "reduce-scatter":
            up.append(cut.round(rank, peer, part, 1, port=port, op=Op.COPY))
    return (
        [one for one in down if one is not None],
        [one for one in reversed(up) if one is not None],
    )


def exchange_rounds(
    digits: Sequence[Digit], scattered: Sequence[Digit], collective: Collective
) -> list[Round]:
    """Return the rounds in which ranks exchange, and sum, all that they hold.

    `digits`: a round for each of these. `scattered`: digits that the buffer has been
    scattered by: a rank holds the part of its own.
    """
    rank = np.arange(collective.rank_count, dtype=np.int64)
    part, parts = np.zeros_like(rank), 1
    for digit in scattered:
        part, parts = part * digit.radix + digit.of(rank), parts * digit.radix
    cut = Partition(parts, collective.chunk_count)
    rounds: list[Round | None] = []
    for digit in digits:
        port, _, peer = digit.peers(rank)
        rounds.append(cut.round(rank, peer, part, 1, port=port, op=Op.REDUCE))
    return [one for one in rounds if one is not None]


def digit_outlines(
    scattered: Sequence[int], exchanged: Sequence[int], op: str
) -> tuple[RoundOutline, ...]:
    """Return what the rounds of both functions above take, in order."""
    parts = 1
    down: list[RoundOutline] = []
    for digit, radix in enumerate(scattered):
        parts *= radix
        down.append(RoundOutline(radix - 1, Fraction(1, parts), digit))
    whole = [
        RoundOutline(radix - 1, Fraction(1, parts), digit)
        for digit, radix in enumerate(exchanged, start=len(down))
    ]
    first = [] if op == "all-gather" else down
    last = [] if op == "reduce-scatter" else down[::-1]
    return (*first, *whole, *last)
