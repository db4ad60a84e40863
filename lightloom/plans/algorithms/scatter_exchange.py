"""All-reduce by halving, a full exchange of the parts that remain, and doubling."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from lightloom.core.errors import InputError
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.mixed_radix import (
    digit_outlines,
    digits_of,
    exchange_rounds,
    halving_and_doubling,
)
from lightloom.plans.parameters import Radix
from lightloom.plans.rank_factors import fitting_radices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round, RoundOutline


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


ALGORITHM = AlgorithmEntry(
    name="scatter-exchange",
    summary="halving, exchange of whole parts, doubling: between data and rounds",
    ops=ScatterExchange.ops,
    make=ScatterExchange,
)
