"""Broadcast as scatter and all-gather along a box of ranks; reduce in reverse."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import msgspec

from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, require_op
from lightloom.plans.level_exchange import (
    LevelExchange,
    box_of_shape,
    checked_parts,
)
from lightloom.plans.parameters import Parts, Shape
from lightloom.plans.plan import Plan
from lightloom.plans.reversal import reversed_rounds

if TYPE_CHECKING:
    from lightloom.core.task import Collective


class LevelScatterGather(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Blocks are scattered from the root and all gathered, as by `Levels`; or back.

    That moves 2 B bytes through a rank for any number D of dimensions, where `Levels`,
    which hands on the whole, moves D B, or more where nothing is multicast.
    """

    ops: ClassVar[tuple[str, ...]] = ("broadcast", "reduce")

    shape: Shape = None
    parts: Parts = None

    def granularity(self, ranks: int, ports: int) -> int:
        """Return a chunk for each rank's piece of each part.

        Parameters
        ----------
        ranks
            Number of ranks, at least 1.
        ports
            Peers that a rank drives at once, at least 1: a shape that is not given
            is that of fewest rounds of so many peers.

        Raises
        ------
        InputError
            If the product of the shape is not the number of ranks, or there are
            more parts than dimensions.
        """
        box = box_of_shape(self.shape, ranks, ports)
        return ranks * checked_parts(self.parts, box)

    def plan(self, collective: Collective, ports: int) -> Plan:
        """Return the rounds; reduce is the reversal of broadcast.

        Parameters
        ----------
        collective
            What is to be done: one of `ops`, with its root and its chunk count
            chosen.
        ports
            Peers that a rank drives at once, at least 1, as for `granularity`.

        Raises
        ------
        InputError
            If the operation is not one of `ops`, or the product of the shape is not
            the number of ranks, or there are more parts than dimensions.
        """
        require_op(self, collective)
        box = box_of_shape(self.shape, collective.rank_count, ports)
        if not box.sizes:
            return Plan(collective, ())
        parts = checked_parts(self.parts, box)
        made = LevelExchange(box, parts, collective, blocks=False)
        scatter, gather = made.rounds("scatter"), made.rounds("gather")
        if collective.op == "broadcast":
            return Plan(collective, (*scatter, *gather))
        back = reversed_rounds(scatter, Op.COPY)
        return Plan(collective, (*reversed_rounds(gather, Op.REDUCE), *back))


ALGORITHM = AlgorithmEntry(
    name="level-scatter-gather",
    summary="broadcast and reduce by blocks, one dimension of a box at a time",
    ops=LevelScatterGather.ops,
    make=LevelScatterGather,
)
