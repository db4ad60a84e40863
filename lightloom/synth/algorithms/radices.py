"""Recursive halving and doubling, in any mixed radix; LUMORPH-2 and LUMORPH-4."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.synth.algorithms import Entry, require_op
from lightloom.synth.algorithms.factors import base_radices, fitting_radices
from lightloom.synth.algorithms.subspaces import (
    overlapping_bits,
    subspace_parts,
    subspace_rounds,
)
from lightloom.synth.partition import Partition
from lightloom.synth.plan import Plan, Round

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective

_SCATTERED = ("all-gather", "all-reduce", "reduce-scatter")


class Radices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ranks as numbers in mixed radix; a round is a digit, its peers differ in it.

    All-reduce: a reduce-scatter round for every factor in scatter mode, in order; a
    round that exchanges and sums whatever is held for every factor in exchange
    mode, in order; an all-gather round for every scatter factor, in reverse.
    Reduce-scatter and all-gather are the first and the last of these.

    In a round of radix r every rank drives r - 1 peers; port d - 1 leads to the rank
    whose digit is greater by d (modulo r), so that each port is a permutation.

    The first radix is the most significant digit: its peers are n / radix ranks
    apart and move the largest parts, and rank i's part ends as block i. With
    `near_first` it is the least significant one, so that most data move between
    neighbours; who owns which part in between is then another matter, which only
    all-reduce leaves open.

    Attributes
    ----------
    radices
        Factors whose product is the number of ranks. ``None``: see `base`.
    exchange
        1 for each factor in exchange mode, 0 for scatter; one entry stands for all
        factors, none for all 0. Only all-reduce can exchange.
    base
        Where `radices` is ``None``: this radix as often as it divides the number of
        ranks, then the prime factors of the rest, ascending. ``None``: the
        factors that need the fewest rounds of at most as many peers as there are
        ports, then the fewest peers in all.
    near_first
        1: the first radix is the least significant digit.
    overlap
        1: instead of all that, two rounds of exchange in overlapping subspaces, as
        `subspaces` tells, of n = 2^(2 a - 1) ranks: 8, 32, 128, ...
    """

    radices: tuple[Annotated[int, msgspec.Meta(ge=2, le=2**20)], ...] | None = None
    exchange: tuple[Literal[0, 1], ...] = ()
    base: Annotated[int, msgspec.Meta(ge=2, le=2**20)] | None = None
    near_first: Literal[0, 1] = 0
    overlap: Literal[0, 1] = 0

    @property
    def ops(self) -> tuple[str, ...]:
        """Collectives it can do with these parameters."""
        only_all_reduce = self.near_first or self.overlap or any(self.exchange)
        return ("all-reduce",) if only_all_reduce else _SCATTERED

    def granularity(self, ranks: int, ports: int) -> int:
        """Return a chunk for each part of the finest division."""
        if self.overlap:
            return len(subspace_parts(self._bits(ranks)))
        factors = self.factors(ranks, ports)
        modes = self.modes(factors)
        return prod(r for r, mode in zip(factors, modes, strict=True) if not mode)

    def factors(self, ranks: int, ports: int) -> tuple[int, ...]:
        """Return the radices for a number of ranks.

        Raises
        ------
        InputError
            If the product of the radices is not the number of ranks.
        """
        if self.radices is None:
            if self.base is not None:
                return base_radices(ranks, self.base)
            return fitting_radices(ranks, ports)
        if self.base is not None:
            what = "radices and base exclude each other"
            raise InputError(what, where="algorithm.radices", fix="give one of them")
        if prod(self.radices) != ranks:
            raise InputError(
                f"the product of the radices is {prod(self.radices)}, "
                f"for {ranks} ranks",
                where="algorithm.radices",
                found=list(self.radices),
                allowed=f"factors of {ranks} whose product is {ranks}",
                fix=f"try {list(fitting_radices(ranks, ports))}",
            )
        return self.radices

    def modes(self, factors: tuple[int, ...]) -> tuple[int, ...]:
        """Return 1 for each factor in exchange mode, 0 for scatter.

        Raises
        ------
        InputError
            If there are neither as many modes as factors, nor one, nor none.
        """
        if len(self.exchange) <= 1:
            return (self.exchange or (0,)) * len(factors)
        if len(self.exchange) != len(factors):
            raise InputError(
                f"{len(factors)} radices need as many modes",
                where="algorithm.exchange",
                found=list(self.exchange),
                allowed=f"none, one for all, or {len(factors)} values 0 or 1",
            )
        return self.exchange

    def plan(self, collective: Collective, ports: int) -> Plan:
        """Return the rounds of the collective."""
        require_op(self, collective)
        ranks = collective.rank_count
        if self.overlap:
            rounds = subspace_rounds(collective, self._bits(ranks))
            return Plan(collective, tuple(rounds))
        factors = self.factors(ranks, ports)
        digits = _digits(ranks, factors, near_first=bool(self.near_first))
        modes = self.modes(factors)
        scattered = [d for d, mode in zip(digits, modes, strict=True) if not mode]
        exchanged = [d for d, mode in zip(digits, modes, strict=True) if mode]
        down, up = _scatter_rounds(scattered, ranks, collective)
        whole = _exchange_rounds(exchanged, scattered, ranks, collective)
        if collective.op == "reduce-scatter":
            up = []
        if collective.op == "all-gather":
            down = []
        every = [*down, *whole, *reversed(up)]
        return Plan(collective, tuple(one for one in every if one is not None))

    def _bits(self, ranks: int) -> int:
        """Return the bits of each subspace.

        Raises
        ------
        InputError
            If so many ranks have no such subspaces.
        """
        bits = overlapping_bits(ranks)
        if bits is None:
            raise InputError(
                f"{ranks} ranks have no subspaces that overlap",
                where="algorithm.overlap",
                found=self.overlap,
                allowed="2^(2 a - 1) ranks, a at least 2: 8, 32, 128, ...",
            )
        return bits


@dataclass(frozen=True)
class _Digit:
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


def _digits(ranks: int, factors: tuple[int, ...], *, near_first: bool) -> list[_Digit]:
    digits: list[_Digit] = []
    stride = 1 if near_first else ranks
    for radix in factors:
        stride = stride if near_first else stride // radix
        digits.append(_Digit(radix, stride))
        stride = stride * radix if near_first else stride
    return digits


def _scatter_rounds(
    digits: list[_Digit], ranks: int, collective: Collective
) -> tuple[list[Round | None], list[Round | None]]:
    """Return the rounds of reduce-scatter, and of all-gather before it is reversed."""
    rank = np.arange(ranks, dtype=np.int64)
    part, parts = np.zeros(ranks, dtype=np.int64), 1
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
    return down, up


def _exchange_rounds(
    digits: list[_Digit], scattered: list[_Digit], ranks: int, collective: Collective
) -> list[Round | None]:
    """Return the rounds in which ranks exchange the parts that scattering left them."""
    if not digits:
        return []
    rank = np.arange(ranks, dtype=np.int64)
    part, parts = np.zeros(ranks, dtype=np.int64), 1
    for digit in scattered:
        part, parts = part * digit.radix + digit.of(rank), parts * digit.radix
    cut = Partition(parts, collective.chunk_count)
    rounds: list[Round | None] = []
    for digit in digits:
        port, _, peer = digit.peers(rank)
        rounds.append(cut.round(rank, peer, part, 1, port=port, op=Op.REDUCE))
    return rounds


ALGORITHM = (
    Entry(
        name="radices",
        summary="halving/doubling in any radices, scatter or exchange per factor",
        ops=_SCATTERED,
        make=Radices,
    ),
    Entry(
        name="lumorph-2",
        summary="recursive halving and doubling: radices 2, 2, ...",
        ops=_SCATTERED,
        make=Radices,
        preset={"base": 2},
    ),
    Entry(
        name="lumorph-4",
        summary="recursive quartering and quadrupling: radices 4, 4, ...",
        ops=_SCATTERED,
        make=Radices,
        preset={"base": 4},
    ),
    Entry(
        name="full-exchange",
        summary="every round sends the whole buffer: fewest rounds for small buffers",
        ops=("all-reduce",),
        make=Radices,
        preset={"exchange": [1]},
    ),
)
