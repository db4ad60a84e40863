"""All-reduce by recursive doubling, in which every round moves the whole buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import msgspec

from lightloom.plans.algorithms import AlgorithmEntry, require_op
from lightloom.plans.mixed_radix import (
    checked_radices,
    digit_outlines,
    digits_of,
    exchange_rounds,
)
from lightloom.plans.parameters import FewestRounds, NearFirst
from lightloom.plans.plan import Plan

if TYPE_CHECKING:
    from lightloom.core.task import Collective
    from lightloom.plans.plan import RoundOutline


class FullExchange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ranks as numbers in mixed radix; in a round, those that differ in a digit sum.

    As many rounds as radices, half of those of `Radices`, and the buffer from every
    peer in each.
    """

    ops: ClassVar[tuple[str, ...]] = ("all-reduce",)

    radices: FewestRounds = None
    near_first: NearFirst = False

    def granularity(self, ranks: int, ports: int) -> int:
        """Return one chunk: nothing is cut.

        Parameters
        ----------
        ranks
            Number of ranks, at least 1.
        ports
            Peers that a rank drives at once, at least 1: radices that are not given
            are those of fewest rounds of so many peers.

        Raises
        ------
        InputError
            If the product of the radices is not the number of ranks.
        """
        checked_radices(self.radices, ranks, ports)
        return 1

    def outline(self, ranks: int, ports: int, op: str) -> tuple[RoundOutline, ...]:
        """Return what its rounds take, see `lightloom.plans.plan.Outlined`.

        Parameters
        ----------
        ranks, ports, op
            As there.
        """
        return digit_outlines((), checked_radices(self.radices, ranks, ports), op)

    def plan(self, collective: Collective, ports: int) -> Plan:
        """Return a round for each radix.

        Parameters
        ----------
        collective
            What is to be done: one of `ops`, with its chunk count chosen.
        ports
            Peers that a rank drives at once, at least 1, as for `granularity`.

        Raises
        ------
        InputError
            If the operation is not one of `ops`, or the product of the radices is
            not the number of ranks.
        """
        require_op(self, collective)
        ranks = collective.rank_count
        radices = checked_radices(self.radices, ranks, ports)
        digits = digits_of(ranks, radices, near_first=self.near_first)
        return Plan(collective, tuple(exchange_rounds(digits, (), collective)))


ALGORITHM = AlgorithmEntry(
    name="full-exchange",
    summary="every round sends the whole buffer: fewest rounds for small buffers",
    ops=FullExchange.ops,
    make=FullExchange,
)
