"""The index algorithm of Bruck et al.: all-to-all in logarithmically many rounds."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.parameters import Radix
from lightloom.plans.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round


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


ALGORITHM = AlgorithmEntry(
    name="bruck",
    summary="index algorithm: all-to-all in few rounds, for small blocks",
    ops=Bruck.ops,
    make=Bruck,
)
