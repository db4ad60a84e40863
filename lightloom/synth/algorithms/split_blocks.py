"""Scatter in two rounds, where blocks that go two hops are split among relays.

The root sends through k children, which hand on a piece of a block each. A tree on one
configuration sends whole blocks over one circuit each in its last round, while most
ports of most ranks are idle. Here the block of a rank that is no child is cut into as
many pieces as the k^2 circuits of the children allow, each from another child.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.synth.partial_permutations import coloured_ports
from lightloom.synth.partition import Partition

if TYPE_CHECKING:
    from lightloom.core.task import Collective
    from lightloom.synth.plan import Round


def block_pieces(ranks: int, ports: int) -> int:
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
            fix="leave out split",
        )
    return min(children, children**2 // others) if others else 1


def split_rounds(collective: Collective, ports: int) -> list[Round]:
    """Return the rounds of a scatter from a root with so many children."""
    ranks, root = collective.rank_count, collective.root_rank
    children, pieces = min(ports, ranks - 1), block_pieces(ranks, ports)
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
