"""Collectives along one dimension of a box of ranks after another.

The hierarchical collectives of SiPAC (Wu et al., 2023) and, with one part, those of
BCube (Guo et al., 2009).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.level_exchange import (
    LevelExchange,
    box_of_shape,
    checked_parts,
)
from lightloom.plans.parameters import MOST, Parts, Shape
from lightloom.plans.reversal import reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round
    from lightloom.plans.rank_box import Dimensions

_IN_BLOCKS = ("all-gather", "all-to-all", "reduce-scatter")


class Levels(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Direct exchange along one dimension of a box of ranks at a time.

    With D dimensions of sizes r_1, ..., r_D a collective takes D rounds (all-reduce
    2 D), in each of which a rank talks to the r_d - 1 others of its line. The buffer
    is cut into `parts` parts; part p begins with dimension p, so with D parts every
    round uses all dimensions. All-gather, all-reduce, reduce-scatter, scatter and
    gather move the least data there is; all-to-all moves each block once for every
    digit in which its ends differ.

    An all-reduce may take one round for each of the `exchanged` dimensions in the
    middle, in which ranks sum all that they hold, where it takes two: fewer rounds, and
    more data, for small buffers.
    """

    shape: Shape = None
    parts: Parts = None
    whole_blocks: Annotated[
        bool,
        msgspec.Meta(
            description="Each block as a whole begins along one dimension, instead of a"
            " part of it along each: fewer rows, but dimensions are unequally loaded"
            " while ranks hold few blocks. For all-gather, reduce-scatter and"
            " all-to-all, without parts."
        ),
    ] = False

    exchanged: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=MOST,
            description="Dimensions of an all-reduce along which ranks sum all that"
            " they hold, in one round each instead of two.",
        ),
    ] = 0

    all_ops: ClassVar[tuple[str, ...]] = (
        *("all-gather", "all-reduce", "all-to-all", "broadcast"),
        *("gather", "reduce", "reduce-scatter", "scatter"),
    )

    @property
    def ops(self) -> tuple[str, ...]:
        """Collectives it can do with these parameters."""
        if self.exchanged:
            return () if self.whole_blocks else ("all-reduce",)
        return _IN_BLOCKS if self.whole_blocks else self.all_ops

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return a chunk for each rank's piece of each part."""
        return ranks * self._parts(box_of_shape(self.shape, ranks, ports))

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds of the collective."""
        box = box_of_shape(self.shape, collective.rank_count, ports)
        if self.exchanged > len(box.sizes):
            what = "more dimensions exchanged than there are"
            allowed = f"at most {len(box.sizes)}"
            where = "algorithm.exchanged"
            raise InputError(what, where=where, found=self.exchanged, allowed=allowed)
        made = LevelExchange(
            box,
            self._parts(box),
            collective,
            blocks=collective.op != "all-reduce",
            whole_blocks=self.whole_blocks,
            exchanged=self.exchanged,
        )
        return _rounds(made)

    def _parts(self, box: Dimensions) -> int:
        if not self.whole_blocks:
            return checked_parts(self.parts, box)
        if self.parts not in (None, 1):
            what = "with whole_blocks the buffer has one part"
            raise InputError(what, where="algorithm.parts", found=self.parts)
        return 1


def _rounds(made: LevelExchange) -> list[Round]:
    match made.collective.op:
        case "all-to-all":
            rounds = made.rounds("all-to-all")
        case "broadcast" | "reduce":
            rounds = made.rounds("broadcast")
        case "scatter" | "gather":
            rounds = made.rounds("scatter")
        case _:
            rounds = made.rounds("gather")
    match made.collective.op:
        case "reduce" | "reduce-scatter":
            return reversed_rounds(rounds, Op.REDUCE)
        case "gather":
            return reversed_rounds(rounds, Op.COPY)
        case "all-reduce":
            middle = made.rounds("exchange")
            return [*reversed_rounds(rounds, Op.REDUCE), *middle, *rounds]
        case _:
            return rounds


ALGORITHM = AlgorithmEntry(
    name="levels",
    summary="direct exchange along one dimension at a time, all in use at once",
    ops=Levels.all_ops,
    make=Levels,
)
