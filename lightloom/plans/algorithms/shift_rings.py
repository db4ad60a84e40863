"""Bruck's collectives on a ring whose strides are doubled a few times."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.algorithms.bruck import digit_round
from lightloom.plans.partition import Partition
from lightloom.plans.reversal import reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round


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


ALGORITHM = AlgorithmEntry(
    name="shift-rings",
    summary="Bruck's algorithms along rings whose stride is doubled a few times",
    ops=ShiftRings.ops,
    make=ShiftRings,
)
