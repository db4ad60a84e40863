"""All-reduce by recursive doubling, in which every round moves the whole buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.mixed_radix import (
    checked_radices,
    digit_outlines,
    digits_of,
    exchange_rounds,
)
from lightloom.plans.parameters import FewestRounds, NearFirst

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round, RoundOutline


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


ALGORITHM = AlgorithmEntry(
    name="full-exchange",
    summary="every round sends the whole buffer: fewest rounds for small buffers",
    ops=FullExchange.ops,
    make=FullExchange,
)
