"""Rings in parallel, each in strides of its own over all ranks (TopoOpt)."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.parameters import Count
from lightloom.plans.partition import Partition
from lightloom.plans.plan import Round, merged
from lightloom.plans.reversal import reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.task import Collective


class ParallelRings(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """The buffer is cut into as many parts as rings; part j runs round ring j.

    Ring j passes blocks from rank i to rank i + p_j. With d rings, all-reduce of B
    bytes on n ranks takes 2 (n - 1) rounds that move B / (n d) each: the least
    data, on all links of a fabric whose links are these rings.
    """

    ops: ClassVar[tuple[str, ...]] = ("all-gather", "all-reduce", "reduce-scatter")

    strides: Annotated[
        tuple[Count, ...] | None,
        msgspec.Meta(
            description="How far each ring goes from rank to rank; distinct modulo the"
            " number of ranks and without a factor in common with it. By default 1 and"
            " -1, a ring used both ways."
        ),
    ] = None

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return a chunk for each part of each block."""
        del ports
        return ranks * len(self._rings(ranks))

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return n - 1 rounds for each of reduce-scatter and all-gather."""
        del ports
        rings = self._rings(collective.rank_count)
        rounds: list[Round] = []
        if collective.op != "all-gather":
            # Backwards, so that its reversal runs along the strides too.
            back = _gather(collective, rings, -1)
            rounds += reversed_rounds(back, Op.REDUCE)
        if collective.op != "reduce-scatter":
            rounds += _gather(collective, rings, 1)
        return rounds

    def _rings(self, ranks: int) -> tuple[int, ...]:
        """Return the strides, checked.

        Raises
        ------
        InputError
            If a stride leaves ranks out, or two are the same.
        """
        if self.strides is None:
            return tuple(sorted({1, ranks - 1 or 1}))
        rings = tuple(stride % ranks for stride in self.strides)
        alike = len(set(rings)) < len(rings)
        if not rings or alike or any(gcd(ring, ranks) != 1 for ring in rings):
            raise InputError(
                f"the strides are not rings through all of {ranks} ranks",
                where="algorithm.strides",
                found=list(self.strides),
                allowed=f"distinct modulo {ranks}, no factor in common with it",
            )
        return rings


def _gather(collective: Collective, rings: tuple[int, ...], way: int) -> list[Round]:
    """Return the rounds in which ranks pass blocks on, with (1) or against (-1)."""
    ranks, parts = collective.rank_count, len(rings)
    cut = Partition(ranks * parts, collective.chunk_count)
    rank = np.arange(ranks, dtype=np.int64)
    rounds = (
        merged(
            [
                cut.round(
                    rank,
                    (rank + way * stride) % ranks,
                    (rank - way * stride * turn) % ranks * parts + part,
                    1,
                    port=part,
                    op=Op.COPY,
                )
                for part, stride in enumerate(rings)
            ]
        )
        for turn in range(ranks - 1)
    )
    return [one for one in rounds if one is not None]


ALGORITHM = AlgorithmEntry(
    name="parallel-rings",
    summary="several rings at once, each in its own strides (TopoOpt)",
    ops=ParallelRings.ops,
    make=ParallelRings,
)
