"""Broadcast as scatter and all-gather; reduce as reduce-scatter and gather."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import msgspec

from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, require_op
from lightloom.plans.algorithms.multiport import Circulant, Multiport
from lightloom.plans.algorithms.tree import tree_rounds
from lightloom.plans.parameters import Ports
from lightloom.plans.plan import Plan
from lightloom.plans.reversal import reversed_rounds

if TYPE_CHECKING:
    from lightloom.core.task import Collective


class ScatterGather(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tree scatters blocks from the root, a circulant all-gathers them; or back.

    Twice the rounds of a tree, and about 2 B bytes through each rank's ports however
    many ranks there are, where a tree sends k B for k ports in every round. Blocks
    may be uneven.
    """

    ops: ClassVar[tuple[str, ...]] = ("broadcast", "reduce")

    ports: Ports = None

    def granularity(self, ranks: int, ports: int) -> int:
        """Return what the all-gather would like.

        Parameters
        ----------
        ranks
            Number of ranks, at least 1.
        ports
            Peers that a rank drives at once, at least 1: peers of a round where
            `ports` of the record is not given.
        """
        return Multiport(ports=self.ports).granularity(ranks, ports)

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
            If the operation is not one of `ops`.
        """
        require_op(self, collective)
        ports = ports if self.ports is None else self.ports
        ranks, chunks = collective.rank_count, collective.chunk_count
        scatter = tree_rounds(collective, ports, scatters=True)
        gather = Circulant(ranks, chunks, ports).rounds(mirrored=False)
        if collective.op == "reduce":
            back = reversed_rounds(scatter, Op.COPY)
            return Plan(collective, (*reversed_rounds(gather, Op.REDUCE), *back))
        return Plan(collective, (*scatter, *gather))


ALGORITHM = AlgorithmEntry(
    name="scatter-gather",
    summary="broadcast and reduce of large buffers by blocks",
    ops=ScatterGather.ops,
    make=ScatterGather,
)
