"""Algorithms of Bruck et al.: few rounds, or few configurations of rings."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import isqrt, prod
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
from lightloom.plans.parameters import Radix
from lightloom.plans.plan import Partition, reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round
    from lightloom.plans.setting import Setting


class Bruck(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Blocks travel to their destination one digit of the distance at a time.

    A block from rank s for rank s + d is forwarded in every round whose digit of d
    is not 0, by that digit times its place value; port z - 1 carries digit z. The
    first radix is the most significant digit, so that blocks travel in as few chunk
    ranges as possible; it may stay partly unused. One radix as large as n is the
    direct exchange, more radices are fewer peers and more data.
    """

    ops: ClassVar[tuple[str, ...]] = ("all-to-all",)

    radices: Annotated[
        tuple[Radix, ...] | None,
        msgspec.Meta(
            description="Radices whose product is at least the number of ranks n. By"
            " default for k ports ceil(log_{k+1} n) equal ones, as small as can be."
        ),
    ] = None

    def digits(self, ranks: int, ports: int) -> tuple[int, ...]:
        """Return the radices for a number of ranks.

        Raises `InputError` if the product of the radices is less than the number of
        ranks.
        """
        if self.radices is None:
            return equal_radices(ranks, ports)
        if prod(self.radices) < ranks:
            raise InputError(
                f"the product of the radices is {prod(self.radices)}, "
                f"for {ranks} ranks",
                where="algorithm.radices",
                found=list(self.radices),
                allowed=f"radices whose product is at least {ranks}",
                fix=f"try {list(equal_radices(ranks, ports))}",
            )
        return self.radices

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return one round per radix; O(n^2) rows in all."""
        ranks, chunks = collective.rank_count, collective.chunk_count
        rounds: list[Round] = []
        place = prod(radices := self.digits(ranks, ports))
        for radix in radices:
            above, place = place, place // radix
            made = digit_round(ranks, chunks, place, above)
            rounds += [] if made is None else [made]
        return rounds


def equal_radices(ranks: int, ports: int) -> tuple[int, ...]:
    """Return the fewest equal radices of at most ports + 1, as small as can be."""
    count = 0
    while (ports + 1) ** count < ranks:
        count += 1
    radix = 2
    while radix**count < ranks:
        radix += 1
    return (radix,) * count


def digit_round(ranks: int, chunks: int, place: int, above: int) -> Round | None:
    """Return the round that moves blocks by the digit of place value `place`.

    Blocks have travelled the multiples of `above` in their distance, and travel
    what is below `place` later.

    Returns ``None`` where no distance has the digit.
    """
    rank = np.arange(ranks, dtype=np.int64)
    travelled = np.arange(0, ranks, above, dtype=np.int64)[:, None]
    step = np.arange(place, min(above, ranks), place, dtype=np.int64)[:, None, None]
    distance = travelled + step
    source = (rank - travelled) % ranks
    return Partition(ranks, chunks).round(
        rank,
        (rank + step) % ranks,
        source + distance,
        np.clip(ranks - distance, 0, place),
        port=step // place - 1,
        op=Op.COPY,
        base=source * chunks,
    )


class ShiftRings(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Blocks travel one bit of their distance at a time, along rings of few strides.

    Step k moves blocks by 2^k ranks. All steps from one cut to the next share a ring
    whose stride is that of the first of them, 2^a, on which step k takes 2^(k - a)
    rounds, one for each hop. No cut is one ring for all steps, n - 1 rounds; a cut
    before every step is the index algorithm in radix 2. Largest steps go first.

    In an all-gather the smallest go first, and a ring of stride s passes s blocks on in
    every round, none twice to a rank; a reduce-scatter is its reverse.
    """

    ops: ClassVar[tuple[str, ...]] = ("all-gather", "all-to-all", "reduce-scatter")

    cuts: Annotated[
        tuple[Annotated[int, msgspec.Meta(ge=1, le=62)], ...],
        msgspec.Meta(
            description="Steps before which the stride changes, ascending; steps are"
            " numbered from 0 by the power of two that they move blocks by."
        ),
    ] = ()

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return a round per hop; O(n^2) rows a step and hop."""
        del ports
        ranks, chunks = collective.rank_count, collective.chunk_count
        steps = (ranks - 1).bit_length()
        starts = [0, *self.cuts, steps]
        if any(low >= high for low, high in pairwise(starts[1:])) or 0 in self.cuts:
            raise InputError(
                f"invalid cuts of the {steps} steps that {ranks} ranks take",
                where="algorithm.cuts",
                found=list(self.cuts),
                allowed=f"ascending steps of 1 to {steps - 1}",
            )
        if collective.op != "all-to-all":
            rounds = list(_gather(collective, starts))
            back = collective.op == "reduce-scatter"
            return reversed_rounds(rounds, Op.REDUCE) if back else rounds
        rounds = []
        for low, high in reversed(list(pairwise(starts))):
            for step in range(high - 1, low - 1, -1):
                made = digit_round(ranks, chunks, 2**step, 2 ** (step + 1))
                assert made is not None
                rounds += _hops(made, 2**low, 2 ** (step - low), ranks)
        return rounds


def _hops(made: Round, stride: int, hops: int, ranks: int) -> Iterator[Round]:
    """Yield a round of a ring for each hop on the way to the destinations."""
    for hop in range(hops):
        src = (made.src + hop * stride) % ranks
        yield replace(made, src=src, dst=(src + stride) % ranks)


def _gather(collective: Collective, starts: Sequence[int]) -> Iterator[Round]:
    """Yield the rounds of an all-gather: ranks pass on what they received last."""
    ranks = collective.rank_count
    blocks = Partition(ranks, collective.chunk_count)
    rank = np.arange(ranks, dtype=np.int64)
    for low, high in pairwise(starts):
        stride = 2**low
        for hop in range(1, 2 ** (high - low)):
            count = min(stride, ranks - hop * stride)
            newest = (rank - (hop - 1) * stride - count + 1) % ranks
            dst = (rank + stride) % ranks
            if count > 0:
                one = blocks.round(rank, dst, newest, count, port=0, op=Op.COPY)
                assert one is not None
                yield one


def hop_rounds(cuts: tuple[int, ...], steps: int) -> int:
    """Return the rounds of `ShiftRings` with some cuts.

    Parameters
    ----------
    cuts
        Ascending, each from 1 to `steps` - 1.
    steps
        Of the index algorithm in radix 2.

    Examples
    --------
    >>> [hop_rounds(cuts, 6) for cuts in ((), (3,), (2, 4))]
    [63, 14, 9]
    """
    return sum(2 ** (high - low) - 1 for low, high in pairwise([0, *cuts, steps]))


def _proposals(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose small radices, that of all ports, and the root of the ranks."""
    ranks = setting.ranks
    root = isqrt(ranks - 1) + 1
    for radix in sorted({2, 3, 4, 5, 8, setting.ports + 1, root}):
        if 2 <= radix < ranks:
            digits = 1
            while radix**digits < ranks:
                digits += 1
            yield {"radices": [radix] * digits}


ALGORITHM = (
    AlgorithmEntry(
        name="bruck",
        summary="index algorithm: all-to-all in few rounds, for small blocks",
        ops=Bruck.ops,
        make=Bruck,
        proposals=_proposals,
    ),
    AlgorithmEntry(
        name="shift-rings",
        summary="Bruck's algorithms along rings whose stride is doubled a few times",
        ops=ShiftRings.ops,
        make=ShiftRings,
        proposals=never_proposed,
    ),
)
