"""Broadcast as scatter and all-gather; reduce as reduce-scatter and gather."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.algorithms.multiport import Circulant, Multiport
from lightloom.plans.algorithms.tree import tree_rounds
from lightloom.plans.parameters import Ports
from lightloom.plans.plan import reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round
    from lightloom.plans.setting import Setting


class ScatterGather(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """A tree scatters blocks from the root, a circulant all-gathers them; or back.

    Twice the rounds of a tree, and about 2 B bytes through each rank's ports however
    many ranks there are, where a tree sends k B for k ports in every round. Blocks
    may be uneven.
    """

    ops: ClassVar[tuple[str, ...]] = ("broadcast", "reduce")

    ports: Ports = None

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return what the all-gather would like."""
        return Multiport(ports=self.ports).granularity(ranks, ports)

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; reduce is the reversal of broadcast."""
        ports = ports if self.ports is None else self.ports
        ranks, chunks = collective.rank_count, collective.chunk_count
        scatter = tree_rounds(collective, ports, scatters=True)
        gather = Circulant(ranks, chunks, ports).rounds(mirrored=False)
        if collective.op == "reduce":
            back = reversed_rounds(scatter, Op.COPY)
            return [*reversed_rounds(gather, Op.REDUCE), *back]
        return [*scatter, *gather]


def _proposals(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose any number of peers."""
    for peers in setting.peer_counts():
        yield {"ports": peers}


ALGORITHM = AlgorithmEntry(
    name="scatter-gather",
    summary="broadcast and reduce of large buffers by blocks",
    ops=ScatterGather.ops,
    make=ScatterGather,
    proposals=_proposals,
)
