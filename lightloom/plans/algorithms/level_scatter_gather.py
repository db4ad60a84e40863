"""Broadcast as scatter and all-gather along a box of ranks; reduce in reverse."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.level_exchange import (
    LevelExchange,
    box_of_shape,
    checked_parts,
)
from lightloom.plans.parameters import Parts, Shape
from lightloom.plans.reversal import reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round


class LevelScatterGather(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Blocks are scattered from the root and all gathered, as by `Levels`; or back.

    That moves 2 B bytes through a rank for any number D of dimensions, where `Levels`,
    which hands on the whole, moves D B, or more where nothing is multicast.
    """

    ops: ClassVar[tuple[str, ...]] = ("broadcast", "reduce")

    shape: Shape = None
    parts: Parts = None

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return a chunk for each rank's piece of each part."""
        box = box_of_shape(self.shape, ranks, ports)
        return ranks * checked_parts(self.parts, box)

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; reduce is the reversal of broadcast."""
        box = box_of_shape(self.shape, collective.rank_count, ports)
        parts = checked_parts(self.parts, box)
        made = LevelExchange(box, parts, collective, blocks=False)
        scatter, gather = made.rounds("scatter"), made.rounds("gather")
        if collective.op == "broadcast":
            return [*scatter, *gather]
        back = reversed_rounds(scatter, Op.COPY)
        return [*reversed_rounds(gather, Op.REDUCE), *back]


ALGORITHM = AlgorithmEntry(
    name="level-scatter-gather",
    summary="broadcast and reduce by blocks, one dimension of a box at a time",
    ops=LevelScatterGather.ops,
    make=LevelScatterGather,
)
