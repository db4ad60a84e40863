"""Scatter in two rounds, where blocks that go two hops are split among relays."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.coloured_ports import coloured_ports
from lightloom.plans.parameters import Ports
from lightloom.plans.partition import Partition
from lightloom.plans.reversal import reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round


class TwoHopScatter(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """The root sends through k children, which hand on a piece of a block each.

    For at most 1 + k + k^2 ranks. A `SpanningTree` sends whole blocks over one circuit
    each in its last round, while most ports of most ranks are idle. Here the block of a
    rank that is no child is cut into as many pieces as the k^2 circuits of the children
    allow, each from another child.
    """

    ops: ClassVar[tuple[str, ...]] = ("gather", "scatter")

    ports: Ports = None

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return a chunk for each piece of a block."""
        ports = ports if self.ports is None else self.ports
        return 1 if ranks == 1 else ranks * _block_pieces(ranks, ports)

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the two rounds; gather is the reversal of scatter."""
        ports = ports if self.ports is None else self.ports
        rounds = _scatter_rounds(collective, ports)
        if collective.op == "gather":
            rounds = reversed_rounds(rounds, Op.COPY)
        return rounds


def _block_pieces(ranks: int, ports: int) -> int:
    """Return how many children each rank that is no child hears from.

    Raises
    ------
    InputError
        If there are more such ranks than circuits from the children.
    """
    children = min(ports, ranks - 1)
    others = ranks - 1 - children
    if others > children**2:
        raise InputError(
            f"{children} children do not reach {ranks} ranks",
            where="algorithm.ports",
            found=children,
            allowed="k with 1 + k + k^2 ranks or more",
            fix="use spanning-tree",
        )
    return min(children, children**2 // others) if others else 1


def _scatter_rounds(collective: Collective, ports: int) -> list[Round]:
    """Return the two rounds of a scatter from a root with so many children."""
    ranks, root = collective.rank_count, collective.root_rank
    children, pieces = min(ports, ranks - 1), _block_pieces(ranks, ports)
    cut = Partition(ranks * pieces, collective.chunk_count)
    # Positions count from the root; the children come first.
    child = np.arange(1, children + 1, dtype=np.int64)
    row = np.arange((ranks - 1 - children) * pieces, dtype=np.int64)
    relay, end = 1 + row % children, 1 + children + row // pieces
    src = np.concatenate([np.zeros_like(child), relay])
    port = coloured_ports(src, np.concatenate([child, end]))
    piece = (end + root) % ranks * pieces + row % pieces
    through = np.concatenate([child, relay])
    first = cut.round(
        np.full_like(through, root),
        (through + root) % ranks,
        np.concatenate([(child + root) % ranks * pieces, piece]),
        np.where(np.arange(len(through)) < children, pieces, 1),
        port=port[through - 1],
        op=Op.COPY,
    )
    relay, end = (relay + root) % ranks, (end + root) % ranks
    second = cut.round(relay, end, piece, 1, port=port[children:], op=Op.COPY)
    return [one for one in (first, second) if one is not None]


ALGORITHM = AlgorithmEntry(
    name="two-hop-scatter",
    summary="scatter and gather in two rounds on one configuration, blocks in pieces",
    ops=TwoHopScatter.ops,
    make=TwoHopScatter,
)
