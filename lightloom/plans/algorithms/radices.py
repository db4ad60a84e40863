"""Recursive halving and doubling in any mixed radix; LUMORPH-2 and LUMORPH-4."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.mixed_radix import (
    checked_radices,
    digit_outlines,
    digits_of,
    halving_and_doubling,
)
from lightloom.plans.parameters import FewestRounds, NearFirst, Radix
from lightloom.plans.rank_factors import base_radices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round, RoundOutline

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


ALGORITHM = (
    AlgorithmEntry(
        name="radices",
        summary="recursive halving and doubling in any radices",
        ops=_OPS,
        make=Radices,
    ),
    AlgorithmEntry(
        name="lumorph-2",
        summary="recursive halving and doubling: radices 2, 2, ...",
        ops=_OPS,
        make=Lumorph,
    ),
    AlgorithmEntry(
        name="lumorph-4",
        summary="recursive quartering and quadrupling: radices 4, 4, ...",
        ops=_OPS,
        make=Lumorph,
        preset={"base": 4},
    ),
)
