"""Ranks in mixed radix: halving and doubling, and exchange; LUMORPH-2 and LUMORPH-4.

In a round, peers differ in one digit. In a round of radix r every rank drives r - 1
peers; port d - 1 leads to the rank whose digit is greater by d (modulo r), so that each
port is a permutation.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.plans.algorithms import (
    AlgorithmEntry,
    CollectiveAlgorithm,
    never_proposed,
)
from lightloom.plans.box import base_radices, fitting_radices
from lightloom.plans.parameters import FewestRounds, NearFirst, Radix
from lightloom.plans.plan import Partition, RoundOutline

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round
    from lightloom.plans.setting import Setting


_OPS = ("all-gather", "all-reduce", "reduce-scatter")


class Radices(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Ranks as numbers in mixed radix; a round is a digit, its peers differ in it.

    All-reduce: a reduce-scatter round for every radix, in order, and an all-gather
    round for every radix, in reverse. Reduce-scatter and all-gather are one or the
    other.

    The first radix is the most significant digit: its peers are n / radix ranks
    apart and move the largest parts, and rank i's part ends as block i. With
    `near_first` it is the least significant one, so that most data move between
    neighbours; who owns which part in between is then another matter, which only
    all-reduce leaves open.
    """

    radices: FewestRounds = None
    near_first: NearFirst = False

    @property
    def ops(self) -> tuple[str, ...]:
        """Collectives it can do with these parameters."""
        return ("all-reduce",) if self.near_first else _OPS

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return one chunk per block."""
        checked_radices(self.radices, ranks, ports)
        return ranks

    def outline(self, ranks: int, ports: int, op: str) -> tuple[RoundOutline, ...]:
        """Return what its rounds take, see `lightloom.plans.plan.Outlined`."""
        return digit_outlines(checked_radices(self.radices, ranks, ports), (), op)

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds of the collective."""
        radices = checked_radices(self.radices, collective.rank_count, ports)
        return _rounds(collective, radices, near_first=self.near_first)


class Lumorph(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """`Radices` that are one base as often as it divides the number of ranks.

    Then the prime factors of the rest, ascending.
    """

    base: Annotated[
        Radix,
        msgspec.Meta(description="Ranks that exchange in a round: the base."),
    ] = 2
    near_first: NearFirst = False

    @property
    def ops(self) -> tuple[str, ...]:
        """Collectives it can do with these parameters."""
        return ("all-reduce",) if self.near_first else _OPS

    def outline(self, ranks: int, ports: int, op: str) -> tuple[RoundOutline, ...]:
        """Return what its rounds take, see `lightloom.plans.plan.Outlined`."""
        del ports
        return digit_outlines(base_radices(ranks, self.base), (), op)

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds of the collective."""
        del ports
        radices = base_radices(collective.rank_count, self.base)
        return _rounds(collective, radices, near_first=self.near_first)


def _rounds(
    collective: Collective, radices: tuple[int, ...], *, near_first: bool
) -> list[Round]:
    digits = digits_of(collective.rank_count, radices, near_first=near_first)
    down, up = halving_and_doubling(digits, collective)
    return [*down, *up]


class FullExchange(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Ranks as numbers in mixed radix; in a round, those that differ in a digit sum.

    As many rounds as radices, half of those of `Radices`, and the buffer from every
    peer in each.
    """

    ops: ClassVar[tuple[str, ...]] = ("all-reduce",)

    radices: FewestRounds = None
    near_first: NearFirst = False

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return one chunk: nothing is cut."""
        checked_radices(self.radices, ranks, ports)
        return 1

    def outline(self, ranks: int, ports: int, op: str) -> tuple[RoundOutline, ...]:
        """Return what its rounds take, see `lightloom.plans.plan.Outlined`."""
        return digit_outlines((), checked_radices(self.radices, ranks, ports), op)

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return a round for each radix."""
        ranks = collective.rank_count
        radices = checked_radices(self.radices, ranks, ports)
        digits = digits_of(ranks, radices, near_first=self.near_first)
        return exchange_rounds(digits, (), collective)


class ScatterExchange(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """All-reduce with a reduce-scatter round for some radices, an exchange for others.

    Between `Radices`, which moves the least data, and `FullExchange`, which takes half
    the rounds: the parts that scattering leaves are exchanged whole, and then gathered.
    """

    ops: ClassVar[tuple[str, ...]] = ("all-reduce",)

    scatter: Annotated[
        tuple[Radix, ...] | None,
        msgspec.Meta(
            description="Radices of the reduce-scatter rounds, in order; all-gather"
            " takes them in reverse. By default the factors of the rest that need"
            " fewest rounds of at most as many peers as there are ports."
        ),
    ] = None
    exchange: Annotated[
        tuple[Radix, ...] | None,
        msgspec.Meta(
            description="Radices of the rounds in between, which exchange whole parts;"
            " the product of all radices is the number of ranks. By default the last"
            " of the factors that need fewest rounds."
        ),
    ] = None

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return one chunk per part that is exchanged."""
        return prod(self._radices(ranks, ports)[0])

    def outline(self, ranks: int, ports: int, op: str) -> tuple[RoundOutline, ...]:
        """Return what its rounds take, see `lightloom.plans.plan.Outlined`."""
        return digit_outlines(*self._radices(ranks, ports), op)

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds of the all-reduce."""
        ranks = collective.rank_count
        scatter, exchange = self._radices(ranks, ports)
        digits = digits_of(ranks, (*scatter, *exchange))
        scattered, exchanged = digits[: len(scatter)], digits[len(scatter) :]
        down, up = halving_and_doubling(scattered, collective)
        whole = exchange_rounds(exchanged, scattered, collective)
        return [*down, *whole, *up]

    def _radices(
        self, ranks: int, ports: int
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the radices of both sorts of rounds.

        Raises `InputError` if the product of all is not the number of ranks.
        """
        exchange = self.exchange
        if exchange is None:
            known = prod(self.scatter or ())
            rest = 1 if ranks % known else ranks // known
            fitting = fitting_radices(rest, ports)
            exchange = fitting if self.scatter is not None else fitting[-1:]
        scatter = self.scatter
        if scatter is None:
            known = prod(exchange)
            scatter = () if ranks % known else fitting_radices(ranks // known, ports)
        if prod(scatter) * prod(exchange) != ranks:
            raise InputError(
                f"the product of the radices is {prod(scatter) * prod(exchange)}, "
                f"for {ranks} ranks",
                where="algorithm.scatter",
                found=[*scatter, *exchange],
                allowed=f"factors of {ranks} whose product is {ranks}",
                fix=f"try {list(fitting_radices(ranks, ports))}",
            )
        return scatter, exchange


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


_MOST_ORDERS = 24
_MOST_FACTORISATIONS = 64


def _full_exchanges(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose radices that ports suffice for; along lines the sizes of the box."""
    if setting.along_lines:
        if setting.sizes:
            yield {"radices": [*setting.sizes]}
        return
    for factors in _factorisations(setting.ranks, setting.ports + 1):
        yield {"radices": [*factors]}


def _scatter_exchanges(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose radices to scatter by, in any order, and others to exchange by."""
    for factors in _factorisations(setting.ranks, setting.ports + 1):
        for exchanged in _parts_of(factors):
            scattered = list(factors)
            for factor in exchanged:
                scattered.remove(factor)
            for order in _orders(tuple(scattered)):
                yield {"scatter": [*order], "exchange": [*exchanged]}


def _factorisations(number: int, largest: int) -> list[tuple[int, ...]]:
    """Return the descending factorisations with factors from 2 to `largest`.

    A number with a prime factor above `largest` has none; fewest factors first.
    """

    def descend(rest: int, most: int) -> Iterator[tuple[int, ...]]:
        if rest == 1:
            yield ()
        for factor in range(min(rest, most), 1, -1):
            if rest % factor == 0:
                for tail in descend(rest // factor, factor):
                    yield (factor, *tail)

    if number == 1:
        return []
    factorisations = sorted(descend(number, largest), key=lambda f: (len(f), f))
    return factorisations[:_MOST_FACTORISATIONS]


def _parts_of(factors: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the distinct choices of some factors, but not of all, in a fixed order."""
    chosen = {
        some
        for size in range(1, len(factors))
        for some in itertools.combinations(factors, size)
    }
    return sorted(chosen, key=lambda some: (len(some), some))


def _orders(factors: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the distinct orders of some factors, only the sorted ones if many."""
    orders = set(itertools.islice(itertools.permutations(factors), 5040))
    if len(orders) > _MOST_ORDERS:
        orders = {tuple(sorted(factors)), tuple(sorted(factors, reverse=True))}
    return sorted(orders, reverse=True)


ALGORITHM = (
    AlgorithmEntry(
        name="radices",
        summary="recursive halving and doubling in any radices",
        ops=_OPS,
        make=Radices,
        proposals=never_proposed,
    ),
    AlgorithmEntry(
        name="lumorph-2",
        summary="recursive halving and doubling: radices 2, 2, ...",
        ops=_OPS,
        make=Lumorph,
        proposals=never_proposed,
    ),
    AlgorithmEntry(
        name="lumorph-4",
        summary="recursive quartering and quadrupling: radices 4, 4, ...",
        ops=_OPS,
        make=Lumorph,
        preset={"base": 4},
        proposals=never_proposed,
    ),
    AlgorithmEntry(
        name="full-exchange",
        summary="every round sends the whole buffer: fewest rounds for small buffers",
        ops=FullExchange.ops,
        make=FullExchange,
        proposals=_full_exchanges,
        along_lines=True,
    ),
    AlgorithmEntry(
        name="scatter-exchange",
        summary="halving, exchange of whole parts, doubling: between data and rounds",
        ops=ScatterExchange.ops,
        make=ScatterExchange,
        proposals=_scatter_exchanges,
    ),
)
